#include "panto/device/cuda/device.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "panto/device/cuda/capture.h"
#include "panto/device/cuda/event.h"
#include "panto/device/cuda/kernel.h"
#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"

namespace panto::cuda {

void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) [[likely]]
    return;
  static_cast<void>(cudaGetLastError());  // so that the next call does not report it again
  failf(result == cudaErrorMemoryAllocation ? Code::kResourceExhausted : Code::kInternal,
        "{}: expected CUDA to do it, got '{}'", what, cudaGetErrorString(result));
}

DeviceUse::Current::Current(int device) {
  int now = -1;
  check(cudaGetDevice(&now), "asking for the device");
  if (now == device) return;
  check(cudaSetDevice(device), "choosing a device");
  before_ = now;
}

DeviceUse::Current::~Current() {
  if (before_ >= 0) static_cast<void>(cudaSetDevice(before_));
}

DeviceUse::DeviceUse(CudaDevice& device) : current_(device.index()) {
  device.start();
  const Capture* capture = Capture::on(device);
  stream_ = capture == nullptr ? device.stream_ : capture->stream();
}

namespace {

cudaDeviceProp properties_of(int index) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "device properties");
  return properties;
}

}  // namespace

CudaDevice::CudaDevice(int index) : CudaDevice(index, properties_of(index)) {}

CudaDevice::CudaDevice(int index, const cudaDeviceProp& properties)
    : Device(gpu_kind(), index),
      multiprocessors_(properties.multiProcessorCount),
      architecture_(10 * properties.major + properties.minor),
      memory_(name(), static_cast<int64_t>(properties.totalGlobalMem)) {
  if (architecture_ < PANTO_OLDEST_GPU) {
    failf(Code::kUnimplemented, "{}: expected a compute capability of {}.{} or more, got {}.{}", properties.name,
          PANTO_OLDEST_GPU / 10, PANTO_OLDEST_GPU % 10, properties.major, properties.minor);
  }
  const char* graphs = std::getenv("PANTO_CUDA_GRAPHS");  // NOLINT(concurrency-mt-unsafe): read once
  captures_ = graphs == nullptr || std::string_view(graphs) != "0";
  description_ = fmt::format("{}, {} GiB, compute capability {}.{}", properties.name,
                             (properties.totalGlobalMem + (size_t{1} << 29)) >> 30, properties.major, properties.minor);
}

void CudaDevice::start() {
  if (started_.load(std::memory_order_acquire)) [[likely]]
    return;
  const std::lock_guard lock(start_mutex_);
  if (started_.load(std::memory_order_relaxed)) return;
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
  try {
    faults_.allocate();
  } catch (...) {
    static_cast<void>(cudaStreamDestroy(stream));
    throw;
  }
  stream_ = stream;
  started_.store(true, std::memory_order_release);
}

// Runs the kernel that moves a fault from one word to another, to see whether kernels run.
void CudaDevice::probe() {
  constexpr std::array<Fault, 2> kBefore = {Fault::kIndexOutOfRange, Fault::kNone};
  const DeviceUse stream = use();
  std::array<Fault, 2> words = kBefore;
  auto* const data = static_cast<Fault*>(allocate_uncaptured(sizeof(words)));
  const std::unique_ptr<Fault, std::function<void(Fault*)>> owner(data,
                                                                  [this](Fault* p) { deallocate(p, sizeof(words)); });
  check(cudaMemcpyAsync(data, words.data(), sizeof(words), cudaMemcpyHostToDevice, stream), "copying to the device");
  pass_on(data, data + 1, stream);
  check(cudaMemcpyAsync(words.data(), data, sizeof(words), cudaMemcpyDeviceToHost, stream), "copying from the device");
  check(cudaStreamSynchronize(stream), "running a kernel");
  if (words[0] != kBefore[1] || words[1] != kBefore[0]) {
    fail(Code::kInternal, "running a kernel: expected it to move a word, got another");
  }
}

bool CudaDevice::works() noexcept {
  std::call_once(probed_, [this] {
    try {
      probe();
      works_ = true;
    } catch (const std::exception& error) {
      log_warn(fmt::format("{} is used only where it is asked for by name: {}", name(), error.what()));
    }
  });
  return works_;
}

