#include "panto/device/cuda/capture.h"

#include <algorithm>
#include <utility>

#include "panto/device/cuda/device.h"
#include "panto/lib/base/text/format.h"

namespace panto::cuda {
namespace {

thread_local Capture* current = nullptr;
thread_local const CudaDevice* current_device = nullptr;

// Size of the word for faults.
constexpr size_t kFaultBytes = sizeof(Fault);

class Graph final : public CapturedWork {
 public:
  // Takes ownership of all arguments.
  Graph(CudaDevice& device, cudaGraphExec_t graph, std::vector<Capture::Block> blocks, void* fault)
      : device_(device), graph_(graph), blocks_(std::move(blocks)), fault_(fault) {}
  // Waits until the graph has run, as its memory may still be in use. Errors cannot be reported here.
  ~Graph() override {
    static_cast<void>(cudaStreamSynchronize(static_cast<cudaStream_t>(device_.stream())));
    static_cast<void>(cudaGraphExecDestroy(graph_));
    for (const Capture::Block& block : blocks_) device_.deallocate(block.data, block.bytes);
    device_.deallocate(fault_, kFaultBytes);
  }
  void launch() override {
    const DeviceUse stream = device_.use();
    Fault* const mine = fault_ == nullptr ? nullptr : device_.fault();
    check(cudaGraphLaunch(graph_, stream), "launching captured work");
    if (fault_ == nullptr) return;
    try {
      pass_on(static_cast<Fault*>(fault_), mine, stream);
    } catch (const Error&) {  // the work was launched; its fault is passed on after the next launch
      return;
    }
  }

 private:
  CudaDevice& device_;
  cudaGraphExec_t graph_;
  std::vector<Capture::Block> blocks_;
  void* fault_;  // null: no work in it can report a fault
};

}  // namespace

Capture* Capture::on(const CudaDevice& device) noexcept { return current_device == &device ? current : nullptr; }

Capture::Capture(CudaDevice& device) : device_(device) {
  if (current != nullptr) fail(Code::kInternal, "capture: expected a thread that captures nothing, got one that does");
  const DeviceUse use = device.use();
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
  // Relaxed: other threads and allocations are not restricted.
  const cudaError_t begun = cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed);
  if (begun != cudaSuccess) static_cast<void>(cudaStreamDestroy(stream_));
  check(begun, "beginning to capture");
  current = this;
  current_device = &device;
}

Capture::~Capture() {
  if (cudaGraph_t graph = stop()) static_cast<void>(cudaGraphDestroy(graph));
  for (const Block& block : blocks_) {
    if (block.free) device_.deallocate(block.data, block.bytes);
  }
  device_.deallocate(fault_, kFaultBytes);
}

Fault* Capture::fault() {
  if (fault_ == nullptr) {
    fault_ = device_.allocate_uncaptured(kFaultBytes);
    check(cudaMemsetAsync(fault_, 0, kFaultBytes, static_cast<cudaStream_t>(device_.stream())), "setting a value");
  }
  return static_cast<Fault*>(fault_);
}

// Returns null if the capture was stopped before or is invalid.
cudaGraph_t Capture::stop() noexcept {
  if (current != this) return nullptr;
  current = nullptr;
  current_device = nullptr;
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(stream_, &graph) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // so that the next call does not report it again
    graph = nullptr;
  }
  static_cast<void>(cudaStreamDestroy(stream_));
  return graph;
}

void Capture::refuse(const char* what) {
  refused_ = true;
  failf(Code::kUnimplemented, "captured work: expected nothing that waits for the device or the host, got {}", what);
}

bool Capture::valid() const noexcept {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusInvalidated;
  return !refused_ && cudaStreamIsCapturing(stream_, &status) == cudaSuccess && status == cudaStreamCaptureStatusActive;
}

std::unique_ptr<CapturedWork> Capture::end() {
  const bool whole = !refused_;
  cudaGraph_t graph = stop();
  if (graph == nullptr) return nullptr;
  cudaGraphExec_t ready = nullptr;
  const cudaError_t made = whole ? cudaGraphInstantiate(&ready, graph, 0) : cudaSuccess;
  static_cast<void>(cudaGraphDestroy(graph));
  check(made, "making captured work ready");
  if (ready == nullptr) return nullptr;
  // A block that is not free has an owner outside this capture.
  std::erase_if(blocks_, [](const Block& block) { return !block.free; });
  return std::make_unique<Graph>(device_, ready, std::exchange(blocks_, {}), std::exchange(fault_, nullptr));
}

Capture::Block* Capture::take(int size_class) noexcept {
  const auto found = std::ranges::find_if(
      blocks_, [&](const Block& b) { return b.free && panto::size_class(b.bytes).index == size_class; });
  if (found == blocks_.end()) return nullptr;
  found->free = false;
  return &*found;
}

bool Capture::give_back(void* data) noexcept {
  const auto found = std::ranges::find_if(blocks_, [&](const Block& b) { return b.data == data && !b.free; });
  if (found == blocks_.end()) return false;
  found->free = true;
  return true;
}

}  // namespace panto::cuda
