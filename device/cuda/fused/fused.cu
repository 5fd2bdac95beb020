// _FusedElementwise: a kernel compiled at run time (fused_source.h) for each of the few ways to broadcast inputs.
#include <mutex>
#include <span>
#include <vector>

#include "panto/device/cuda/elementwise/elements.cuh"
#include "panto/device/cuda/elementwise/loops.cuh"
#include "panto/device/cuda/fused/fused_launches.h"
#include "panto/device/cuda/fused/fused_source.h"
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/rtc/compile.h"
#include "panto/lib/base/error.h"

namespace panto {
namespace {

using cuda::FusedKernel;
using cuda::Indexing;

// The state shared by the calls of one node.
struct Program final : KernelState {
  explicit Program(const CallView& call) : text(cuda::gpu_program(call)), pack(cuda::pack_of(text)) {
    for (const ElementwiseStep& step : text.steps) has_faults = has_faults || dtypes::kInteger.contains(step.type);
  }

  // Returns the kernel. Caches those that compute all outputs; others are rare and looked up by their source.
  cudaKernel_t kernel(cuda::CudaDevice& device, const FusedKernel& wanted) {
    const bool all = wanted.outputs.size() == text.outputs.size();
    const size_t at = 2 * static_cast<size_t>(wanted.indexing) + (wanted.pack > 1 ? 1 : 0);
    const std::lock_guard lock(mutex);
    if (all && known[at] != nullptr && &device == known_for) return known[at];
    const cudaKernel_t made = cuda::compiled_kernel(device, cuda::fused_source(text, wanted), "fused");
    if (!all) return made;
    if (&device != known_for) std::fill(std::begin(known), std::end(known), nullptr);
    known_for = &device;
    return known[at] = made;
  }

  ElementwiseProgram text;
  int pack;
  bool has_faults = false;  // integer division by zero

 private:
  std::mutex mutex;
  const cuda::CudaDevice* known_for = nullptr;
  cudaKernel_t known[6] = {};
};

// One launch: outputs of one shape, and all pointers.
struct Launch {
  KernelContext& c;
  Program& program;
  FusedKernel kernel;
  std::vector<void*> pointers;
  const Shape& shape;
  int64_t n;

  bool aligned(unsigned moves) const {
    const auto is_aligned = [&](void* data, DType type) {
      return reinterpret_cast<uintptr_t>(data) % (dtype_size(type) * static_cast<size_t>(program.pack)) == 0;
    };
    const size_t inputs = program.text.inputs.size();
    for (size_t i = 0; i < inputs; ++i) {
      if ((moves >> i & 1u) != 0 && !is_aligned(pointers[i], program.text.inputs[i])) return false;
    }
    for (size_t k = 0; k < kernel.outputs.size(); ++k) {
      const int value = program.text.outputs[static_cast<size_t>(kernel.outputs[k])];
      if (!is_aligned(pointers[inputs + k], program.text.type_of(value))) return false;
    }
    return true;
  }

  template <class How>
  void start(How how, Indexing indexing, bool packs) {
    cuda::CudaDevice& device = cuda::device_of(c);
    const cuda::DeviceUse stream = device.use();
    kernel.indexing = indexing;
    kernel.pack = packs ? program.pack : 1;
    Fault* fault = program.has_faults ? device.fault() : nullptr;
    void* arguments[] = {&n, pointers.data(), &how, &fault};
    const auto blocks = cuda::grid_size(device, ceil_div(n, int64_t{kernel.pack}));
    cuda::check(cudaLaunchKernel(reinterpret_cast<const void*>(program.kernel(device, kernel)), dim3(blocks),
                                 dim3(cuda::kThreads), arguments, 0, stream),
                "starting a kernel");
  }

  template <int N>
  void start_with() {
    unsigned moves = 0;
    bool straight = true;
    for (int i = 0; i < N; ++i) {
      if (c.numel(i) == n) {
        moves |= 1u << i;
      } else if (c.numel(i) != 1) {
        straight = false;
      }
    }
    if (straight && aligned(moves)) return start(cuda::Straight<N>{moves}, Indexing::kStraight, true);
    const PartialShape* shapes[N];
    for (int i = 0; i < N; ++i) shapes[i] = broadcasts_to(c.shape(i), shape) ? &c.shape(i) : &kScalar;  // not read here
    BroadcastMap<N> map;
    make_broadcast_map<N>(shape, reinterpret_cast<const PartialShape* const(&)[N]>(shapes), map);
    if (n > INT32_MAX) return start(cuda::Mapped<N, int64_t>(map), Indexing::kMappedWide, false);
    const cuda::Mapped<N, uint32_t> how(map);
    start(how, Indexing::kMapped, cuda::has_whole_packs(map, program.pack) && aligned(how.moves));
  }

  template <int... N>
  void start_with_any(std::integer_sequence<int, N...>) {
    const int inputs = c.num_inputs();
    const bool started = ((inputs == N + 1 ? (start_with<N + 1>(), true) : false) || ...);
    if (!started) fail(Code::kInternal, "inputs: expected as many as a kernel takes, got another number");
  }

  static inline const PartialShape kScalar{Shape{}};
};

void run_outputs(KernelContext& c, Program& program, std::span<const Tensor> inputs, std::vector<int> outputs) {
  const Shape& shape = c.out_shape(outputs[0]);
  const int64_t n = c.out_numel(outputs[0]);
  if (n == 0) return;
  std::vector<void*> pointers;
  for (const Tensor& input : inputs) pointers.push_back(input.impl()->data);
  for (int k : outputs) pointers.push_back(c.out(k).impl()->data);
  Launch launch{c, program, {std::move(outputs)}, std::move(pointers), shape, n};
  launch.start_with_any(std::make_integer_sequence<int, cuda::kMostFusedInputs>{});
}

void run_fused(KernelContext& c) {
  Program* program = c.state<Program>();
  std::optional<Program> made;
  if (program == nullptr) program = &made.emplace(c);
  cuda::FusedLaunches launches = cuda::fused_launches(c);
  for (std::vector<int>& outputs : launches.outputs) run_outputs(c, *program, launches.inputs, std::move(outputs));
}

std::shared_ptr<KernelState> prepare_fused(const KernelContext& c) { return std::make_shared<Program>(c); }

const CudaKernel fused_elementwise_kernel("_FusedElementwise", run_fused, prepare_fused);

}  // namespace
}  // namespace panto
