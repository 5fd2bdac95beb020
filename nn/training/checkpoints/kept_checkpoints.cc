#include "panto/nn/training/checkpoints/kept_checkpoints.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "panto/lib/base/clock.h"
#include "panto/lib/base/file.h"
#include "panto/lib/base/log.h"
#include "panto/lib/base/start_thread.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/graph/checkpoints/checkpoint_file.h"
#include "panto/lib/graph/checkpoints/checkpoint_state.h"

namespace panto {

struct PendingSave::State {
  void finish(std::string written, std::exception_ptr fault) {
    const std::lock_guard lock(mutex);
    prefix = std::move(written);
    error = std::move(fault);
    done = true;
    changed.notify_all();
  }

  mutable std::mutex mutex;  // guards the rest
  mutable std::condition_variable changed;
  bool done = false;
  std::string prefix;
  std::exception_ptr error;
};

PendingSave::PendingSave(std::shared_ptr<State> state) : state_(std::move(state)) {}

bool PendingSave::ready() const {
  const std::lock_guard lock(state_->mutex);
  return state_->done;
}

std::string PendingSave::get() const {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [this] { return state_->done; });
  if (state_->error != nullptr) std::rethrow_exception(state_->error);
  return state_->prefix;
}

namespace {

constexpr double kSecondsAnHour = 3600;

}  // namespace

struct KeptCheckpoints::Job {
  std::vector<CheckpointPart> values;
  std::string name;  // of the checkpoint, within the folder
  std::shared_ptr<PendingSave::State> result = std::make_shared<PendingSave::State>();
};

struct KeptCheckpoints::Impl {
  Impl(const std::string& prefix, KeptOptions with) : options(std::move(with)) {
    const size_t slash = prefix.rfind('/');
    base = slash == std::string::npos ? prefix : prefix.substr(slash + 1);
    folder = slash == std::string::npos ? "." : slash == 0 ? "/" : prefix.substr(0, slash);
    start = slash == std::string::npos ? "" : prefix.substr(0, slash + 1);
    if (base.empty()) invalid("{}: expected a prefix with a name, got '{}'", options.who, prefix);
    if (options.max_to_keep < 0) invalid("{}: expected max_to_keep >= 0, got {}", options.who, options.max_to_keep);
    if (!(options.keep_every_n_hours >= 0) || !std::isfinite(options.keep_every_n_hours)) {
      invalid("{}: expected keep_every_n_hours >= 0, got {}", options.who, options.keep_every_n_hours);
    }
    make_folders(folder);
    remove_abandoned_files(folder);
    take_over();
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      ended = true;
      changed.notify_all();
    }
    if (worker.joinable()) worker.join();
  }

  double now() const { return options.clock ? options.clock() : machine_time(); }

  // Continues from an earlier writer of this name. Ignores other names, and those outside the folder.
  void take_over() {
    const auto state = read_checkpoint_state(folder);
    last_preserved = now();
    if (!state) return;
    if (state->last_preserved > 0) last_preserved = state->last_preserved;
    for (size_t i = 0; i < state->all.size(); ++i) {
      const std::string& name = state->all[i];
      if (!name.starts_with(base + "-") || name.find('/') != std::string::npos || checkpoint_step(name) < 0) continue;
      if (!checkpoint_exists(start + name)) continue;
      kept.push_back({name, i < state->timestamps.size() ? state->timestamps[i] : now()});
    }
  }

  std::string name_of(int64_t step) const { return fmt::format("{}-{}", base, step); }

  // Called by one thread at a time, the one that has set `busy`.
  void write(Job& job) noexcept {
    try {
      if (options.object_graph) {
        std::vector<NamedTensor> values;
        for (const CheckpointPart& v : job.values) values.emplace_back(v.name, v.value);
        write_checkpoint(start + job.name, values, {.object_graph = true});
      } else {
        write_checkpoint_parts(start + job.name, job.values);
      }
      job.values.clear();
      const CheckpointReader readable(start + job.name);  // check that it can be read before an older one is removed
      note(job.name);
      job.result->finish(start + job.name, nullptr);
    } catch (...) {
      job.result->finish("", std::current_exception());
    }
  }

  // Writes the list with the new checkpoint, then removes the files of those that are no longer in it.
  void note(const std::string& name) {
    std::vector<Kept> list;
    {
      const std::lock_guard lock(mutex);
      list = kept;
    }
    std::erase_if(list, [&](const Kept& k) { return k.name == name; });
    list.push_back({name, now()});
    double preserved = last_preserved;
    std::vector<std::string> removed;
    while (options.max_to_keep > 0 && list.size() > static_cast<size_t>(options.max_to_keep)) {
      const Kept oldest = list.front();
      list.erase(list.begin());
      if (options.keep_every_n_hours > 0 && oldest.time - options.keep_every_n_hours * kSecondsAnHour >= preserved) {
        preserved = oldest.time;
      } else {
        removed.push_back(oldest.name);
      }
    }
    CheckpointState state{.latest = name, .last_preserved = preserved};
    for (const Kept& k : list) {
      state.all.push_back(k.name);
      state.timestamps.push_back(k.time);
    }
    write_checkpoint_state(folder, state);
    last_preserved = preserved;
    {
      const std::lock_guard lock(mutex);
      kept = std::move(list);
    }
    for (const std::string& old : removed) {
      try {
        remove_checkpoint(start + old);
      } catch (const Error& error) {
        log_warn(
            fmt::format("{}: the checkpoint '{}' stays: {}", options.who, printable(start + old), error.message()));
      }
    }
  }

  // The worker thread's function.
  void work() noexcept {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return !busy && (!waiting.empty() || ended); });
      if (waiting.empty()) return;
      busy = true;
      Job next = std::move(waiting.front());
      waiting.pop_front();
      changed.notify_all();
      lock.unlock();
      write(next);
      lock.lock();
      busy = false;
      changed.notify_all();
    }
  }

  struct Kept {
    std::string name;
    double time;
  };

  const pid_t process = getpid();
  KeptOptions options;
  std::string base, folder, start;  // "model.ckpt", "run", "run/"
  double last_preserved = 0;        // used by the writing thread

  mutable std::mutex mutex;  // guards the rest
  std::condition_variable changed;
  std::vector<Kept> kept;
  std::deque<Job> waiting;
  bool busy = false;  // a thread is writing
  bool ended = false;
  std::thread worker;
};

