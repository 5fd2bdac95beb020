// A few objects that nobody uses at the moment, for whoever needs one next: what a call needs while it runs, kept for
// the next one without a lock. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <utility>

namespace panto {

template <class T>
class ObjectPool {
 public:
  ObjectPool() = default;
  ObjectPool(const ObjectPool&) = delete;
  ObjectPool& operator=(const ObjectPool&) = delete;
  ~ObjectPool() {
    for (auto& slot : slots_) delete slot.load(std::memory_order_acquire);
  }

  // The one put here last of those that `fits` accepts; null if there is none (or others are just using it).
  template <class Fits>
  std::unique_ptr<T> take(const Fits& fits) {
    for (size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].load(std::memory_order_relaxed) == nullptr) continue;
      std::unique_ptr<T> found(slots_[i].exchange(nullptr, std::memory_order_acquire));
      if (found == nullptr) continue;
      if (fits(std::as_const(*found))) return found;
      put(std::move(found), i);
    }
    return nullptr;
  }
  // Where all places are taken the oldest goes.
  void put(std::unique_ptr<T> spare) { put(std::move(spare), 0); }

 private:
  void put(std::unique_ptr<T> spare, size_t first) {
    for (size_t i = first; i < slots_.size() && spare != nullptr; ++i) {
      spare.reset(slots_[i].exchange(spare.release(), std::memory_order_acq_rel));
    }
  }

  std::array<std::atomic<T*>, 4> slots_{};
};

}  // namespace panto
