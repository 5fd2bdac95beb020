#include "panto/lib/runtime/parts/side_by_side.h"

#include <pthread.h>

#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "panto/lib/base/start_thread.h"

namespace panto {

namespace {

// Short waits do not sleep: they spin first, then yield, as the awaited thread may be queued behind this one. Sleeping
// and waking takes about 50 us; two threads that wait for each other in turn would sleep every time if they gave up
// sooner.
constexpr int kLooks = 100;
constexpr int kYields = 300;

template <class Done>
bool look_for(const Done& done) noexcept {
  for (int i = 0; i < kLooks; ++i) {
    if (done()) return true;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  for (int i = 0; i < kYields; ++i) {
    if (done()) return true;
    std::this_thread::yield();
  }
  return false;
}

// A thread that waits for work. Never destroyed, as the thread that woke it may still access it.
class Worker {
 public:
  Worker() {
    start_thread("parts of a graph side by side", [this] { serve(); }).detach();
  }
  void begin(const Callable<void(size_t)>& work, size_t index) noexcept {
    work_ = &work;
    index_ = index;
    const uint32_t turn = turn_.load(std::memory_order_relaxed) + 1;
    turn_.store(turn, std::memory_order_release);
    turn_.notify_one();
  }
  void join() noexcept {
    const uint32_t turn = turn_.load(std::memory_order_relaxed);
    wait_until(done_, turn);
  }

 private:
  static void wait_until(const std::atomic<uint32_t>& counter, uint32_t is) noexcept {
    const auto there = [&] { return counter.load(std::memory_order_acquire) == is; };
    if (look_for(there)) return;
    for (uint32_t now = counter.load(std::memory_order_acquire); now != is;
         now = counter.load(std::memory_order_acquire)) {
      counter.wait(now, std::memory_order_acquire);
    }
  }
  [[noreturn]] void serve() {
    for (uint32_t turn = 1;; ++turn) {
      wait_until(turn_, turn);
      (*work_)(index_);
      done_.store(turn, std::memory_order_release);
      done_.notify_one();
    }
  }

  std::atomic<uint32_t> turn_ = 0, done_ = 0;
  const Callable<void(size_t)>* work_ = nullptr;
  size_t index_ = 0;
};

struct Pool {
  std::mutex mutex;
  std::vector<Worker*> idle;
};

Pool*& pool() {
  static auto* shared = new Pool;
  return shared;
}

// After fork(), the child has none of the threads: start with an empty pool.
bool watch_forks() {
  return pthread_atfork(nullptr, nullptr, [] { pool() = new Pool; }) == 0;
}

std::vector<Worker*> take_workers(size_t count) {
  static const bool watched = watch_forks();
  static_cast<void>(watched);
  Pool& shared = *pool();
  std::vector<Worker*> taken;
  taken.reserve(count);
  const std::lock_guard lock(shared.mutex);
  shared.idle.reserve(shared.idle.size() + count);
  while (taken.size() < count && !shared.idle.empty()) {
    taken.push_back(shared.idle.back());
    shared.idle.pop_back();
  }
  try {
    while (taken.size() < count) taken.push_back(new Worker);
  } catch (...) {
    shared.idle.insert(shared.idle.end(), taken.begin(), taken.end());
    throw;
  }
  return taken;
}

}  // namespace

void run_side_by_side(size_t count, const Callable<void(size_t)>& work) {
  if (count == 0) return;
  const std::vector<Worker*> workers = take_workers(count - 1);
  for (size_t i = 0; i < workers.size(); ++i) workers[i]->begin(work, i + 1);
  work(0);
  for (Worker* worker : workers) worker->join();
  Pool& shared = *pool();
  const std::lock_guard lock(shared.mutex);
  shared.idle.insert(shared.idle.end(), workers.begin(), workers.end());
}

void Signals::give_up(size_t signal) noexcept {
  if (signals_[signal].load(std::memory_order_relaxed) != run_) set(signal, run_ + 1);
}

bool Signals::wait(size_t signal) noexcept {
  const std::atomic<uint32_t>& of = signals_[signal];
  uint32_t now = 0;
  const auto there = [&] {
    now = of.load(std::memory_order_acquire);
    return (now & ~uint32_t{1}) == run_;
  };
  if (!look_for(there)) {
    while (!there()) of.wait(now, std::memory_order_acquire);
  }
  return now == run_;
}

}  // namespace panto
