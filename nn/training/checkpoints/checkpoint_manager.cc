#include "panto/nn/training/checkpoints/checkpoint_manager.h"

#include <cmath>
#include <tuple>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/graph/checkpoints/checkpoint_file.h"
#include "panto/lib/graph/checkpoints/checkpoint_state.h"
#include "panto/nn/training/checkpoints/checkpoint_values.h"
#include "panto/nn/training/checkpoints/kept_checkpoints.h"

namespace panto {
namespace {

std::string prefix_of(const std::string& folder, const CheckpointManagerOptions& options) {
  if (options.checkpoint_name.empty() || options.checkpoint_name.find('/') != std::string::npos) {
    invalid("checkpoint manager: expected a name without slashes, got '{}'", options.checkpoint_name);
  }
  if (options.checkpoint_interval < 0) {
    invalid("checkpoint manager: expected checkpoint_interval >= 0, got {}", options.checkpoint_interval);
  }
  if (!(options.seconds_between >= 0) || !std::isfinite(options.seconds_between)) {
    invalid("checkpoint manager: expected seconds_between >= 0, got {}", options.seconds_between);
  }
  if (folder.empty()) return options.checkpoint_name;
  return folder.ends_with('/') ? folder + options.checkpoint_name : folder + "/" + options.checkpoint_name;
}

}  // namespace

struct CheckpointManager::Impl {
  Impl(Checkpoint& of, const std::string& folder, const CheckpointManagerOptions& with)
      : checkpoint(of),
        interval(with.checkpoint_interval),
        seconds(with.seconds_between),
        files(prefix_of(folder, with), {.who = "checkpoint manager",
                                        .max_to_keep = with.max_to_keep,
                                        .keep_every_n_hours = with.keep_every_n_hours,
                                        .clock = with.clock}) {
    for (const std::string& prefix : files.checkpoints()) last_step = checkpoint_step(prefix);
  }

  bool is_time(int64_t step) const {
    files.expect_can_write(step);
    if (interval > 0 && last_step && step - *last_step < interval) return false;
    return seconds == 0 || !last_time || files.now() - *last_time >= seconds;
  }
  // Counts as a save from now on, even if writing fails later.
  std::vector<CheckpointPart> values(Session* session, int64_t step) {
    std::vector<CheckpointPart> all;
    for (auto& [name, value] : checkpoint.values().values(session, checkpoint.values().save_counter + 1)) {
      all.push_back({std::move(name), std::move(value)});
    }
    ++checkpoint.values().save_counter;
    if (seconds > 0) last_time = files.now();
    last_step = step;
    return all;
  }
  std::string write(Session* session, int64_t step) {
    const auto before = std::pair(last_step, last_time);
    std::vector<CheckpointPart> all = values(session, step);
    try {
      return files.write_now(step, std::move(all));
    } catch (...) {  // the next call tries again
      std::tie(last_step, last_time) = before;
      throw;
    }
  }
  std::optional<std::string> save(Session* session, int64_t step) {
    if (!is_time(step)) return std::nullopt;
    return write(session, step);
  }
  std::string save(Session* session) {
    const int64_t number = checkpoint.values().save_counter + 1;
    files.expect_can_write(number);
    return write(session, number);
  }
  std::optional<PendingSave> save_async(Session* session, int64_t step) {
    if (!is_time(step)) return std::nullopt;
    return files.write_later(step, values(session, step));
  }

  Checkpoint& checkpoint;
  int64_t interval;
  double seconds;
  std::optional<int64_t> last_step;
  std::optional<double> last_time;
  KeptCheckpoints files;
};

CheckpointManager::CheckpointManager(Checkpoint& checkpoint, const std::string& folder,
                                     CheckpointManagerOptions options)
    : impl_(std::make_unique<Impl>(checkpoint, folder, options)) {}
CheckpointManager::CheckpointManager(Checkpoint& checkpoint, const std::string& folder)
    : CheckpointManager(checkpoint, folder, CheckpointManagerOptions{}) {}
CheckpointManager::~CheckpointManager() = default;

std::optional<std::string> CheckpointManager::save(int64_t step) { return impl_->save(nullptr, step); }
std::optional<std::string> CheckpointManager::save(Session& session, int64_t step) {
  return impl_->save(&session, step);
}
std::string CheckpointManager::save() { return impl_->save(nullptr); }
std::string CheckpointManager::save(Session& session) { return impl_->save(&session); }
std::optional<PendingSave> CheckpointManager::save_async(int64_t step) { return impl_->save_async(nullptr, step); }
std::optional<PendingSave> CheckpointManager::save_async(Session& session, int64_t step) {
  return impl_->save_async(&session, step);
}

std::optional<RestoreStatus> CheckpointManager::restore_latest() {
  const auto prefix = latest_checkpoint();
  if (!prefix) return std::nullopt;
  return impl_->checkpoint.restore(*prefix);
}
std::optional<RestoreStatus> CheckpointManager::restore_latest(Session& session) {
  const auto prefix = latest_checkpoint();
  if (!prefix) return std::nullopt;
  return impl_->checkpoint.restore(session, *prefix);
}
std::optional<std::string> CheckpointManager::latest_checkpoint() const {
  return panto::latest_checkpoint(impl_->files.folder());
}
std::vector<std::string> CheckpointManager::checkpoints() const { return impl_->files.checkpoints(); }

}  // namespace panto
