// The objects of a Checkpoint as TensorFlow numbers them: one for each variable, and one for each object that contains
// others. Internal.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/graph/checkpoints/object_graph.h"
#include "panto/nn/training/checkpoints/object_checkpoint.h"

namespace panto {

// The attribute of values that are not variables.
inline constexpr std::string_view kStateAttribute = "STATE";

// The object to which a CheckpointObject refers.
struct CheckpointNode {
  enum class Kind : uint8_t { kVariable, kLayer, kOptimizer, kVariables, kState, kObjects };
  Kind kind = Kind::kObjects;
  Variable variable = {};
  const Layer* layer = nullptr;
  Optimizer* optimizer = nullptr;
  Callable<std::vector<Variable>()> variables = nullptr;
  Callable<Tensor()> save = nullptr;
  Callable<void(const Tensor&)> restore = nullptr;
  std::vector<CheckpointObject::Named> objects = {};
};

struct TreeObject {
  std::string way;        // its path, the key without the attribute: "model/dense/kernel", names escaped
  std::string full_name;  // of a variable, the same in every process
  std::vector<std::pair<std::string, size_t>> children = {};
  Variable variable = {};  // the object's variable, or instead of it one of the next two
  const CheckpointNode* state = nullptr;
  Optimizer* optimizer = nullptr;
  // If not 0: this object is a float32 copy of the object of that number.
  size_t narrow_of = 0;
  // For a layer: its variables, by their names in it.
  std::vector<std::pair<std::string, size_t>> by_name = {};
  std::vector<StoredObject::Slot> slots = {};
};

class ObjectTree {
 public:
  explicit ObjectTree(const std::vector<CheckpointObject::Named>& objects);

  const std::vector<TreeObject>& objects() const { return objects_; }
  // Throws InvalidArgument for an optimizer whose variables are in no other object.
  void expect_variables_of_optimizers() const;
  // "model/dense/kernel/.ATTRIBUTES/VARIABLE_VALUE".
  static std::string key(const TreeObject& object);
  // As stored in the file.
  std::vector<StoredObject> stored() const;

 private:
  void add_named(const std::vector<CheckpointObject::Named>& objects, size_t to);
  void add(const std::string& name, const CheckpointNode& node, size_t to);
  size_t add_child(const std::string& name, size_t to);
  size_t add_variable(const std::string& name, const Variable& variable, std::string full_name, size_t to);
  void add_layer(const Layer& layer, size_t to);
  void add_slots(size_t of);

  std::vector<TreeObject> objects_;
  std::unordered_map<int64_t, size_t> of_variable_;  // by handle ids
};

// Suffix of the name of an optimizer's power that is a float64. Beside it, a float32 is stored under the plain name,
// which TensorFlow reads for variables of any type.
inline constexpr std::string_view kWide = "_float64";

// The variable's name that is the same in every process.
std::string file_name_of(const Variable& variable);

}  // namespace panto
