// Variables by name: whoever asks for a name gets the variable of that name, which the first one makes.
//
//   Tensor hidden(const Tensor& x, int64_t units) {
//     const Variable kernel = get_variable("kernel", {x.dim(1), units});
//     return relu(matmul(x, kernel) + get_variable("bias", {units}, {.initializer = constant_initializer(0)}));
//   }
//   Tensor left, right;
//   {
//     VariableScope scope("encoder");
//     left = hidden(x, 128);                            // makes "encoder/kernel" and "encoder/bias"
//   }
//   {
//     VariableScope scope("encoder", {.reuse = Reuse::kYes});
//     right = hidden(y, 128);                           // the same variables
//   }
//
// In a GraphScope they are the graph's, made with an initializer; elsewhere they stay in a VariableStore, by default
// one of the process, so that eager code, functions that are traced (where they are made before the trace, unrecorded)
// and graphs give variables the same names, and checkpoints of one fit the others. As tf.compat.v1.get_variable.
//
// A scope also gives nodes its name, as a NameScope does. What its options say holds for scopes inside, unless these
// say otherwise. Thread-safety: a scope belongs to the thread that made it; a store may be used by several threads at
// once.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/base/shared_impl.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/tensor/shape.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/nn/layers/initializers.h"
#include "panto/nn/layers/weights/regularizers.h"

namespace panto {

// Whether get_variable makes variables or gives those that are there.
enum class Reuse : uint8_t {
  kNo,    // makes; one that is there already is an error
  kYes,   // gives; one that is not there is an error. In a scope inside of such a scope kNo means kYes.
  kAuto,  // gives what is there, makes what is not
};

// Into how many parts a variable of this shape is cut along each dimension; at most one number is not 1.
using Partitioner = Callable<std::vector<int64_t>(const Shape& shape, DType dtype)>;

struct GetVariableOptions {
  DType dtype = DType::kInvalid;  // the scope's, float32 where none says one
  // The first value. Of the scope where there is none; else Glorot's uniform one, zeros of what is not floating.
  Initializer initializer = nullptr;
  Regularizer regularizer = nullptr;  // of the scope where there is none
  bool trainable = true;
  bool validate_shape = true;  // false: values of other shapes may be assigned, too
  bool local = false;  // of this process, not of the model: initialized by local_variables_initializer, not saved
  std::vector<std::string> collections = {};  // of the graph, in which it stands besides those of its kind
  // get_partitioned_variable's. Of the scope where there is none.
  Partitioner partitioner = nullptr;
};

// Of the whole name ("encoder/kernel"), with the scope's options filled in.
using VariableGetter = Callable<Variable(std::string_view name, const Shape& shape, const GetVariableOptions& options)>;
// Stands in the place of get_variable's own way, `getter`, which it may call: with another name or other options,
// several times, or not at all.
using CustomGetter = Callable<Variable(const VariableGetter& getter, std::string_view name, const Shape& shape,
                                       const GetVariableOptions& options)>;

struct VariableScopeOptions {
  std::optional<Reuse> reuse = std::nullopt;
  DType dtype = DType::kInvalid;
  Initializer initializer = nullptr;
  Regularizer regularizer = nullptr;
  Partitioner partitioner = nullptr;
  CustomGetter custom_getter = nullptr;  // the outer scopes' are in its `getter`
  // The name, or name_1, ... whichever is the first under which, in the scope around it, no other has been opened since
  // that was; outside of all, under which no variable has been made. As default_name of tf.compat.v1.variable_scope.
  bool unique = false;
};

class PANTO_EXPORT VariableScope {
 public:
  // An empty name: the variables are named as outside, under other options. Throws InvalidArgument for a name that no
  // node may have.
  explicit VariableScope(std::string_view name, const VariableScopeOptions& options = {});
  ~VariableScope();
  VariableScope(const VariableScope&) = delete;
  VariableScope& operator=(const VariableScope&) = delete;

  // "encoder/layer_1"; "" outside of all.
  static std::string current();
  // From now on get_variable gives what is there, to the end of the innermost scope. As
  // tf.get_variable_scope().reuse_variables().
  static void reuse_variables();
  // What get_variable takes for options that are left out.
  static GetVariableOptions filled_in(GetVariableOptions options);

 private:
  std::optional<NameScope> names_;
};

// The variable "SCOPE/name". Throws AlreadyExists and NotFound as Reuse says, InvalidArgument where the variable that
// is there has another shape or dtype, or the initializer's tensor has; where a partitioner is given that would cut it
// (get_partitioned_variable does).
PANTO_EXPORT Variable get_variable(std::string_view name, const Shape& shape, const GetVariableOptions& options = {},
                                   std::source_location where = std::source_location::current());
// The same, from a first value: a Tensor. (Braces are a shape.)
PANTO_EXPORT Variable get_variable_from(std::string_view name, const Tensor& initial,
                                        const GetVariableOptions& options = {},
                                        std::source_location where = std::source_location::current());
template <std::same_as<Tensor> Initial>
Variable get_variable(std::string_view name, const Initial& initial, const GetVariableOptions& options = {},
                      std::source_location where = std::source_location::current()) {
  return get_variable_from(name, initial, options, where);
}
// One that is there. Throws NotFound.
PANTO_EXPORT Variable get_variable(std::string_view name, std::source_location where = std::source_location::current());

// What get_variable has made on this thread's side, but for local ones: in a GraphScope the graph's global_variables,
// elsewhere those of the store. As TensorFlow's function of that name.
PANTO_EXPORT std::vector<Variable> all_variables(std::string_view scope = "");

// The penalties of the variables that were made with a regularizer, and whose names begin with `scope`: in a GraphScope
// the nodes that were made with them (collection "regularization_losses"), elsewhere computed now.
PANTO_EXPORT std::vector<Tensor> regularization_losses(std::string_view scope = "");
// What add_loss (nn/layers/core/losses.h) has added to the graph; none outside of one.
PANTO_EXPORT std::vector<Tensor> get_losses(std::string_view scope = "");
// The sum of the losses and, unless told otherwise, the penalties: float32 0 of none.
PANTO_EXPORT Tensor get_total_loss(bool add_regularization_losses = true);

// Where get_variable keeps variables outside of graphs.
//
//   VariableStore store;
//   {
//     const VariableStoreScope in(store);
//     train();
//   }
//   save_variables("model.safetensors", store.variables());
//
// Copies are the same store.
class PANTO_EXPORT VariableStore {
 public:
  VariableStore();

  // In the order of making, of those whose names begin with `scope`.
  std::vector<Variable> variables(std::string_view scope = "") const;
  std::vector<Variable> trainable_variables(std::string_view scope = "") const;
  // All but local ones.
  std::vector<Variable> global_variables(std::string_view scope = "") const;
  // The full names, in that order.
  std::vector<std::string> names() const;
  // Forgets them: the next get_variable of the name makes a new one.
  void clear();

 private:
  struct Impl;
  friend class VariableFinder;
  SharedImpl<Impl> impl_;
};

// The one that get_variable uses on this thread: the innermost open scope's, or that of the process.
PANTO_EXPORT VariableStore current_variable_store();

class PANTO_EXPORT VariableStoreScope {
 public:
  explicit VariableStoreScope(const VariableStore& store);
  ~VariableStoreScope();
  VariableStoreScope(const VariableStoreScope&) = delete;
  VariableStoreScope& operator=(const VariableStoreScope&) = delete;

 private:
  std::optional<VariableStore> previous_;
};

}  // namespace panto