void* CudaDevice::stream() noexcept {
  try {
    static_cast<void>(use());
  } catch (const std::exception&) {
    return nullptr;
  }
  return stream_;
}

Fault* CudaDevice::fault() {
  const DeviceUse in_use(*this);  // a thread's first word is memory that is asked for
  Capture* capture = Capture::on(*this);
  return capture == nullptr ? faults_.own() : capture->fault();
}

void* CudaDevice::allocate(size_t bytes) {
  Capture* capture = Capture::on(*this);
  if (capture == nullptr || bytes > kLargestBlock) return allocate_uncaptured(bytes);
  if (Capture::Block* block = capture->take(size_class(bytes).index)) {
    memory_.changed_use(static_cast<int64_t>(bytes) - static_cast<int64_t>(block->bytes));
    block->bytes = bytes;
    return block->data;
  }
  capture->reserve();
  void* data = memory_.reuse(bytes, this_user());
  if (data == nullptr) {
    const DeviceUse here = use();
    // Allocates the full size of its class, so that another tensor of the class can reuse the block.
    data = memory_.obtain(bytes, this_user(), /*exactly=*/false);
  }
  capture->allocated(data, bytes);
  return data;
}

void* CudaDevice::allocate_uncaptured(size_t bytes) {
  if (bytes > kLargestBlock) {
    failf(Code::kResourceExhausted, "memory: expected room for {} bytes on {}, got none", bytes, name());
  }
  if (void* data = memory_.reuse(bytes, this_user())) return data;
  const DeviceUse here = use();
  return memory_.obtain(bytes, this_user(), /*exactly=*/true);
}

void CudaDevice::deallocate(void* data, size_t bytes) noexcept {
  if (data == nullptr) return;
  if (Capture* capture = Capture::on(*this); capture != nullptr && capture->give_back(data)) return;
  if (memory_.give_back(data, bytes)) return;
  try {
    const DeviceUse here = use();
    memory_.free(data);
  } catch (const std::exception&) {  // the driver refuses everything, and the error cannot be reported
    return;
  }
}

void CudaDevice::set_cache_limit(int64_t bytes) {
  if (bytes < 0) invalid("limit of kept memory: expected at least 0 bytes, got {}", bytes);
  if (!memory_.set_cache_limit(static_cast<size_t>(bytes))) trim();
}

void CudaDevice::trim() noexcept {
  if (!started_.load(std::memory_order_acquire)) return;
  try {
    const DeviceUse here = use();
    memory_.release();
  } catch (const std::exception&) {  // as above
    return;
  }
}

void CudaDevice::copy_to_host(void* host, const void* data, size_t bytes) {
  if (Capture* capture = Capture::on(*this)) capture->refuse("copying from the device");
  const DeviceUse stream = use();
  check(cudaMemcpyAsync(host, data, bytes, cudaMemcpyDeviceToHost, stream), "copying from the device");
  wait(data);
}

void CudaDevice::copy_from_host(void* data, const void* host, size_t bytes) {
  if (Capture* capture = Capture::on(*this)) capture->refuse("copying to the device");
  const DeviceUse stream = use();
  check(cudaMemcpyAsync(data, host, bytes, cudaMemcpyHostToDevice, stream), "copying to the device");
  // The caller may free or change `host` as soon as this returns, also if it is page-locked.
  check(cudaStreamSynchronize(stream), "copying to the device");
}

void CudaDevice::copy_within(void* to, const void* from, size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, use()), "copying on the device");
}

void CudaDevice::copy_from_device(void* to, Device& source, const void* from, size_t bytes) {
  auto* const other = dynamic_cast<CudaDevice*>(&source);
  if (other == nullptr || other == this) return Device::copy_from_device(to, source, from, bytes);
  if (Capture* capture = Capture::on(*this)) capture->refuse("copying between devices");
  if (Capture* capture = Capture::on(*other)) capture->refuse("copying between devices");
  wait_for(*other->record_event());
  check(cudaMemcpyPeerAsync(to, index(), from, other->index(), bytes, use()), "copying between devices");
  {
    const std::lock_guard lock(sources_mutex_);
    const std::pair<uint64_t, CudaDevice*> source_of_thread(this_user(), other);
    if (std::ranges::find(sources_, source_of_thread) == sources_.end()) sources_.push_back(source_of_thread);
  }
  // The source may reuse the memory before the copy has run, so later work on it must wait for the copy.
  other->wait_for(*record_event());
}

