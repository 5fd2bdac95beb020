// CheckpointManager: saves a Checkpoint at intervals and keeps the last few.
//
//   Checkpoint checkpoint({{"model", model}, {"optimizer", adam}, {"data", train}, {"step", step}});
//   CheckpointManager manager(checkpoint, "run", {.max_to_keep = 3, .checkpoint_interval = 100});
//   manager.restore_latest();                       // nothing happens where there is none yet
//   for (auto [x, y] : train) {
//     train_step(x, y);
//     manager.save(step.value().item<int64_t>());   // run/ckpt-100, run/ckpt-200, ...
//   }
//
// When `save`, or `get` on the result of save_async, returns, the checkpoint is on the disk as a whole, whatever then
// happens to the process or the machine; older ones are removed only after that. The files are those of a Saver
// (nn/training/saver.h), with its file `checkpoint`, by which TensorFlow finds them. In a fork of the process that made
// the manager, saving throws FailedPrecondition. Thread-safety: one call at a time.
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
  int64_t max_to_keep = 5;  // as in SaverOptions; 0: keep all
  double keep_every_n_hours = 0;
  std::string checkpoint_name = "ckpt";
  // `save` writes only if the step has grown by at least this much since the last checkpoint, and this many seconds
  // have passed. 0: it writes at every call. The first call always writes.
  int64_t checkpoint_interval = 0;
  double seconds_between = 0;
  Callable<double()> clock = nullptr;  // seconds since 1970; none: the machine's clock
};

class PANTO_EXPORT CheckpointManager {
 public:
  // Creates the folder if it does not exist. The checkpoint must outlive the manager. Throws as Saver.
  CheckpointManager(Checkpoint& checkpoint, const std::string& folder, CheckpointManagerOptions options);
  CheckpointManager(Checkpoint& checkpoint, const std::string& folder);
  ~CheckpointManager();  // waits until all is written
  CheckpointManager(const CheckpointManager&) = delete;
  CheckpointManager& operator=(const CheckpointManager&) = delete;

  // Writes FOLDER/ckpt-STEP; without a step, the number of the save. Returns the prefix; nullopt if nothing was due.
  // Throws as Checkpoint::write; InvalidArgument for a negative step.
  std::optional<std::string> save(int64_t step);
  std::optional<std::string> save(Session& session, int64_t step);
  std::string save();
  std::string save(Session& session);
  // The same on a thread of its own, with the values of now. Blocks if another save is already waiting.
  std::optional<PendingSave> save_async(int64_t step);
  std::optional<PendingSave> save_async(Session& session, int64_t step);

  // Restores the newest checkpoint of the folder; without one it does nothing and returns nullopt. Throws as
  // Checkpoint::restore.
  std::optional<RestoreStatus> restore_latest();
  std::optional<RestoreStatus> restore_latest(Session& session);
  // The newest checkpoint's prefix.
  std::optional<std::string> latest_checkpoint() const;
  // The existing checkpoints that count for max_to_keep, oldest first.
  std::vector<std::string> checkpoints() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace panto