KeptCheckpoints::KeptCheckpoints(const std::string& prefix, KeptOptions options)
    : impl_(std::make_unique<Impl>(prefix, std::move(options))) {}
KeptCheckpoints::~KeptCheckpoints() {
  if (impl_->process == getpid()) return;
  [[maybe_unused]] const Impl* const left = impl_.release();  // freed when the process ends
}

const std::string& KeptCheckpoints::folder() const { return impl_->folder; }
double KeptCheckpoints::now() const { return impl_->now(); }

void KeptCheckpoints::expect_can_write(int64_t step) const {
  // A fork has this object but not its writing thread, for which it would wait forever.
  if (impl_->process != getpid()) {
    failf(Code::kFailedPrecondition, "{}: expected the process that made it, got a fork of it", impl_->options.who);
  }
  if (step < 0) invalid("{}: expected a step >= 0, got {}", impl_->options.who, step);
}

std::string KeptCheckpoints::write_now(int64_t step, std::vector<CheckpointPart> values) {
  expect_can_write(step);
  Job job{std::move(values), impl_->name_of(step)};
  {
    std::unique_lock lock(impl_->mutex);
    impl_->changed.wait(lock, [this] { return !impl_->busy && impl_->waiting.empty(); });
    impl_->busy = true;
  }
  impl_->write(job);
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->busy = false;
    impl_->changed.notify_all();
  }
  return PendingSave(job.result).get();
}

PendingSave KeptCheckpoints::write_later(int64_t step, std::vector<CheckpointPart> values) {
  expect_can_write(step);
  Job job{std::move(values), impl_->name_of(step)};
  PendingSave pending(job.result);
  std::unique_lock lock(impl_->mutex);
  impl_->changed.wait(lock, [this] { return impl_->waiting.empty(); });
  if (!impl_->worker.joinable())
    impl_->worker = start_thread(impl_->options.who, [impl = impl_.get()] { impl->work(); });
  impl_->waiting.push_back(std::move(job));
  impl_->changed.notify_all();
  return pending;
}

std::vector<std::string> KeptCheckpoints::checkpoints() const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<std::string> prefixes;
  for (const Impl::Kept& k : impl_->kept) prefixes.push_back(impl_->start + k.name);
  return prefixes;
}

}  // namespace panto
