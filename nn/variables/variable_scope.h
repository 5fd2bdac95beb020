// Variables by name: the first get_variable of a name makes the variable, later ones return it.
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
// In a GraphScope the variables are the graph's, made with an initializer; elsewhere a VariableStore keeps them, by
// default one for the process. So eager code, traced functions (whose variables are made before the trace, unrecorded)
// and graphs give variables the same names, and checkpoints of one fit the others. As tf.compat.v1.get_variable.
//
// A scope also prefixes the names of nodes, as a NameScope does. Its options also hold for inner scopes, unless these
// override them. Thread-safety: a scope belongs to the thread that made it; a store may be used by several threads at
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

// Whether get_variable makes variables or returns existing ones.
enum class Reuse : uint8_t {
  kNo,    // makes it; an existing variable is an error
  kYes,   // returns it; a missing variable is an error. Inside such a scope kNo means kYes.
  kAuto,  // returns an existing variable, or makes it
};

// Returns the number of parts along each dimension for a variable of this shape; at most one number is not 1.
using Partitioner = Callable<std::vector<int64_t>(const Shape& shape, DType dtype)>;

struct GetVariableOptions {
  DType dtype = DType::kInvalid;  // none: the scope's, or float32
  // none: the scope's; else Glorot's uniform one, or zeros for types that are not floating.
  Initializer initializer = nullptr;
  Regularizer regularizer = nullptr;  // none: the scope's
  bool trainable = true;
  bool validate_shape = true;  // false: values of other shapes may be assigned
  bool local = false;          // of this process, not the model: initialized by local_variables_initializer, not saved
  std::vector<std::string> collections = {};  // further collections of the graph to add it to
  // For get_partitioned_variable. none: the scope's.
  Partitioner partitioner = nullptr;
};

// Takes the full name ("encoder/kernel"), with the scope's options filled in.
using VariableGetter = Callable<Variable(std::string_view name, const Shape& shape, const GetVariableOptions& options)>;
// Replaces get_variable's own way, `getter`, which it may call: with another name or other options, several times, or
// not at all.
using CustomGetter = Callable<Variable(const VariableGetter& getter, std::string_view name, const Shape& shape,
                                       const GetVariableOptions& options)>;

struct VariableScopeOptions {
  std::optional<Reuse> reuse = std::nullopt;
  DType dtype = DType::kInvalid;
  Initializer initializer = nullptr;
  Regularizer regularizer = nullptr;
  Partitioner partitioner = nullptr;
  CustomGetter custom_getter = nullptr;  // `getter` includes the outer scopes' custom getters
  // Makes the name unique: takes the first of name, name_1, ... that no scope has used since the enclosing scope was
  // opened (at the top level: under which no variable was made). As default_name of tf.compat.v1.variable_scope.
  bool unique = false;
};

class PANTO_EXPORT VariableScope {
 public:
  // With an empty name, variables are named as outside, but with these options. Throws InvalidArgument for a name that
  // a node may not have.
  explicit VariableScope(std::string_view name, const VariableScopeOptions& options = {});
  ~VariableScope();
  VariableScope(const VariableScope&) = delete;
  VariableScope& operator=(const VariableScope&) = delete;

  // "encoder/layer_1"; "" outside of all scopes.
  static std::string current();
  // From now on, until the innermost scope ends, get_variable returns existing variables. As
  // tf.get_variable_scope().reuse_variables().
  static void reuse_variables();
  // The options with the scope's values for those that are left out.
  static GetVariableOptions filled_in(GetVariableOptions options);

 private:
  std::optional<NameScope> names_;
};

// The variable "SCOPE/name". Throws AlreadyExists and NotFound as Reuse says, InvalidArgument if the existing variable,
// or the initializer's tensor, has another shape or dtype; and if a partitioner would cut it (use
// get_partitioned_variable).
PANTO_EXPORT Variable get_variable(std::string_view name, const Shape& shape, const GetVariableOptions& options = {},
                                   std::source_location where = std::source_location::current());
// The same, with a Tensor as initial value. (Braces are a shape.)
PANTO_EXPORT Variable get_variable_from(std::string_view name, const Tensor& initial,
                                        const GetVariableOptions& options = {},
                                        std::source_location where = std::source_location::current());
template <std::same_as<Tensor> Initial>
Variable get_variable(std::string_view name, const Initial& initial, const GetVariableOptions& options = {},
                      std::source_location where = std::source_location::current()) {
  return get_variable_from(name, initial, options, where);
}
// Returns an existing variable. Throws NotFound.
PANTO_EXPORT Variable get_variable(std::string_view name, std::source_location where = std::source_location::current());

// The variables that get_variable has made, except local ones: in a GraphScope the graph's global_variables, elsewhere
// those of this thread's store. As TensorFlow's function of that name.
PANTO_EXPORT std::vector<Variable> all_variables(std::string_view scope = "");

// The penalties of variables that were made with a regularizer and whose names begin with `scope`: in a GraphScope the
// nodes made with them (collection "regularization_losses"), elsewhere computed now.
PANTO_EXPORT std::vector<Tensor> regularization_losses(std::string_view scope = "");
// The losses that add_loss (nn/layers/core/losses.h) has added to the graph; empty outside of a graph.
PANTO_EXPORT std::vector<Tensor> get_losses(std::string_view scope = "");
// The sum of the losses and, by default, of the penalties: float32 0 if there are none.
PANTO_EXPORT Tensor get_total_loss(bool add_regularization_losses = true);

// Keeps the variables of get_variable outside of graphs.
//
//   VariableStore store;
//   {
//     const VariableStoreScope in(store);
//     train();
//   }
//   save_variables("model.safetensors", store.variables());
//
// Copies refer to the same store.
class PANTO_EXPORT VariableStore {
 public:
  VariableStore();

  // The variables whose names begin with `scope`, in the order in which they were made.
  std::vector<Variable> variables(std::string_view scope = "") const;
  std::vector<Variable> trainable_variables(std::string_view scope = "") const;
  // All except local ones.
  std::vector<Variable> global_variables(std::string_view scope = "") const;
  // The full names, in the same order.
  std::vector<std::string> names() const;
  // Drops the variables: the next get_variable of a name makes a new one.
  void clear();

 private:
  struct Impl;
  friend class VariableFinder;
  SharedImpl<Impl> impl_;
};

// The store that get_variable uses on this thread: the innermost open scope's, or the process's.
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
