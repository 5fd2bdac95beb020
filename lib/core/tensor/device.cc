#include "panto/lib/core/tensor/device.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/call/thread_state.h"
#include "panto/lib/core/op/op.h"

namespace panto {
namespace {

constexpr int kMaxCpuDevices = 64;

struct Registry {
  std::mutex mutex;
  std::vector<Device*> devices;  // CPUs first, then by kind and index
  Device* (*make_cpu)(int index) = nullptr;
  struct Starter {
    const char* kind;
    std::string (*start)();
  };
  std::vector<Starter> starters;
};

Registry& registry() {
  static auto* shared = new Registry;  // leaked on purpose, like the devices
  return *shared;
}

std::atomic<Device*> first_cpu{nullptr};
std::atomic<bool> accelerators{false};

// Precondition: locked.
void enter(Registry& r, Device* device) {
  const auto before = [](const Device* a, const Device* b) {
    return std::pair(a->kind(), a->index()) < std::pair(b->kind(), b->index());
  };
  r.devices.insert(std::upper_bound(r.devices.begin(), r.devices.end(), device, before), device);
  if (device->kind() != DeviceKind::kCpu) accelerators.store(true, std::memory_order_release);
  if (device->kind() == DeviceKind::kCpu && device->index() == 0) first_cpu.store(device, std::memory_order_release);
}

// Precondition: locked. Makes CPU devices until there are `count`.
void make_cpus(Registry& r, int count) {
  const auto have =
      static_cast<int>(std::ranges::count_if(r.devices, [](const Device* d) { return d->kind() == DeviceKind::kCpu; }));
  if (have < count && r.make_cpu == nullptr) {
    fail(Code::kFailedPrecondition, "CPU devices: expected a back-end that makes them, got none");
  }
  for (int i = have; i < count; ++i) enter(r, r.make_cpu(i));
}

// No memory and no work: its tensors have a dtype and a shape, which may be partly unknown.
class MetaDevice final : public Device {
 public:
  MetaDevice() : Device(DeviceKind::kMeta, 0) {}
  std::string description() const override { return "shapes without values, for tracing"; }
  bool host_memory() const noexcept override { return false; }
  void* allocate(size_t) override { no_memory(); }
  void deallocate(void*, size_t) noexcept override {}
  void copy_to_host(void*, const void*, size_t) override { no_memory(); }
  void copy_from_host(void*, const void*, size_t) override { no_memory(); }
  void copy_within(void*, const void*, size_t) override { no_memory(); }

 private:
  [[noreturn]] static void no_memory() {
    fail(Code::kInternal, "memory: expected a device that has some, got /device:META:0");
  }
};

}  // namespace

Device::Device(DeviceKind kind, int index)
    : kind_(kind), index_(index), name_(fmt::format("/device:{}:{}", device_kind_name(kind), index)) {
  if (kind == DeviceKind::kUnknown) {
    fail(Code::kNotFound, "device: expected one of a kind that was entered (DeviceKindEntry), got another");
  }
}

void Device::set_cache_limit(int64_t /*bytes*/) {
  failf(Code::kUnimplemented, "limit of kept memory: expected a device that has one, got {}", name());
}

std::shared_ptr<DeviceEvent> Device::record_event() { return nullptr; }
std::unique_ptr<CapturedWork> Device::capture(const Callable<void()>& /*work*/) { return nullptr; }

void Device::copy_from_device(void* to, Device& source, const void* from, size_t bytes) {
  if (&source == this) return copy_within(to, from, bytes);
  if (host_memory()) return source.copy_to_host(to, from, bytes);
  if (source.host_memory()) return copy_from_host(to, from, bytes);
  const auto host = std::make_unique_for_overwrite<std::byte[]>(bytes);
  source.copy_to_host(host.get(), from, bytes);
  copy_from_host(to, host.get(), bytes);
}

void add_device(Device* device) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  for (const Device* known : r.devices) {
    if (known->name() == device->name()) {
      failf(Code::kAlreadyExists, "device: expected a new name, got {} a second time", device->name());
    }
  }
  enter(r, device);
}

void set_cpu_device_factory(Device* (*make)(int index)) noexcept { registry().make_cpu = make; }

void set_cpu_device_count(int count) {
  if (count < 1 || count > kMaxCpuDevices) {
    invalid("CPU devices: expected a number in [1, {}], got {}", kMaxCpuDevices, count);
  }
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  make_cpus(r, count);
}

bool has_accelerators() noexcept { return accelerators.load(std::memory_order_acquire); }

