#include "panto/trace/trace_lock.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace panto {

struct TraceLock::Waiting {
  std::thread::id thread;
  const TraceLock* wanted;
};

// One mutex and one condition variable serve all functions, as tracing is rare. The mutex is never held while tracing.
struct TraceLock::Process {
  std::mutex mutex;
  std::condition_variable unlocked;
  std::vector<Waiting> waiting;
};

TraceLock::Process& TraceLock::process() {
  static auto* process = new Process;  // leaked on purpose
  return *process;
}

// Whether the owner of this lock waits, possibly through other locks and owners, for a lock that this thread holds.
bool TraceLock::waits_for_this_thread(const Process& process) const {
  const TraceLock* lock = this;
  for (;;) {
    if (lock->owner_ == std::this_thread::get_id()) return true;
    const auto next = std::ranges::find(process.waiting, lock->owner_, &Waiting::thread);
    if (next == process.waiting.end()) return false;
    lock = next->wanted;
  }
}

void TraceLock::lock() {
  Process& all = process();
  const std::thread::id self = std::this_thread::get_id();
  std::unique_lock lock(all.mutex);
  while (depth_ > 0 && owner_ != self) {
    if (waits_for_this_thread(all)) return;
    all.waiting.push_back({self, this});
    all.unlocked.wait(lock);
    std::erase_if(all.waiting, [&](const Waiting& w) { return w.thread == self; });
  }
  owner_ = self;
  ++depth_;
}

void TraceLock::unlock() {
  Process& all = process();
  const std::lock_guard lock(all.mutex);
  if (owner_ != std::this_thread::get_id()) return;  // this thread went ahead without the lock
  if (--depth_ > 0) return;
  owner_ = {};
  all.unlocked.notify_all();
}

}  // namespace panto
