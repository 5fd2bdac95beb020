// Checkpoints PREFIX-STEP that are written one after the other, of which the last few are kept. What Saver and
// CheckpointManager have in common. Internal.
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

// In a fork of the process that made it: writing throws FailedPrecondition, destroying it does nothing. Thread-safe.
class KeptCheckpoints {
 public:
  // Goes on with what is there. Throws as Saver.
  KeptCheckpoints(const std::string& prefix, KeptOptions options);
  ~KeptCheckpoints();  // waits until all is written
  KeptCheckpoints(const KeptCheckpoints&) = delete;
  KeptCheckpoints& operator=(const KeptCheckpoints&) = delete;

  const std::string& folder() const;  // "run"
  double now() const;
  // Throw FailedPrecondition in another process, InvalidArgument for a negative step: before values are looked at.
  void expect_can_write(int64_t step) const;
  // The prefix of the checkpoint, which is on the disk, with the file `checkpoint`.
  std::string write_now(int64_t step, std::vector<CheckpointPart> values);
  // By a thread of its own. Waits where another one waits already.
  PendingSave write_later(int64_t step, std::vector<CheckpointPart> values);
  // Prefixes, oldest first.
  std::vector<std::string> checkpoints() const;

 private:
  struct Impl;
  struct Job;
  std::unique_ptr<Impl> impl_;
};

}  // namespace panto
