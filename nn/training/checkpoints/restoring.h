// What a checkpoint has of the objects of a Checkpoint. Internal.
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

// Finds, for objects, the keys of their values, and remembers what was found: what optimizers make later gets its
// values from here, when the file may be gone.
class Restoring {
 public:
  // Throws as CheckpointReader, and DataLoss for a graph of objects that cannot be understood.
  explicit Restoring(const std::string& prefix);

  // A value that is to be assigned.
  struct Assignment {
    Variable variable;  // or
    const CheckpointNode* state = nullptr;
    Tensor value;
  };
  // Of all objects. Throws InvalidArgument where a value does not fit. Then reads what optimizers may make later.
  std::vector<Assignment> find(const ObjectTree& tree);
  // Of what an optimizer has made since. Throws as `find`.
  std::vector<Assignment> find_more(const Optimizer& optimizer);
  // Whether the checkpoint has values for what this one may make yet.
  bool awaits(const Optimizer& optimizer) const;

  const std::string& prefix() const { return prefix_; }
  // "model/dense/kernel (float32[3,2])"; of keys that nothing has.
  const std::vector<std::string>& missing() const { return missing_; }
  std::vector<std::string> unused() const;
  size_t taken() const { return taken_.size(); }
  // How often the checkpoint's own Checkpoint had saved; -1: it does not say.
  int64_t save_counter() const { return save_counter_; }
  // Of nodes of a graph (Session::node_positions); none where a session's values are not what was saved.
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
  std::optional<CheckpointReader> reader_;  // until all is read
  std::vector<StoredObject> stored_;        // empty: a checkpoint of names
  std::map<std::string, CheckpointVariable, std::less<>> keys_;
  std::map<std::string, Tensor, std::less<>> later_;  // values for what optimizers may make, by key
  std::set<std::string, std::less<>> taken_;
  std::set<const CheckpointNode*> states_;                     // that have got theirs
  std::unordered_map<size_t, size_t> stored_of_;               // by the number of an object
  std::unordered_map<int64_t, size_t> stored_variable_;        // by a variable's handle
  std::unordered_map<int64_t, std::string> name_of_variable_;  // in a checkpoint of names
  std::unordered_map<const Optimizer*, size_t> stored_optimizer_;
  std::map<const Optimizer*, std::string> way_of_optimizer_;
  std::unordered_set<int64_t> given_;  // handles of variables that have got their values, or were missed
  std::vector<std::string> missing_;
  int64_t save_counter_ = -1;
  std::optional<std::string> session_positions_;
};

}  // namespace panto
