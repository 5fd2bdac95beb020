#include "panto/device/cpu/device.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <new>
#include <string_view>

#include "panto/device/shape/size_class.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/step/threads.h"

namespace panto::cpu {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kReuse = false;                // so that the sanitizer sees every allocation and deallocation
constexpr size_t kLargest = size_t{1} << 38;  // the sanitizer ends the process for larger allocations
#else
constexpr bool kReuse = true;
constexpr size_t kLargest = kLargestBlock;
#endif

// Free blocks by size class, linked through their first bytes.
class Cache {
 public:
  void* take(SizeClass c) noexcept {
    const std::lock_guard lock(mutex_);
    Block* block = free_[static_cast<size_t>(c.index)];
    if (block == nullptr) return nullptr;
    free_[static_cast<size_t>(c.index)] = block->next;
    bytes_ -= c.bytes;
    return block;
  }
  // False if the cache is full: the caller frees the block.
  bool put(SizeClass c, void* data) noexcept {
    const std::lock_guard lock(mutex_);
    if (bytes_ > limit_ || c.bytes > limit_ - bytes_) return false;
    auto& first = free_[static_cast<size_t>(c.index)];
    first = ::new (data) Block{first};
    bytes_ += c.bytes;
    return true;
  }
  void release() noexcept {
    std::array<Block*, kSizeClasses> blocks{};
    {
      const std::lock_guard lock(mutex_);
      std::swap(blocks, free_);
      bytes_ = 0;
    }
    for (Block* block : blocks) {
      while (block != nullptr) std::free(std::exchange(block, block->next));
    }
  }
  size_t bytes() const noexcept {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }
  void set_limit(size_t bytes) noexcept {
    {
      const std::lock_guard lock(mutex_);
      limit_ = bytes;
      if (bytes_ <= limit_) return;
    }
    release();
  }

 private:
  struct Block {
    Block* next;
  };
  mutable std::mutex mutex_;
  std::array<Block*, kSizeClasses> free_{};
  size_t bytes_ = 0;
  // 1 GiB is kept: reusing pages that are already faulted in needs no kernel call.
  size_t limit_ = size_t{1} << 30;
};

Cache& cache() {
  static auto* shared = new Cache;  // leaked on purpose: tensors may outlive every static object
  return *shared;
}

// Returns null if there is no memory.
void* system_memory(size_t bytes) noexcept {
  // Big blocks consist of whole huge pages: fewer page faults and fewer address translations.
  const bool big = bytes >= 2 * kHugePage;
  void* data = nullptr;
  if (posix_memalign(&data, big ? kHugePage : kAlignment, bytes) != 0) return nullptr;
#ifdef MADV_HUGEPAGE
  // Many systems give huge pages only on request. If the request fails, only speed suffers.
  if (big) static_cast<void>(madvise(data, bytes / kHugePage * kHugePage, MADV_HUGEPAGE));
#endif
  return data;
}

std::string model_name() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    // x86 writes "model name : ...", other machines another key or none.
    if (!line.starts_with("model name") && !line.starts_with("Model")) continue;
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const size_t first = line.find_first_not_of(" \t", colon + 1);
    if (first != std::string::npos) return line.substr(first);
  }
  return "CPU";
}

// The machine's memory. It is the default limit because a system that overcommits would end the process on use.
int64_t physical_memory() noexcept {
  const int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? pages * page : INT64_MAX;
}

}  // namespace

CpuDevice::CpuDevice(int index) : Device(DeviceKind::kCpu, index), limit_(physical_memory()) {}

std::string CpuDevice::description() const {
  static const auto* model = new std::string(model_name());
  const int threads = num_threads();
  return fmt::format("{}, {} {}", *model, threads, threads == 1 ? "thread" : "threads");
}

int64_t CpuDevice::count(int64_t bytes) noexcept {
  int64_t before = in_use_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_.load(std::memory_order_relaxed) - before) return 0;
  } while (!in_use_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
  return before + bytes;
}

void* CpuDevice::allocate(size_t bytes) {
  void* data = nullptr;
  const auto size = static_cast<int64_t>(std::min(bytes, kLargest));
  const int64_t now = bytes <= kLargest ? count(size) : 0;
  if (now > 0) {
    const SizeClass c = size_class(bytes);
    if (kReuse) data = cache().take(c);
    if (data == nullptr) {
      // Cached free blocks of other sizes take memory too.
      if (static_cast<int64_t>(cache().bytes()) > limit_.load(std::memory_order_relaxed) - now) trim();
      data = system_memory(kReuse ? c.bytes : bytes);
    }
    if (data == nullptr) {
      trim();
      data = system_memory(kReuse ? c.bytes : bytes);
    }
    if (data == nullptr) in_use_.fetch_sub(size, std::memory_order_relaxed);
  }
  if (data == nullptr) {
    failf(Code::kResourceExhausted, "memory: expected room for {} bytes on {}, got none ({} of {} bytes are in use)",
          bytes, name(), in_use_.load(std::memory_order_relaxed), limit_.load(std::memory_order_relaxed));
  }
  int64_t peak = peak_.load(std::memory_order_relaxed);
  while (now > peak && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
  return data;
}

void CpuDevice::deallocate(void* data, size_t bytes) noexcept {
  if (data == nullptr) return;
  in_use_.fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  if (!kReuse || !cache().put(size_class(bytes), data)) std::free(data);
}

void CpuDevice::copy_to_host(void* host, const void* data, size_t bytes) { std::memcpy(host, data, bytes); }
void CpuDevice::copy_from_host(void* data, const void* host, size_t bytes) { std::memcpy(data, host, bytes); }
void CpuDevice::copy_within(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }

MemoryStats CpuDevice::memory_stats() const {
  MemoryStats stats;
  stats.bytes_in_use = in_use_.load(std::memory_order_relaxed);
  stats.peak_bytes = peak_.load(std::memory_order_relaxed);
  stats.bytes_limit = limit_.load(std::memory_order_relaxed);
  stats.bytes_reserved = stats.bytes_in_use + static_cast<int64_t>(cache().bytes());
  return stats;
}

void CpuDevice::set_memory_limit(int64_t bytes) {
  if (bytes < 0) invalid("memory limit: expected at least 0 bytes, got {}", bytes);
  limit_.store(bytes == 0 ? physical_memory() : bytes, std::memory_order_relaxed);
}

void CpuDevice::set_cache_limit(int64_t bytes) {
  if (bytes < 0) invalid("limit of kept memory: expected at least 0 bytes, got {}", bytes);
  cache().set_limit(static_cast<size_t>(bytes));
}

void CpuDevice::trim() noexcept { cache().release(); }

void set_memory_limit(int64_t bytes) { static_cast<CpuDevice&>(cpu_device()).set_memory_limit(bytes); }

namespace {

// Registered at load time: the core calls the factory when it first needs a CPU device.
[[maybe_unused]] const bool registered = [] {
  set_cpu_device_factory([](int index) -> Device* { return new CpuDevice(index); });
  return true;
}();

}  // namespace
}  // namespace panto::cpu
