// Blocks of a GPU's memory. Those that are given back are kept for reuse, by size class, up to a limit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "panto/device/shape/size_class.h"
#include "panto/lib/core/tensor/device.h"

namespace panto::cuda {

// Thread-safe. Precondition of what may ask CUDA for memory or give it back: the device is the calling thread's.
class Memory {
 public:
  Memory(std::string device, int64_t limit) : device_(std::move(device)) { stats_.bytes_limit = limit; }

  // A kept block; null: there is none. `user` is who asks (see user_of).
  void* reuse(size_t bytes, uint64_t user) noexcept;
  // A new block. Where there is no memory for one of that class the kept ones are given to CUDA, and, if `exactly`, one
  // of just so many bytes is asked for; that one is not kept. Throws ResourceExhausted.
  void* obtain(size_t bytes, uint64_t user, bool exactly);
  // False: the block is not to be kept; `free` is to be called.
  bool give_back(void* data, size_t bytes) noexcept;
  void free(void* data) noexcept;
  // A block, though given back, went from one use to another (of captured work).
  void changed_use(int64_t bytes) noexcept;

  // False: more are kept; `release` is to be called.
  bool set_cache_limit(size_t bytes) noexcept;
  // Gives all kept blocks to CUDA.
  void release() noexcept;
  MemoryStats stats() const;
  // Who asked for the block that `data` is in; 0: it is in none.
  uint64_t user_of(const void* data) const noexcept;

 private:
  struct Block {
    size_t bytes = 0;
    int size_class = 0;  // kExact: of no class
    uint64_t user = 0;
  };
  using Blocks = std::map<const void*, Block>;
  static constexpr int kExact = -1;

  // Precondition of all: locked.
  void count(int64_t bytes) noexcept;
  void release_all() noexcept;
  void free(Blocks::iterator block) noexcept;

  std::string device_;
  mutable std::mutex mutex_;
  Blocks blocks_;  // free or not
  struct Class {
    std::vector<Blocks::iterator> free;
    size_t blocks = 0;  // free or not; `free` has room for them all, so that giving one back cannot fail
  };
  std::array<Class, kSizeClasses> classes_;
  size_t cached_ = 0;  // bytes of free blocks
  size_t cache_limit_ = SIZE_MAX;
  MemoryStats stats_;
};

}  // namespace panto::cuda
