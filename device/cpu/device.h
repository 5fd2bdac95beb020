// The CPU as a device. Several CPU devices (set_cpu_device_count) share the hardware and the cache of free blocks, yet
// count the memory in use each for itself.
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
  // Counts so many bytes as in use and gives what is in use then; 0, with nothing counted, beyond the limit.
  int64_t count(int64_t bytes) noexcept;

  std::atomic<int64_t> in_use_{0};
  std::atomic<int64_t> peak_{0};
  std::atomic<int64_t> limit_;
};

// For tests, and for those who share a machine: an allocation on cpu_device() that would make more than `bytes` be in
// use is ResourceExhausted. 0: what the machine has, as at first. Throws InvalidArgument for less.
PANTO_EXPORT void set_memory_limit(int64_t bytes);

}  // namespace panto::cpu
