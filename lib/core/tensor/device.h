// Device: an allocator, a stream of work, and copies to and from host memory.
//
// Back-ends (device/cpu, device/cuda, or a user's own: docs/add-a-device.md) implement `Device` and register their
// devices with `add_device`. Code in lib must not assume that the host can read a tensor's bytes: ask `host_memory()`.
// Thread-safety: all functions may be called from several threads at once. Devices are never destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/device_kind.h"

namespace panto {

struct MemoryStats {
  int64_t bytes_in_use = 0;
  int64_t peak_bytes = 0;
  int64_t bytes_reserved = 0;  // held by the allocator, free blocks included
  int64_t bytes_limit = 0;     // 0: none
};

// Work that a device recorded instead of running it (Device::capture).
class PANTO_EXPORT CapturedWork {
 public:
  CapturedWork() = default;
  CapturedWork(const CapturedWork&) = delete;
  CapturedWork& operator=(const CapturedWork&) = delete;
  virtual ~CapturedWork() = default;
  // Enqueues all of the captured work, in order after earlier work. May be called repeatedly.
  virtual void launch() = 0;
};

// A point in the work of a device (Device::record_event).
class PANTO_EXPORT DeviceEvent {
 public:
  DeviceEvent() = default;
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;
  virtual ~DeviceEvent() = default;
  // True if all work enqueued before the event is done.
  virtual bool is_done() const = 0;
  // Waits until it is done.
  virtual void wait() = 0;
};

class PANTO_EXPORT Device {
 public:
  // Throws NotFound for kUnknown.
  Device(DeviceKind kind, int index);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  DeviceKind kind() const noexcept { return kind_; }
  int index() const noexcept { return index_; }
  // "/device:CPU:0".
  const std::string& name() const noexcept { return name_; }
  bool is_meta() const noexcept { return kind_ == DeviceKind::kMeta; }

  // One line about the hardware, for `panto devices`.
  virtual std::string description() const = 0;
  // True if the host can read and write this device's memory.
  virtual bool host_memory() const noexcept = 0;
  // `bytes` > 0, aligned to at least 64. Throws ResourceExhausted.
  virtual void* allocate(size_t bytes) = 0;
  virtual void deallocate(void* data, size_t bytes) noexcept = 0;
  // Copies run after the device's earlier work. copy_to_host returns when the copy is done.
  virtual void copy_to_host(void* host, const void* data, size_t bytes) = 0;
  virtual void copy_from_host(void* data, const void* host, size_t bytes) = 0;
  virtual void copy_within(void* to, const void* from, size_t bytes) = 0;
  // Copies from another device's memory to this one's, after the earlier work and before the later work of both. A
  // back-end that can reach its other devices copies directly and does not wait. This default goes through host memory
  // and returns when the copy is done.
  virtual void copy_from_device(void* to, Device& source, const void* from, size_t bytes);
  // True if the device can run work. A GPU tries it with a kernel when first asked, and logs what failed.
  virtual bool works() noexcept { return true; }
  // The back-end's stream handle (cudaStream_t); null if work is done when a call returns.
  virtual void* stream() noexcept { return nullptr; }
  // An event after all work that this thread has enqueued. Null if work is done when a call returns.
  virtual std::shared_ptr<DeviceEvent> record_event();  // null
  // Work enqueued from now on starts after the event, which may belong to another device. This default waits on the
  // host, for devices that cannot wait themselves.
  virtual void wait_for(DeviceEvent& event) { event.wait(); }
  // Waits for all work. Throws what kernels reported since the last call (decision 3: faults found on the device).
  virtual void synchronize() {}
  // True if `capture` may succeed.
  virtual bool captures() const noexcept { return false; }
  // Calls work(). The work that it enqueues on this device from this thread is recorded instead of run, with all
  // addresses and numbers as they are now. Memory that work() allocates and frees stays reserved for it. Returns null
  // if work() cannot be captured, because it waits for results or copies from the host: then work() may have ended
  // early. Throws what work() throws.
  virtual std::unique_ptr<CapturedWork> capture(const Callable<void()>& work);
  // True while this thread's work is being captured.
  virtual bool capturing() const noexcept { return false; }
  virtual MemoryStats memory_stats() const { return {}; }
  // Freed blocks are cached for reuse: from now on at most this many bytes; 0: none. A CPU begins with 1 GiB. Throws
  // InvalidArgument for a negative number, Unimplemented if the back-end has no such limit.
  virtual void set_cache_limit(int64_t bytes);
  // Returns the cached blocks to the system.
  virtual void trim() noexcept {}

 private:
  DeviceKind kind_;
  int index_;
  std::string name_;
};

// A device name as TensorFlow writes it, full or partial: "/job:localhost/replica:0/task:0/device:GPU:0", "/gpu:1",
// "/device:CPU:*", "cpu:0", "". Missing parts match everything.
struct PANTO_EXPORT DeviceSpec {
  std::string job;   // empty: any
  int replica = -1;  // -1: any
  int task = -1;     // -1: any
  std::string type;  // "CPU", "GPU", "META"; empty: any
  int index = -1;    // -1: any

  // Throws InvalidArgument for text that is no device name.
  static DeviceSpec parse(std::string_view text);
  bool matches(const Device& device) const noexcept;
  // Canonical text; "" if nothing is constrained.
  std::string to_string() const;
  // This spec, with its unset parts taken from `outer` (an inner device scope refines an outer one).
  DeviceSpec refined_from(const DeviceSpec& outer) const;
};

// All devices except META, CPUs first. Starts the back-ends that wait for the first call (BackendStarter).
PANTO_EXPORT std::vector<Device*> devices();
// For `panto devices`: the reasons that back-ends without devices give: "no GPU: there is no NVIDIA driver".
PANTO_EXPORT std::vector<std::string> missing_devices();
// The first device that matches. If the name has no type: of the kind with the highest priority that has a working
// device. Throws NotFound, with a list of the devices.
PANTO_EXPORT Device& find_device(std::string_view name);
PANTO_EXPORT Device& cpu_device();
PANTO_EXPORT Device& meta_device();
// False while only CPUs are registered: then code need not check where a tensor is.
PANTO_EXPORT bool has_accelerators() noexcept;
// Called by back-ends. The registry keeps the device forever.
PANTO_EXPORT void add_device(Device* device);
// Gives the process `count` CPU devices that share the hardware, to try out placement on one machine. Devices are only
// ever added. Throws InvalidArgument unless 1 <= count <= 64.
PANTO_EXPORT void set_cpu_device_count(int count);
// Called at load time by the back-end that makes CPU devices (device/cpu). Must not throw.
PANTO_EXPORT void set_cpu_device_factory(Device* (*make)(int index)) noexcept;
// Registers a back-end that is started only when a program first asks for devices (device/cuda). `start` registers the
// kind's devices with add_device; if there are none, it returns the reason. It must not throw. Keep the object at
// namespace scope.
class PANTO_EXPORT BackendStarter {
 public:
  BackendStarter(const char* kind, std::string (*start)()) noexcept;
};

// Ops without an explicit placement run on this device until the scope ends. Scopes nest; an inner one refines the
// outer one. Belongs to the thread that made it.
class PANTO_EXPORT DeviceScope {
 public:
  // Throws InvalidArgument for a malformed name. Whether such a device exists is checked when an op runs (a graph may
  // be built for a machine with other devices).
  explicit DeviceScope(std::string_view name);
  // Ignores outer device scopes and device functions (lib/graph/device_function.h), as tf.device(None) does.
  explicit DeviceScope(std::nullptr_t);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  struct Impl;
  Impl* impl_;
};

}  // namespace panto