Device& cpu_device() {
  Device* device = first_cpu.load(std::memory_order_acquire);
  if (device == nullptr) [[unlikely]] {
    set_cpu_device_count(1);
    device = first_cpu.load(std::memory_order_acquire);
  }
  return *device;
}

Device& meta_device() {
  static auto* device = new MetaDevice;
  return *device;
}

BackendStarter::BackendStarter(const char* kind, std::string (*start)()) noexcept {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  r.starters.push_back({kind, start});
}

namespace {

// For each back-end: its kind, and what its start function returned, which matters only if it has no devices. Starts
// the back-ends at the first call.
const std::vector<std::pair<const char*, std::string>>& started_backends() {
  static const auto* said = [] {
    std::vector<Registry::Starter> starters;
    {
      Registry& r = registry();
      const std::lock_guard lock(r.mutex);
      starters = r.starters;
    }
    auto* all = new std::vector<std::pair<const char*, std::string>>;
    for (const Registry::Starter& s : starters) all->emplace_back(s.kind, s.start());
    return all;
  }();
  return *said;
}

}  // namespace

std::vector<Device*> devices() {
  cpu_device();
  started_backends();
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  return r.devices;
}

std::vector<std::string> missing_devices() {
  const std::vector<Device*> all = devices();
  std::vector<std::string> result;
  for (const auto& [kind, why] : started_backends()) {
    const auto of_kind = [&](const Device* d) { return device_kind_name(d->kind()) == kind; };
    if (std::ranges::none_of(all, of_kind)) result.push_back(fmt::format("no {}: {}", kind, why));
  }
  return result;
}

namespace {

// The first match among the devices of the kind with the highest priority that has a working one; null if there is
// none.
Device* look_up(const DeviceSpec& spec, const std::vector<Device*>& all) {
  if (spec.type == device_kind_name(DeviceKind::kMeta) && spec.matches(meta_device())) return &meta_device();
  Device* found = nullptr;
  for (Device* device : all) {
    if (!spec.matches(*device)) continue;
    const auto priority = [](const Device* d) { return device_kind_info(d->kind()).priority; };
    if (found == nullptr || (priority(device) > priority(found) && device->works())) found = device;
  }
  return found;
}

}  // namespace

Device& find_device(std::string_view name) {
  const std::vector<Device*> all = devices();
  Device* found = look_up(DeviceSpec::parse(name), all);
  if (found == nullptr) {
    std::string list;
    for (const Device* device : all) list.append(list.empty() ? "" : ", ").append(device->name());
    failf(Code::kNotFound, "device: expected one of {}, got \"{}\"", list, name);
  }
  return *found;
}

// ---- Scopes --------------------------------------------------------------------------------------------------------

struct DeviceScope::Impl {
  DeviceSpec spec;
  DeviceSpec in_function;
  Device* device;
  bool missing;
  const DeviceFunctionScope* function;
};

DeviceScope::DeviceScope(std::string_view name) {
  ThreadState& state = thread_state();
  const DeviceSpec written = DeviceSpec::parse(name);
  DeviceSpec spec = written.refined_from(state.device_spec);
  DeviceSpec in_function;
  if (state.device_function != nullptr) in_function = written.refined_from(state.device_in_function);
  Device* device = nullptr;
  bool missing = false;
  if (const std::string full = spec.to_string(); !full.empty()) {
    // A graph may be built for a machine with other devices: only ops that run here report a missing device, recorded
    // ones do not.
    device = look_up(spec, devices());
    missing = device == nullptr;
    // A scope that names only a job or task does not choose a device: the inputs do.
    if (spec.type.empty() && spec.index < 0) device = nullptr;
  }
  impl_ = new Impl{std::exchange(state.device_spec, std::move(spec)),
                   std::exchange(state.device_in_function, std::move(in_function)), std::exchange(state.device, device),
                   std::exchange(state.device_missing, missing), state.device_function};
}

DeviceScope::DeviceScope(std::nullptr_t) {
  ThreadState& state = thread_state();
  impl_ = new Impl{std::exchange(state.device_spec, {}), std::exchange(state.device_in_function, {}),
                   std::exchange(state.device, nullptr), std::exchange(state.device_missing, false),
                   std::exchange(state.device_function, nullptr)};
}

DeviceScope::~DeviceScope() {
  ThreadState& state = thread_state();
  state.device_spec = std::move(impl_->spec);
  state.device_in_function = std::move(impl_->in_function);
  state.device = impl_->device;
  state.device_missing = impl_->missing;
  state.device_function = impl_->function;
  delete impl_;
}

const DeviceSpec& current_device_spec() { return thread_state().device_spec; }

}  // namespace panto
