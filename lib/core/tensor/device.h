// What a device is to the rest of the library: an allocator, a stream of work and copies to and from host memory.
//
// Back-ends (device/cpu, device/cuda, a user's own: docs/add-a-device.md) implement `Device` and enter their devices
// with `add_device`; nothing in lib may assume that a tensor's bytes can be read by the host: ask `host_memory()`.
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

// Work that a device kept instead of doing it (Device::capture).
class PANTO_EXPORT CapturedWork {
 public:
  CapturedWork() = default;
  CapturedWork(const CapturedWork&) = delete;
  CapturedWork& operator=(const CapturedWork&) = delete;
  virtual ~CapturedWork() = default;
  // Asks for all of it, any number of times; as other work it comes after what was asked for before.
  virtual void launch() = 0;
};

// A point in the work of a device (Device::record_event).
class PANTO_EXPORT DeviceEvent {
 public:
  DeviceEvent() = default;
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;
  virtual ~DeviceEvent() = default;
  // Whether all work that was asked for before it is done.
  virtual bool is_done() const = 0;
  // Returns when it is.
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
  // Copies are ordered after the device's earlier work; copy_to_host has finished when it returns.
  virtual void copy_to_host(void* host, const void* data, size_t bytes) = 0;
  virtual void copy_from_host(void* data, const void* host, size_t bytes) = 0;
  virtual void copy_within(void* to, const void* from, size_t bytes) = 0;
  // From the memory of another device to this one's: ordered after the earlier work of both, before the later work of
  // both. A back-end that can reach its other devices copies directly and does not wait; otherwise, as here, the copy
  // goes through host memory and is done when this returns.
  virtual void copy_from_device(void* to, Device& source, const void* from, size_t bytes);
  // Whether it does work. A GPU tries it with a kernel when it is first asked, and says in the log what went wrong.
  virtual bool works() noexcept { return true; }
  // The back-end's stream handle (cudaStream_t), null where work is done when a call returns.
  virtual void* stream() noexcept { return nullptr; }
  // A point after all work that this thread has asked for. Null where work is done when a call returns.
  virtual std::shared_ptr<DeviceEvent> record_event();  // null
  // Work that is asked for from now on begins after the event, which may be another device's. Waits on the host where
  // the device cannot, as here.
  virtual void wait_for(DeviceEvent& event) { event.wait(); }
  // Waits for all work; throws what a kernel reported since (decision 3: faults found on the device).
  virtual void synchronize() {}
  // Whether `capture` may give something.
  virtual bool captures() const noexcept { return false; }
  // Calls work(). What it asks this device for, on this thread, is kept instead of done, with all addresses and numbers
  // as they are now; memory that work() allocates and gives back stays with it. Null where it cannot be kept, because
  // it waits for results or copies from the host: then work() may have ended early. Throws what work() throws.
  virtual std::unique_ptr<CapturedWork> capture(const Callable<void()>& work);
  // Whether this thread's work is being captured.
  virtual bool capturing() const noexcept { return false; }
  virtual MemoryStats memory_stats() const { return {}; }
  // Freed blocks are kept and used again. From now on at most so many bytes of them; 0: none. A CPU begins with 1 GiB.
  // Throws InvalidArgument for less than 0, Unimplemented where the back-end has no such limit.
  virtual void set_cache_limit(int64_t bytes);
  // Gives the blocks that are kept back to the system.
  virtual void trim() noexcept {}

 private:
  DeviceKind kind_;
  int index_;
  std::string name_;
};

// A device name as TensorFlow writes it, full or partial: "/job:localhost/replica:0/task:0/device:GPU:0", "/gpu:1",
// "/device:CPU:*", "cpu:0", "". What is absent matches everything.
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
  // This spec, with what it leaves open taken from `outer` (an inner device scope refines an outer one).
  DeviceSpec refined_from(const DeviceSpec& outer) const;
};

// All devices, META not among them: CPUs first. Starts the back-ends that wait for the first call (BackendStarter).
PANTO_EXPORT std::vector<Device*> devices();
// What back-ends that have no devices here say of it, for `panto devices`: "no GPU: there is no NVIDIA driver".
PANTO_EXPORT std::vector<std::string> missing_devices();
// The first device that matches; where the name leaves the type open, of the kind with the highest priority that has
// one that works. Throws NotFound, listing what there is.
PANTO_EXPORT Device& find_device(std::string_view name);
PANTO_EXPORT Device& cpu_device();
PANTO_EXPORT Device& meta_device();
// False as long as all devices that were entered are CPUs: then nobody need ask where a tensor is.
PANTO_EXPORT bool has_accelerators() noexcept;
// For back-ends. The registry keeps the device for ever.
PANTO_EXPORT void add_device(Device* device);
// Makes the process have `count` CPU devices that share the hardware: placement can be tried out without several
// machines. Devices are only ever added. Throws InvalidArgument unless 1 <= count <= 64.
PANTO_EXPORT void set_cpu_device_count(int count);
// How a back-end says that it can make CPU devices (device/cpu does, at load time; must not throw).
PANTO_EXPORT void set_cpu_device_factory(Device* (*make)(int index)) noexcept;
// How a back-end that is opened only when somebody asks for devices says so (device/cuda does). `start` enters the
// kind's devices with add_device, and gives why there is none, where there is none; it must not throw. Keep the object
// at namespace scope.
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
  // As if no scope, and no device function (lib/graph/device_function.h), were around it: tf.device(None).
  explicit DeviceScope(std::nullptr_t);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  struct Impl;
  Impl* impl_;
};

}  // namespace panto
