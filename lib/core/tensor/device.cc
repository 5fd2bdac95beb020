#include "panto/lib/core/tensor/device.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "panto/lib/base/format.h"
#include "panto/lib/base/log.h"
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

// The folder that libpanto was loaded from.
std::string library_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&library_folder), &info) == 0 || info.dli_fname == nullptr) return ".";
  const std::string_view file = info.dli_fname;
  const size_t slash = file.rfind('/');
  return std::string(slash == std::string_view::npos ? "." : file.substr(0, slash));
}

// Where a driver can be seen: on Linux, in WSL2, on Jetson boards.
bool has_gpu_driver() {
  const auto exists = [](const char* path) { return access(path, F_OK) == 0; };
  return exists("/dev/nvidiactl") || exists("/proc/driver/nvidia") || exists("/dev/nvhost-ctrl-gpu") ||
         (exists("/dev/dxg") && exists("/usr/lib/wsl/lib/libcuda.so.1"));
}

// The CUDA back-end's library: installed, beside libpanto; in a build folder, where Meson puts it. Empty: there is
// none.
std::string cuda_library() {
  const std::string folder = library_folder();
  for (std::string path : {folder + "/libpanto_cuda.so", folder + "/device/cuda/libpanto_cuda.so"}) {
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return "";
}

// Opens the CUDA back-end: its static initializers queue kernels, `panto_start_backend` adds devices. Why there are
// none: what the user did not ask for is logged, too.
std::string open_cuda() {
  const char* wanted = std::getenv("PANTO_CUDA");  // NOLINT(concurrency-mt-unsafe): read once
  if (wanted != nullptr && std::string_view(wanted) == "off") return "PANTO_CUDA=off";
  if (!has_gpu_driver()) return "there is no NVIDIA driver";
  const std::string path = cuda_library();
  if (path.empty()) return "libpanto_cuda.so is not beside libpanto, which was built without CUDA";
  std::string what;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* said = dlerror();  // NOLINT(concurrency-mt-unsafe): of this thread
    what = said == nullptr ? "opening " + path + " failed" : said;
  } else {
    try {
      link_ops();
      if (void* start = dlsym(library, "panto_start_backend")) reinterpret_cast<void (*)()>(start)();
      return "the NVIDIA driver has none that can be used";
    } catch (const std::exception& error) {
      what = error.what();
    }
  }
  log_warn(fmt::format("GPU devices are not available: {}", what));
  return what;
}

// No memory and no work: tensors on it have a dtype and a shape that may be partly unknown.
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

std::string_view device_kind_name(DeviceKind kind) noexcept {
  switch (kind) {
    case DeviceKind::kCpu: return "CPU";
    case DeviceKind::kCuda: return "GPU";
    case DeviceKind::kMeta: return "META";
  }
  return "?";
}

Device::Device(DeviceKind kind, int index)
    : kind_(kind), index_(index), name_(fmt::format("/device:{}:{}", device_kind_name(kind), index)) {}

void Device::set_cache_limit(int64_t /*bytes*/) {
  failf(Code::kUnimplemented, "limit of kept memory: expected a device that has one, got {}", name());
}

std::unique_ptr<CapturedWork> Device::capture(const Callable<void()>& /*work*/) { return nullptr; }

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

namespace {

// What open_cuda() said.
const std::string& opened_cuda() {
  static const auto* said = new std::string(open_cuda());
  return *said;
}

}  // namespace

std::vector<Device*> devices() {
  cpu_device();
  opened_cuda();
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  return r.devices;
}

std::string why_no_gpu() {
  for (const Device* device : devices()) {
    if (device->kind() == DeviceKind::kCuda) return "";
  }
  return opened_cuda();
}

namespace {

// The first that matches, a GPU that works before a CPU; null if there is none.
Device* look_up(const DeviceSpec& spec, const std::vector<Device*>& all) {
  if (spec.type == device_kind_name(DeviceKind::kMeta) && spec.matches(meta_device())) return &meta_device();
  Device* found = nullptr;
  for (Device* device : all) {
    if (!spec.matches(*device)) continue;
    const bool preferred = found != nullptr && found->kind() == DeviceKind::kCpu && device->kind() != DeviceKind::kCpu;
    if (found == nullptr || (preferred && device->works())) found = device;
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
  Device* device;
  bool missing;
};

DeviceScope::DeviceScope(std::string_view name) {
  ThreadState& state = thread_state();
  DeviceSpec spec = DeviceSpec::parse(name).refined_from(state.device_spec);
  Device* device = nullptr;
  bool missing = false;
  if (const std::string full = spec.to_string(); !full.empty()) {
    // A graph may be built for a machine with other devices: ops that run here say so, ops that are recorded do not
    // care.
    device = look_up(spec, devices());
    missing = device == nullptr;
    // A scope that names only a job or task leaves the choice of its device to the inputs.
    if (spec.type.empty() && spec.index < 0) device = nullptr;
  }
  impl_ = new Impl{std::exchange(state.device_spec, std::move(spec)), std::exchange(state.device, device),
                   std::exchange(state.device_missing, missing)};
}

DeviceScope::~DeviceScope() {
  ThreadState& state = thread_state();
  state.device_spec = std::move(impl_->spec);
  state.device = impl_->device;
  state.device_missing = impl_->missing;
  delete impl_;
}

const DeviceSpec& current_device_spec() { return thread_state().device_spec; }

}  // namespace panto
