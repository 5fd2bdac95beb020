#include "panto/lib/core/step/threads.h"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"

namespace panto {
namespace {

constexpr int kMaxThreads = 1024;

std::atomic<int> process_count{0};  // 0: not determined yet
thread_local constinit bool has_team = false;
thread_local constinit bool lost_team = false;  // the team is gone: waiting for it would never end

void after_fork_in_child() noexcept {
  lost_team = lost_team || has_team;
  has_team = false;
}

bool watch_forks() noexcept { return pthread_atfork(nullptr, nullptr, after_fork_in_child) == 0; }

// 0 if the variable is absent or not a valid number.
int from_environment(const char* variable) noexcept {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): read once
  if (text == nullptr) return 0;
  const std::string_view value = text;
  int count = 0;
  // OMP_NUM_THREADS may be a list by nesting level: the first number counts.
  const auto [end, fault] = std::from_chars(value.data(), value.data() + value.size(), count);
  if (fault != std::errc{} || (end != value.data() + value.size() && *end != ',') || count < 1 || count > kMaxThreads) {
    return 0;
  }
  return count;
}

int processors() noexcept {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  const unsigned count = std::thread::hardware_concurrency();
  return count > 0 ? static_cast<int>(count) : 1;
}

int initial_count() noexcept {
  if (const int count = from_environment("PANTO_NUM_THREADS")) return count;
  if (const int count = from_environment("OMP_NUM_THREADS")) return count;
  const int count = processors();
  return count < kMaxThreads ? count : kMaxThreads;
}

}  // namespace

int num_threads() noexcept {
  if (lost_team) [[unlikely]]
    return 1;
  if (const int share = current_step().threads; share > 0) return share;
  int count = process_count.load(std::memory_order_relaxed);
  if (count == 0) [[unlikely]] {
    count = initial_count();
    int none = 0;
    if (!process_count.compare_exchange_strong(none, count, std::memory_order_relaxed)) count = none;
  }
  return count;
}

void set_num_threads(int count) {
  if (count < 1 || count > kMaxThreads) invalid("threads: expected a number in [1, {}], got {}", kMaxThreads, count);
  process_count.store(count, std::memory_order_relaxed);
}

void note_team() noexcept {
  static const bool watched = watch_forks();
  static_cast<void>(watched);
  has_team = true;
}

namespace {
Step step_with_threads(int count) noexcept {
  Step step = current_step();
  step.threads = count < 1 ? 1 : count;
  return step;
}
}  // namespace

ThreadShare::ThreadShare(int count) noexcept : step_(step_with_threads(count)), scope_(step_) {}

}  // namespace panto
