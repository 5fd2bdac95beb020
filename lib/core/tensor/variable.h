// Variable: a mutable value with a name in a container. Tensors that were read from it never change.
//
//   Variable k(random_normal({2, 3}), "k");
//   Tensor y = matmul(x, k);            // reads k
//   k.assign(k - 0.1f * dk);
//
// A Variable is a handle: copies refer to the same value. Reads and assignments are ops: tapes and tracers hear them.
// Thread-safety: as its resource: every read returns one complete value.
#pragma once

#include <cstdint>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/op/operation.h"
#include "panto/lib/core/tensor/index.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

class Arg;
class VariablePart;

struct VariableOptions {
  // True: only values of the initial value's shape may be assigned. False: the variable has no fixed shape.
  bool validate_shape = true;
};

class PANTO_EXPORT Variable {
 public:
  Variable() = default;
  // Makes a variable with an initial value. The name is made unique in the process ("k", "k_1", ...). Throws
  // FailedPrecondition inside a symbolic trace (make it before tracing). Inside a GraphScope it makes a VarHandleOp and
  // an initializer node instead.
  explicit Variable(const Tensor& initial, std::string_view name = "Variable",
                    std::source_location where = std::source_location::current());
  Variable(const Tensor& initial, std::string_view name, const VariableOptions& options,
           std::source_location where = std::source_location::current());
  // Wraps an existing handle (a scalar resource tensor, or a symbolic one with the given dtype and shape). `initial`:
  // the result of `initialized_value`; if undefined, that returns the variable's value. `initializer`: the node that
  // assigns `initial`.
  static Variable from_handle(Tensor handle, DType dtype, PartialShape shape, std::string name, Tensor initial = {},
                              Operation initializer = {});

  bool defined() const { return handle_.defined(); }
  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }
  const PartialShape& shape() const { return shape_; }
  // The scalar resource tensor.
  const Tensor& handle() const { return handle_; }

  // NumPy-style indexing, as for a tensor. The part can be read and assigned to: k(0, Slice(1, 3)) = t; k[{0, 2}] +=
  // 1.f.
  VariablePart operator()(Index a) const;
  VariablePart operator()(Index a, Index b) const;
  VariablePart operator()(Index a, Index b, Index c) const;
  VariablePart operator()(Index a, Index b, Index c, Index d) const;
  VariablePart operator()(Index a, Index b, Index c, Index d, Index e) const;
  VariablePart operator()(Index a, Index b, Index c, Index d, Index e, Index f) const;
  VariablePart operator[](Index i) const;
  VariablePart operator[](std::initializer_list<Index> indices) const;

  Tensor value(std::source_location where = std::source_location::current()) const;  // ReadVariableOp
  // For a variable made inside a GraphScope: its initial value, so that another variable's initial value can be
  // computed from it, whichever is initialized first. For others: the current value.
  Tensor initialized_value(std::source_location where = std::source_location::current()) const;
  // For a variable made inside a GraphScope: the node that assigns its initial value, to be run before anything reads
  // it. For others, which have their value already: undefined.
  const Operation& initializer() const { return initializer_; }
  // While a graph is built, these return the node that will assign; otherwise they assign at once and return an
  // undefined Operation. Numbers and lists of integers become tensors of the variable's dtype. Throw InvalidArgument
  // for a tensor of another dtype or shape.
  Operation assign(Arg value) const;
  Operation assign_add(Arg delta) const;
  Operation assign_sub(Arg delta) const;

 private:
  Tensor handle_;
  DType dtype_ = DType::kInvalid;
  PartialShape shape_;
  std::string name_;
  Tensor initial_;
  Operation initializer_;
};

// Prints the value like a tensor; for a variable of a graph its name.
PANTO_EXPORT std::ostream& operator<<(std::ostream& out, const Variable& variable);

// A part of a variable: k(0, Slice(1, 3)), k(mask), k[i], k[{i, j}]. Reading returns that part of the value. Assigning
// replaces that part by `part`, which is broadcast and cast to fit (of a position that occurs twice the last one
// counts). Throws as x(...) throws.
class PANTO_EXPORT VariablePart {
 public:
  VariablePart(Variable variable, std::vector<Index> indices);
  Tensor value() const;
  operator Tensor() const { return value(); }  // NOLINT(google-explicit-constructor): it reads as a tensor

  const VariablePart& operator=(Arg part) const;
  const VariablePart& operator=(const VariablePart& other) const;
  const VariablePart& operator+=(Arg more) const;
  const VariablePart& operator-=(Arg less) const;
  const VariablePart& operator*=(Arg factor) const;
  const VariablePart& operator/=(Arg divisor) const;

 private:
  Variable variable_;
  std::vector<Index> indices_;
};

// Returns `x` with x(...) replaced by `part`, which is broadcast and cast to fit.
PANTO_EXPORT Tensor with_part(const Tensor& x, std::span<const Index> indices, Arg part);

// Makes variables inside a symbolic trace: a GraphScope installs one, which adds VarHandleOp and an initializer to its
// graph. Without one, making a variable inside a trace is an error.
class PANTO_EXPORT VariableMaker {
 public:
  virtual ~VariableMaker() = default;
  // `shape`: the shape that assigned values must have.
  virtual Variable make(const Tensor& initial, const PartialShape& shape, std::string_view name,
                        const std::source_location& where) = 0;
  // False if variables cannot be made here (the trace of a function): then `make` throws an error that says so.
  virtual bool makes_variables() const { return true; }
};
// Sets it for this thread; returns the previous one, to be restored later. Null: none.
PANTO_EXPORT VariableMaker* set_variable_maker(VariableMaker* maker) noexcept;
// True if there is one and it makes variables.
PANTO_EXPORT bool has_variable_maker() noexcept;

// The purpose of a variable.
enum class VariableUse : uint8_t {
  kTrained,  // trained by optimizers, if floating
  kKept,     // saved, but not trained: statistics, an optimizer's state
  kLocal,    // belongs to one process (counters); initialized separately, and not saved
};

// The purpose of the variables that this thread makes in a graph while the scope lives.
class PANTO_EXPORT VariableUseScope {
 public:
  explicit VariableUseScope(VariableUse use) noexcept;
  ~VariableUseScope();
  VariableUseScope(const VariableUseScope&) = delete;
  VariableUseScope& operator=(const VariableUseScope&) = delete;
  // The use of the innermost scope; kTrained without one.
  static VariableUse current() noexcept;

 private:
  VariableUse previous_;
};

}  // namespace panto
