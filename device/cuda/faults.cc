#include "panto/device/cuda/faults.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "panto/device/cuda/device.h"

namespace panto::cuda {

// A thread's words by GPU; released when the thread ends.
struct OwnWords {
  std::vector<std::pair<FaultWords*, int>> words;
  ~OwnWords() {
    for (const auto& [gpu, word] : words) gpu->leave(word);
  }
};

namespace {
thread_local OwnWords own_words;
}  // namespace

uint64_t this_user() noexcept {
  static std::atomic<uint64_t> last{0};
  thread_local const uint64_t number = ++last;
  return number;
}

void FaultWords::allocate() {
  constexpr size_t kBytes = kWords * sizeof(Fault);
  Fault* host = nullptr;
  Fault* device = nullptr;
  check(cudaHostAlloc(reinterpret_cast<void**>(&host), kBytes, cudaHostAllocMapped), "host memory");
  std::fill_n(host, kWords, Fault::kNone);
  const cudaError_t mapped = cudaHostGetDevicePointer(reinterpret_cast<void**>(&device), host, 0);
  if (mapped != cudaSuccess) static_cast<void>(cudaFreeHost(host));
  check(mapped, "host memory");
  const std::lock_guard lock(mutex_);
  host_ = host;
  device_ = device;
  for (int word = kWords - 1; word > kShared; --word) free_.push_back(word);
  ended_.reserve(kWords);  // so that `leave` cannot fail
}

int FaultWords::own_word() {
  for (const auto& [gpu, word] : own_words.words) {
    if (gpu == this) return word;
  }
  own_words.words.reserve(own_words.words.size() + 1);
  const std::lock_guard lock(mutex_);
  int word = kShared;
  if (!free_.empty()) {
    word = free_.back();
    free_.pop_back();
    users_[static_cast<size_t>(word)] = this_user();
  }
  own_words.words.emplace_back(this, word);
  return word;
}

void FaultWords::leave(int word) noexcept {
  if (word == kShared) return;
  const std::lock_guard lock(mutex_);
  users_[static_cast<size_t>(word)] = 0;
  ended_.push_back(word);
}

std::vector<int> FaultWords::ended() {
  const std::lock_guard lock(mutex_);
  std::vector<int> words = ended_;
  ended_.clear();
  return words;
}

Fault FaultWords::take_word(int word) noexcept {
  return static_cast<Fault>(
      __atomic_exchange_n(reinterpret_cast<uint32_t*>(host_ + word), uint32_t{0}, __ATOMIC_RELAXED));
}

Fault FaultWords::take(const std::vector<int>& ended) {
  Fault found = take_word(own_word());
  const auto look = [&](int word) {
    const Fault fault = take_word(word);
    if (found == Fault::kNone) found = fault;
  };
  look(kShared);
  for (int word : ended) look(word);
  const std::lock_guard lock(mutex_);
  free_.insert(free_.end(), ended.begin(), ended.end());
  return found;
}

Fault FaultWords::take_of(uint64_t user) {
  int word = kShared;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(users_, user);
    if (user == 0 || found == users_.end()) return Fault::kNone;
    word = static_cast<int>(found - users_.begin());
  }
  return take_word(word);
}

}  // namespace panto::cuda
