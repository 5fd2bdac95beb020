// The values of a Checkpoint's objects: shared by Checkpoint and CheckpointManager. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "panto/lib/core/io/npy.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/nn/training/checkpoints/graph_values.h"
#include "panto/nn/training/checkpoints/object_checkpoint.h"
#include "panto/nn/training/checkpoints/restoring.h"

namespace panto {

class Session;

class CheckpointValues {
 public:
  explicit CheckpointValues(std::vector<CheckpointObject::Named> objects);

  // What is to be written: values by key, and the object graph. Throws as Checkpoint::write.
  std::vector<NamedTensor> values(Session* session, std::optional<int64_t> save_counter) const;
  // Throws as Checkpoint::restore.
  std::shared_ptr<Restoring> restore(Session* session, const std::string& prefix) const;

  int64_t save_counter = 0;

 private:
  void expect_session(bool given, bool needed) const;
  size_t position_in_graph(const Variable& variable) const;
  static void assign(const std::vector<Restoring::Assignment>& found);

  std::vector<CheckpointObject::Named> objects_;
  GraphValues graph_;
};

}  // namespace panto
