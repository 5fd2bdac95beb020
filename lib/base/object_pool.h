// Up to four idle objects that calls reuse without a lock, such as a call's scratch state. Thread-safe.
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

  // Takes the most recently returned object that `fits` accepts. Null if there is none, or if other threads hold them
  // at the moment.
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
  // If all slots are taken, the oldest object is deleted.
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
