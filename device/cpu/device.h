// The CPU as a device. Several CPU devices (set_cpu_device_count) share the hardware and the cache of free blocks, but
// each counts its own memory in use.
#pragma once

#include <atomic>

#include "panto/lib/core/tensor/device.h"

namespace panto::cpu {

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(int index);

  std::string description() const override;
  bool host_memory() const noexcept override { return true; }
  void* allocate(size_t bytes) override;
  void deallocate(void* data, size_t bytes) noexcept override;
  void copy_to_host(void* host, const void* data, size_t bytes) override;
  void copy_from_host(void* data, const void* host, size_t bytes) override;
  void copy_within(void* to, const void* from, size_t bytes) override;
  MemoryStats memory_stats() const override;
  void set_cache_limit(int64_t bytes) override;
  void trim() noexcept override;
  void set_memory_limit(int64_t bytes);

 private:
  // Adds `bytes` to the memory in use and returns the new total; returns 0 and adds nothing if that would exceed the
  // limit.
  int64_t count(int64_t bytes) noexcept;

  std::atomic<int64_t> in_use_{0};
  std::atomic<int64_t> peak_{0};
  std::atomic<int64_t> limit_;
};

// Limits the memory of cpu_device(): an allocation that would exceed `bytes` in use throws ResourceExhausted. 0
// restores the default, the machine's memory. Throws InvalidArgument for negative numbers. For tests, and for shared
// machines.
PANTO_EXPORT void set_memory_limit(int64_t bytes);

}  // namespace panto::cpu
