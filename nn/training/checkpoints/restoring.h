// Matches the values in a checkpoint with the objects of a Checkpoint. Internal.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/graph/checkpoints/checkpoint_file.h"
#include "panto/lib/graph/checkpoints/object_graph.h"
#include "panto/nn/training/checkpoints/object_checkpoint.h"
#include "panto/nn/training/checkpoints/object_tree.h"

namespace panto {

// Finds the keys of objects' values, and remembers what was found: variables that an optimizer makes later get their
// values from here, when the file may be gone.
class Restoring {
 public:
  // Throws as CheckpointReader, and DataLoss for a malformed object graph.
  explicit Restoring(const std::string& prefix);

  // One value to be assigned, to a variable or to a state.
  struct Assignment {
    Variable variable;  // or
    const CheckpointNode* state = nullptr;
    Tensor value;
  };
  // Finds the values of all objects. Throws InvalidArgument if a value does not fit. Then reads the values of variables
  // that optimizers may make later.
  std::vector<Assignment> find(const ObjectTree& tree);
  // Finds the values of variables that an optimizer has made since. Throws as `find`.
  std::vector<Assignment> find_more(const Optimizer& optimizer);
  // Whether the checkpoint has values for variables that this optimizer may still make.
  bool awaits(const Optimizer& optimizer) const;

  const std::string& prefix() const { return prefix_; }
  // Paths "model/dense/kernel (float32[3,2])"; unused() returns keys without an object.
  const std::vector<std::string>& missing() const { return missing_; }
  std::vector<std::string> unused() const;
  size_t taken() const { return taken_.size(); }
  // The save counter in the checkpoint; -1: it has none.
  int64_t save_counter() const { return save_counter_; }
  // Positions of a graph's nodes (Session::node_positions); none if the checkpoint was not saved from a session.
  const std::optional<std::string>& session_positions() const { return session_positions_; }

 private:
  struct Place {
    size_t object, stored;
  };
  Tensor read(const std::string& key);
  bool take(const TreeObject& object, const std::string& key, std::vector<Assignment>& found);
  bool take_value_of(const TreeObject& object, size_t stored, std::vector<Assignment>& found);
  bool take_by_name(const TreeObject& object, const std::vector<std::string>& names, std::vector<Assignment>& found);
  void miss(const Variable& variable, const std::string& way);
  void find_by_ways(const ObjectTree& tree, std::vector<Assignment>& found);
  void find_by_names(const ObjectTree& tree, std::vector<Assignment>& found);
  void find_in_layer(const ObjectTree& tree, size_t layer, std::vector<Assignment>& found);
  void find_of_optimizer(const Optimizer& optimizer, std::vector<Assignment>& found);
  void find_shared(const Optimizer& optimizer, std::vector<Assignment>& found);
  std::optional<int64_t> steps_of(size_t optimizer);
  bool find_slot(const Optimizer& optimizer, const Variable& variable, const std::string& slot, const Variable& value,
                 std::vector<Assignment>& found);
  void keep_for_later(const ObjectTree& tree);

  std::string prefix_;
  std::optional<CheckpointReader> reader_;  // closed when all is read
  std::vector<StoredObject> stored_;        // empty: the checkpoint has names only
  std::map<std::string, CheckpointVariable, std::less<>> keys_;
  std::map<std::string, Tensor, std::less<>> later_;  // values for variables that optimizers may make, by key
  std::set<std::string, std::less<>> taken_;
  std::set<const CheckpointNode*> states_;                     // states that have been restored
  std::unordered_map<size_t, size_t> stored_of_;               // by object number
  std::unordered_map<int64_t, size_t> stored_variable_;        // by variable handle
  std::unordered_map<int64_t, std::string> name_of_variable_;  // in a checkpoint of names
  std::unordered_map<const Optimizer*, size_t> stored_optimizer_;
  std::map<const Optimizer*, std::string> way_of_optimizer_;
  std::unordered_set<int64_t> given_;  // handles of variables that have been restored, or were missing
  std::vector<std::string> missing_;
  int64_t save_counter_ = -1;
  std::optional<std::string> session_positions_;
};

}  // namespace panto
