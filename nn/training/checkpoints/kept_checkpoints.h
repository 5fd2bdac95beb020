// A series of checkpoints PREFIX-STEP, of which the last few are kept. Shared by Saver and CheckpointManager. Internal.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/graph/checkpoints/tensor_part.h"
#include "panto/nn/training/saver.h"

namespace panto {

struct KeptOptions {
  const char* who;  // "saver", for messages
  int64_t max_to_keep;
  double keep_every_n_hours;
  Callable<double()> clock;
  bool object_graph = false;
};

// In a fork of the process that made it, writing throws FailedPrecondition, and destroying it does nothing.
// Thread-safe.
class KeptCheckpoints {
 public:
  // Continues the series that exists. Throws as Saver.
  KeptCheckpoints(const std::string& prefix, KeptOptions options);
  ~KeptCheckpoints();  // waits until all is written
  KeptCheckpoints(const KeptCheckpoints&) = delete;
  KeptCheckpoints& operator=(const KeptCheckpoints&) = delete;

  const std::string& folder() const;  // "run"
  double now() const;
  // Throw FailedPrecondition in a fork, InvalidArgument for a negative step. Called before values are read.
  void expect_can_write(int64_t step) const;
  // Returns the prefix of the checkpoint when it, and the file `checkpoint`, are on the disk.
  std::string write_now(int64_t step, std::vector<CheckpointPart> values);
  // Writes on a thread of its own. Blocks if another save is already waiting.
  PendingSave write_later(int64_t step, std::vector<CheckpointPart> values);
  // Prefixes, oldest first.
  std::vector<std::string> checkpoints() const;

 private:
  struct Impl;
  struct Job;
  std::unique_ptr<Impl> impl_;
};

}  // namespace panto