std::shared_ptr<DeviceEvent> CudaDevice::record_event() {
  if (Capture* capture = Capture::on(*this)) capture->refuse("recording an event");
  return std::make_shared<CudaEvent>(use());
}

void CudaDevice::wait_for(DeviceEvent& event) {
  if (Capture* capture = Capture::on(*this)) capture->refuse("waiting for an event");
  auto* const of_cuda = dynamic_cast<CudaEvent*>(&event);
  if (of_cuda == nullptr) return event.wait();
  check(cudaStreamWaitEvent(use(), of_cuda->get(), 0), "waiting for an event");
}

std::unique_ptr<CapturedWork> CudaDevice::capture(const Callable<void()>& work) {
  Capture capture(*this);
  try {
    work();
  } catch (const Error&) {
    if (capture.valid()) throw;
    return nullptr;
  }
  return capture.end();
}

bool CudaDevice::capturing() const noexcept { return Capture::on(*this) != nullptr; }

void CudaDevice::synchronize() {
  if (Capture* capture = Capture::on(*this)) capture->refuse("waiting for the device");
  wait(nullptr);
}

void CudaDevice::wait(const void* data) {
  const DeviceUse stream = use();
  const std::vector<int> ended = faults_.ended();
  check(cudaStreamSynchronize(stream), "waiting for the device");
  Fault fault = faults_.take(ended);
  if (fault == Fault::kNone) fault = take_from_sources(this_user());
  if (fault == Fault::kNone && data != nullptr) {
    const uint64_t maker = memory_.user_of(data);
    if (maker != this_user()) {
      fault = faults_.take_of(maker);
      if (fault == Fault::kNone) fault = take_from_sources(maker);
    }
  }
  if (fault != Fault::kNone) throw_fault(fault);
}

Fault CudaDevice::take_from_sources(uint64_t user) {
  const std::lock_guard lock(sources_mutex_);
  Fault fault = Fault::kNone;
  std::erase_if(sources_, [&](const auto& source) {
    if (source.first != user || fault != Fault::kNone) return false;
    fault = source.second->faults_.take_of(user);
    return true;
  });
  return fault;
}

namespace {

std::string version_text(int version) { return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10); }

// Throws FailedPrecondition if the driver is too old. Returns 0 without a GPU: that is no error.
int count_gpus() {
  int count = 0;
  const cudaError_t result = cudaGetDeviceCount(&count);
  if (result == cudaSuccess) return count;
  static_cast<void>(cudaGetLastError());  // so that the next call does not report it again
  if (result == cudaErrorNoDevice) return 0;
  int driver = 0, runtime = 0;
  if (result == cudaErrorInsufficientDriver && cudaDriverGetVersion(&driver) == cudaSuccess &&
      cudaRuntimeGetVersion(&runtime) == cudaSuccess) {
    failf(Code::kFailedPrecondition, "NVIDIA driver: expected one for {} or newer, got {}", version_text(runtime),
          driver == 0 ? "none" : "one for " + version_text(driver));
  }
  check(result, "counting GPUs");
  return 0;
}

// A GPU that fails is skipped; the others stay usable.
void add_devices() {
  const int count = count_gpus();
  for (int i = 0; i < count; ++i) {
    try {
      add_device(new CudaDevice(i));
    } catch (const Error& error) {
      log_warn(fmt::format("/device:GPU:{} is not available: {}", i, error.what()));
    }
  }
}

}  // namespace
}  // namespace panto::cuda

// libpanto calls this after it opened the library (lib/core/tensor/device.cc).
extern "C" PANTO_EXPORT void panto_start_backend() { panto::cuda::add_devices(); }
