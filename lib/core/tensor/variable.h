// Variable: the mutable thing. A name in a container for a value that changes; tensors read from it never do.
//
//   Variable k(random_normal({2, 3}), "k");
//   Tensor y = matmul(x, k);            // reads k
//   k.assign(k - 0.1f * dk);
//
// A Variable is a handle: copies refer to the same value. Reads and assignments are ops: tapes and tracers hear them.
// Thread-safety: as its resource's: every read sees one whole value.
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
  // Whether only values of the first one's shape may be assigned: else the variable has no shape of its own, and each
  // value may have another one.
  bool validate_shape = true;
};

class PANTO_EXPORT Variable {
 public:
  Variable() = default;
  // With an initial value. The name is made unique in the process ("k", "k_1", ...). Throws FailedPrecondition inside a
  // symbolic trace (make it before tracing); inside a GraphScope it makes VarHandleOp and an initializer instead.
  explicit Variable(const Tensor& initial, std::string_view name = "Variable",
                    std::source_location where = std::source_location::current());
  Variable(const Tensor& initial, std::string_view name, const VariableOptions& options,
           std::source_location where = std::source_location::current());
  // Around an existing handle (a scalar resource tensor, or a symbolic one with the given dtype and shape).
  // `initial`: what `initialized_value` gives; undefined: what the variable holds. `initializer`: the node that assigns
  // it.
  static Variable from_handle(Tensor handle, DType dtype, PartialShape shape, std::string name, Tensor initial = {},
                              Operation initializer = {});

  bool defined() const { return handle_.defined(); }
  const std::string& name() const { return name_; }
  DType dtype() const { return dtype_; }
  const PartialShape& shape() const { return shape_; }
  // The scalar resource tensor.
  const Tensor& handle() const { return handle_; }

  // NumPy-style, as of a tensor; the part can be read and assigned to: k(0, Slice(1, 3)) = t; k[{0, 2}] += 1.f.
  VariablePart operator()(Index a) const;
  VariablePart operator()(Index a, Index b) const;
  VariablePart operator()(Index a, Index b, Index c) const;
  VariablePart operator()(Index a, Index b, Index c, Index d) const;
  VariablePart operator()(Index a, Index b, Index c, Index d, Index e) const;
  VariablePart operator()(Index a, Index b, Index c, Index d, Index e, Index f) const;
  VariablePart operator[](Index i) const;
  VariablePart operator[](std::initializer_list<Index> indices) const;

  Tensor value(std::source_location where = std::source_location::current()) const;  // ReadVariableOp
  // Of a variable made inside a GraphScope: its initial value, to make another variable's from, whichever of the two is
  // initialized first. Of another one: its value.
  Tensor initialized_value(std::source_location where = std::source_location::current()) const;
  // Of a variable made inside a GraphScope: the node that gives it its first value, to be run before anything reads it.
  // Of another one, which has its value: undefined.
  const Operation& initializer() const { return initializer_; }
  // Where a graph is being built these give the node that will assign; elsewhere they assign, and give an undefined
  // Operation. Numbers and lists of integers become tensors of the variable's dtype. Throw InvalidArgument for a tensor
  // of another dtype or shape.
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

// The value, as of a tensor; of a variable of a graph its name.
PANTO_EXPORT std::ostream& operator<<(std::ostream& out, const Variable& variable);

// A part of a variable: k(0, Slice(1, 3)), k(mask), k[i], k[{i, j}]. Reading gives what the same part of its value is;
// assigning makes the variable hold a value with `part`, broadcast and cast to fit, in its place (of a position that
// occurs twice the last one counts). Throws what x(...) throws.
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

// `x` with x(...) replaced by `part`, which is broadcast and cast to fit.
PANTO_EXPORT Tensor with_part(const Tensor& x, std::span<const Index> indices, Arg part);

// How variables are made inside a symbolic trace: a GraphScope installs one, which adds VarHandleOp and an initializer
// to its graph. Without one a variable made inside a trace is an error.
class PANTO_EXPORT VariableMaker {
 public:
  virtual ~VariableMaker() = default;
  // `shape`: of the values that may be assigned.
  virtual Variable make(const Tensor& initial, const PartialShape& shape, std::string_view name,
                        const std::source_location& where) = 0;
  // False: `make` says that variables cannot be made here (the trace of a function).
  virtual bool makes_variables() const { return true; }
};
// For this thread; returns the one before, to be put back. Null: none.
PANTO_EXPORT VariableMaker* set_variable_maker(VariableMaker* maker) noexcept;
// Whether there is one that makes variables.
PANTO_EXPORT bool has_variable_maker() noexcept;

// What variables are for.
enum class VariableUse : uint8_t {
  kTrained,  // by optimizers, if they are floating
  kKept,     // beside those: statistics, an optimizer's own
  kLocal,    // to one process: counters. They are initialized by themselves, and not saved
};

// What variables are for that this thread makes in a graph while one lives.
class PANTO_EXPORT VariableUseScope {
 public:
  explicit VariableUseScope(VariableUse use) noexcept;
  ~VariableUseScope();
  VariableUseScope(const VariableUseScope&) = delete;
  VariableUseScope& operator=(const VariableUseScope&) = delete;
  // What the innermost one says; kTrained without any.
  static VariableUse current() noexcept;

 private:
  VariableUse previous_;
};

}  // namespace panto
