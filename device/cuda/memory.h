// Allocates blocks of a GPU's memory. Freed blocks are cached by size class, up to a limit.
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

// Thread-safe. Precondition of functions that may call CUDA: the device is the calling thread's current one.
class Memory {
 public:
  Memory(std::string device, int64_t limit) : device_(std::move(device)) { stats_.bytes_limit = limit; }

  // Returns a cached block; null if there is none. `user` is the calling thread's number (see user_of).
  void* reuse(size_t bytes, uint64_t user) noexcept;
  // Returns a new block. If there is no memory for the size class, releases the cached blocks to CUDA and, if
  // `exactly`, allocates exactly `bytes` bytes; such a block is not cached later. Throws ResourceExhausted.
  void* obtain(size_t bytes, uint64_t user, bool exactly);
  // Returns false if the block should not be cached; the caller must then call `free`.
  bool give_back(void* data, size_t bytes) noexcept;
  void free(void* data) noexcept;
  // Counts `bytes` more bytes in use: captured work reuses a block that it freed.
  void changed_use(int64_t bytes) noexcept;

  // Returns false if more is cached than allowed; the caller must then call `release`.
  bool set_cache_limit(size_t bytes) noexcept;
  // Returns all cached blocks to CUDA.
  void release() noexcept;
  MemoryStats stats() const;
  // Returns the user of the block that contains `data`; 0 if no block does.
  uint64_t user_of(const void* data) const noexcept;

 private:
  struct Block {
    size_t bytes = 0;
    int size_class = 0;  // kExact: no class
    uint64_t user = 0;
  };
  using Blocks = std::map<const void*, Block>;
  static constexpr int kExact = -1;

  // Precondition of all these: mutex_ is locked.
  void count(int64_t bytes) noexcept;
  void release_all() noexcept;
  void free(Blocks::iterator block) noexcept;

  std::string device_;
  mutable std::mutex mutex_;
  Blocks blocks_;  // all blocks
  struct Class {
    std::vector<Blocks::iterator> free;
    size_t blocks = 0;  // all blocks; `free` has capacity for them, so that give_back cannot fail
  };
  std::array<Class, kSizeClasses> classes_;
  size_t cached_ = 0;  // bytes of free blocks
  size_t cache_limit_ = SIZE_MAX;
  MemoryStats stats_;
};

}  // namespace panto::cuda
