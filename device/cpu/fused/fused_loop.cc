// _FusedElementwise: the program's outputs (device/cpu/fused/fused_program.h).
#include <atomic>
#include <cstring>

#include "panto/device/cpu/fused/fused_program.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/stream.h"

namespace panto {
namespace {

using cpu::Layout;
using cpu::Program;

void run_tiled(const Program& p, const Layout& l, KernelContext& c) {
  const std::vector<cpu::BroadcastInput> repeated = broadcast_inputs(p, l, c, c.out_shape(0));
  SmallVector<std::byte*, 4> outputs;
  int64_t traffic = 0;
  for (int i = 0; i < c.num_inputs(); ++i) traffic += static_cast<int64_t>(c.in(i).nbytes());
  for (int k = 0; k < c.num_outputs(); ++k) {
    outputs.push_back(static_cast<std::byte*>(c.out(k).impl()->data));
    traffic += static_cast<int64_t>(c.out(k).nbytes());
  }
  const bool stream = cpu::should_stream(traffic);
  std::atomic<uint64_t> found{0};
  const int64_t n = c.out_numel(0);
  cpu::parallel_ranges(n, p.work_of(n), [&](int64_t begin, int64_t end) {
    cpu::Range range(p, l, c, repeated, {outputs.data(), outputs.size()}, stream);
    range.run(begin, end);
    if (range.fault() != 0) [[unlikely]]
      found.store(range.fault(), std::memory_order_relaxed);
  });
  if (const uint64_t fault = found.load(std::memory_order_relaxed); fault != 0) [[unlikely]]
    throw_found(p, fault);
}

bool all_outputs_alike(const KernelContext& c) {
  for (int k = 1; k < c.num_outputs(); ++k) {
    if (!(c.out_shape(k) == c.out_shape(0))) return false;
  }
  return true;
}

std::shared_ptr<KernelState> prepare_fused(const KernelContext& c) {
  auto p = std::make_shared<Program>(cpu::compile(c));
  prepare_layout(*p, c, c.spec(0).shape);
  return p;
}

void run_fused(KernelContext& c) {
  const Program* p = c.state<Program>();
  std::optional<Program> made;
  if (p == nullptr) p = &made.emplace(cpu::compile(c));
  if (c.out_numel(0) > 0 && all_outputs_alike(c)) {
    Layout for_this_call;
    const Layout& layout = layout_of(*p, c, c.out_shape(0), for_this_call);
    if (layout.tiled) return run_tiled(*p, layout, c);
  }
  const std::vector<Tensor> results = run_steps(*p, c);
  for (size_t k = 0; k < results.size(); ++k) {
    std::memcpy(c.out(static_cast<int>(k)).impl()->data, results[k].impl()->data, results[k].nbytes());
  }
}

const CpuKernel fused_elementwise_kernel("_FusedElementwise", run_fused, prepare_fused);

}  // namespace
}  // namespace panto
