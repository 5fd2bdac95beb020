#include "panto/device/cuda/memory.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <utility>

#include "panto/device/cuda/device.h"
#include "panto/lib/base/text/format.h"

namespace panto::cuda {
namespace {

// Returns null if there is no memory. Throws for any other error.
void* cuda_memory(size_t bytes) {
  void* data = nullptr;
  const cudaError_t result = cudaMalloc(&data, bytes);
  if (result == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());  // so that the next call does not report it again
    return nullptr;
  }
  check(result, "allocating memory");
  return data;
}

}  // namespace

void Memory::count(int64_t bytes) noexcept {
  stats_.bytes_in_use += bytes;
  stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.bytes_in_use);
}

void* Memory::reuse(size_t bytes, uint64_t user) noexcept {
  const std::lock_guard lock(mutex_);
  Class& c = classes_[static_cast<size_t>(size_class(bytes).index)];
  if (c.free.empty()) return nullptr;
  const Blocks::iterator block = c.free.back();
  c.free.pop_back();
  cached_ -= block->second.bytes;
  block->second.user = user;
  count(static_cast<int64_t>(bytes));
  return const_cast<void*>(block->first);  // NOLINT(cppcoreguidelines-pro-type-const-cast): a key is const
}

void* Memory::obtain(size_t bytes, uint64_t user, bool exactly) {
  const std::lock_guard lock(mutex_);
  const SizeClass size = size_class(bytes);
  Class& c = classes_[static_cast<size_t>(size.index)];
  if (c.free.capacity() <= c.blocks) c.free.reserve(2 * c.blocks + 8);
  Block block{size.bytes, size.index, user};
  void* data = cuda_memory(size.bytes);
  if (data == nullptr) {
    release_all();
    data = cuda_memory(size.bytes);
  }
  if (data == nullptr && exactly && bytes < size.bytes) {
    block = {bytes, kExact, user};
    data = cuda_memory(bytes);
  }
  if (data == nullptr) {
    failf(Code::kResourceExhausted, "memory: expected room for {} bytes on {}, got none ({} bytes are in use)", bytes,
          device_, stats_.bytes_in_use);
  }
  try {
    blocks_.emplace(data, block);
  } catch (...) {
    static_cast<void>(cudaFree(data));
    throw;
  }
  if (block.size_class != kExact) ++c.blocks;
  stats_.bytes_reserved += static_cast<int64_t>(block.bytes);
  count(static_cast<int64_t>(bytes));
  return data;
}

bool Memory::give_back(void* data, size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  stats_.bytes_in_use -= static_cast<int64_t>(bytes);
  const auto block = blocks_.find(data);
  const Block& b = block->second;
  if (b.size_class == kExact || cached_ > cache_limit_ || b.bytes > cache_limit_ - cached_) return false;
  cached_ += b.bytes;
  classes_[static_cast<size_t>(b.size_class)].free.push_back(block);
  return true;
}

void Memory::free(void* data) noexcept {
  const std::lock_guard lock(mutex_);
  free(blocks_.find(data));
}

void Memory::changed_use(int64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  count(bytes);
}

// cudaFree waits for the work that may still use a block.
void Memory::free(Blocks::iterator block) noexcept {
  static_cast<void>(cudaFree(const_cast<void*>(block->first)));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  const Block& b = block->second;
  stats_.bytes_reserved -= static_cast<int64_t>(b.bytes);
  if (b.size_class != kExact) --classes_[static_cast<size_t>(b.size_class)].blocks;
  blocks_.erase(block);
}

void Memory::release_all() noexcept {
  for (Class& c : classes_) {
    for (const Blocks::iterator block : c.free) free(block);
    c.free.clear();
  }
  cached_ = 0;
}

void Memory::release() noexcept {
  const std::lock_guard lock(mutex_);
  release_all();
}

bool Memory::set_cache_limit(size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  cache_limit_ = bytes;
  return cached_ <= cache_limit_;
}

MemoryStats Memory::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

uint64_t Memory::user_of(const void* data) const noexcept {
  const std::lock_guard lock(mutex_);
  auto block = blocks_.upper_bound(data);
  if (block == blocks_.begin()) return 0;
  --block;
  const auto offset = static_cast<const std::byte*>(data) - static_cast<const std::byte*>(block->first);
  return static_cast<size_t>(offset) < block->second.bytes ? block->second.user : 0;
}

}  // namespace panto::cuda
