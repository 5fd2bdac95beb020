// _FusedElementwise: computes the outputs of a program (device/cpu/fused/fused_program.h).
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

// Whether every value has one element, as in counting loops.
bool all_single(const KernelContext& c) {
  for (const Tensor* t : c.call().inputs) {
    if (t->impl()->numel != 1) return false;
  }
  for (const Tensor& t : c.call().outputs) {
    if (t.impl()->numel != 1) return false;
  }
  return true;
}

// Calls the inner loop of each step directly. Setting up tiles (memory, addresses) would take longer than the
// computation.
void run_single(const Program& p, KernelContext& c) {
  alignas(Program::kOneBytes) std::byte made[Program::kMostSingle][Program::kOneBytes];
  const void* values[Program::kMostSingle];
  size_t count = 0;
  for (const Tensor* t : c.call().inputs) values[count++] = t->impl()->data;
  const size_t inputs = count;
  for (const cpu::Instruction& i : p.code) {
    std::byte* result = made[count - inputs];
    const void* in[cpu::kMaxInnerLoopInputs];
    for (int k = 0; k < i.kernel.inputs; ++k) in[k] = values[i.operands[static_cast<size_t>(k)]];
    const unsigned moves = (1u << i.kernel.inputs) - 1;  // as in the separate kernel
    if (const uint32_t fault = i.kernel.run(moves, result, 1, in); fault != 0) [[unlikely]]
      throw_found(p, static_cast<uint64_t>(count - inputs) << 32 | fault);
    values[count++] = result;
  }
  // Written last, since an output may share memory with an input.
  for (size_t k = 0; k < p.text.outputs.size(); ++k) {
    const auto value = static_cast<size_t>(p.text.outputs[k]);
    void* to = c.call().outputs[k].impl()->data;
    if (p.code[value - inputs].kernel.out_size == sizeof(float)) {
      std::memcpy(to, values[value], sizeof(float));
    } else {
      std::memcpy(to, values[value], p.code[value - inputs].kernel.out_size);
    }
  }
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

void run_program(const Program& p, KernelContext& c) {
  if (p.may_be_single && all_single(c)) return run_single(p, c);
  if (c.out_numel(0) > 0 && all_outputs_alike(c)) {
    Layout for_this_call;
    const Layout& layout = layout_of(p, c, c.out_shape(0), for_this_call);
    if (layout.tiled) return run_tiled(p, layout, c);
  }
  const std::vector<Tensor> results = run_steps(p, c);
  for (size_t k = 0; k < results.size(); ++k) {
    std::memcpy(c.out(static_cast<int>(k)).impl()->data, results[k].impl()->data, results[k].nbytes());
  }
}

[[gnu::noinline]] void run_unprepared(KernelContext& c) { run_program(cpu::compile(c), c); }

void run_fused(KernelContext& c) {
  const Program* p = c.state<Program>();
  return p != nullptr ? run_program(*p, c) : run_unprepared(c);
}

const CpuKernel fused_elementwise_kernel("_FusedElementwise", run_fused, prepare_fused);

}  // namespace
}  // namespace panto
