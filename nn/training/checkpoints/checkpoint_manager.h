// CheckpointManager: a Checkpoint that is saved now and then, of which the last few are kept.
//
//   Checkpoint checkpoint({{"model", model}, {"optimizer", adam}, {"data", train}, {"step", step}});
//   CheckpointManager manager(checkpoint, "run", {.max_to_keep = 3, .checkpoint_interval = 100});
//   manager.restore_latest();                       // nothing happens where there is none yet
//   for (auto [x, y] : train) {
//     train_step(x, y);
//     manager.save(step.value().item<int64_t>());   // run/ckpt-100, run/ckpt-200, ...
//   }
//
// What `save`, or the `get` of what save_async gives, returned for is on the disk as a whole, whatever happens to the
// process, the machine or the disk afterwards; older ones are removed only then. Files are those of a Saver
// (nn/training/saver.h), with its file `checkpoint`, which TensorFlow finds them by. In a fork of the process that made
// it saving throws FailedPrecondition. Thread-safety: one call at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/nn/training/checkpoints/object_checkpoint.h"
#include "panto/nn/training/saver.h"

namespace panto {

struct CheckpointManagerOptions {
  int64_t max_to_keep = 5;  // as of SaverOptions; 0: all are kept
  double keep_every_n_hours = 0;
  std::string checkpoint_name = "ckpt";
  // `save` writes only if the step is at least so much larger than that of the checkpoint before, and so many seconds
  // have passed since. 0: whenever it is called. The first call writes.
  int64_t checkpoint_interval = 0;
  double seconds_between = 0;
  Callable<double()> clock = nullptr;  // seconds since 1970; none: the machine's
};

class PANTO_EXPORT CheckpointManager {
 public:
  // The folder is made where it is not there. The checkpoint must outlive this. Throws as Saver.
  CheckpointManager(Checkpoint& checkpoint, const std::string& folder, CheckpointManagerOptions options);
  CheckpointManager(Checkpoint& checkpoint, const std::string& folder);
  ~CheckpointManager();  // waits until all is written
  CheckpointManager(const CheckpointManager&) = delete;
  CheckpointManager& operator=(const CheckpointManager&) = delete;

  // Writes FOLDER/ckpt-STEP; without a step, the number of the save. Its prefix; nullopt where it is not time yet.
  // Throws as Checkpoint::write; InvalidArgument for a negative step.
  std::optional<std::string> save(int64_t step);
  std::optional<std::string> save(Session& session, int64_t step);
  std::string save();
  std::string save(Session& session);
  // The same by a thread of its own: the values are those of now. Waits where another one waits already.
  std::optional<PendingSave> save_async(int64_t step);
  std::optional<PendingSave> save_async(Session& session, int64_t step);

  // The newest checkpoint of the folder: nullopt, and nothing happens, where there is none. Throws as
  // Checkpoint::restore.
  std::optional<RestoreStatus> restore_latest();
  std::optional<RestoreStatus> restore_latest(Session& session);
  // Its prefix.
  std::optional<std::string> latest_checkpoint() const;
  // Those that are there and will be removed when they are the oldest, oldest first.
  std::vector<std::string> checkpoints() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace panto
