// _FusedReduction: reduces the value of a program (device/cpu/fused/fused_program.h) block by block, so that the value
// is never stored in memory. Blocks and parts are those of reduce.h, so the results have the same bits.
#include <algorithm>
#include <atomic>

#include "panto/device/cpu/fused/fused_program.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/reduce/reduce.h"
#include "panto/device/math/reducers.h"
#include "panto/lib/base/text/format.h"

namespace panto {
namespace {

using cpu::Layout;
using cpu::Program;

// The shape of the value that is reduced, and the number of its elements per result.
struct Reduced {
  PartialShape shape;
  int64_t run = 1;
};

Reduced what_is_reduced(const Program& p, const KernelContext& c) {
  std::vector<PartialShape> shapes;
  for (int i = 0; i < c.num_inputs(); ++i) shapes.push_back(c.in(i).partial_shape());
  Reduced r{value_shape(p.text, shapes, p.text.outputs[0])};
  const int dims = static_cast<int>(c.integer("dims"));
  if (!r.shape.known_rank()) return r;
  if (dims > r.shape.rank()) invalid("dims: expected at most {}, got {}", r.shape.rank(), dims);
  for (int d = r.shape.rank() - dims; d < r.shape.rank(); ++d) r.run *= r.shape.dim(d);
  return r;
}

template <class R, class T>
void reduce_tiled(const Program& p, const Layout& l, const Reduced& reduced, KernelContext& c) {
  using Total = typename R::Total;
  const std::vector<cpu::BroadcastInput> repeated = broadcast_inputs(p, l, c, reduced.shape);
  std::atomic<uint64_t> found{0};
  T* out = c.out_data<T>(0);
  const int64_t results = c.out_numel(0), run = reduced.run;
  const int64_t parts = ceil_div(run, cpu::kPart);
  const Scratch<Total> scratch(c.device(), parts > 1 ? results * parts : 0);
  cpu::parallel_ranges(
      results * parts, p.work_of(results * run),
      [&](int64_t begin, int64_t end) {
        std::byte* const none = nullptr;
        cpu::Range range(p, l, c, repeated, {&none, 1});
        for (int64_t task = begin; task < end; ++task) {
          int64_t at = task / parts * run + task % parts * cpu::kPart;
          const int64_t last = std::min(task / parts * run + run, at + cpu::kPart);
          Total total = R::total();
          while (at < last) {
            const int64_t size = std::min(cpu::kBlock, last - at);
            range.fill(at, size);
            const T* block = reinterpret_cast<const T*>(range.filled());
            cpu::add_runs<typename cpu::CoreOf<R>::type>(block, size, 1, &total, false);
            at += size;
          }
          if (parts == 1) {
            out[task] = R::finish(total, run);
          } else {
            scratch.data()[task] = total;
          }
        }
        if (range.fault() != 0) [[unlikely]]
          found.store(range.fault(), std::memory_order_relaxed);
      },
      parts > 1 ? 1 : std::max<int64_t>(1, 64 / std::max<int64_t>(1, run)));
  if (const uint64_t fault = found.load(std::memory_order_relaxed); fault != 0) [[unlikely]]
    throw_found(p, fault);
  for (int64_t r = 0; parts > 1 && r < results; ++r) {
    Total total = scratch.data()[r * parts];
    for (int64_t k = 1; k < parts; ++k) total = R::merge(total, scratch.data()[r * parts + k]);
    out[r] = R::finish(total, run);
  }
}

template <class R, class T>
void reduce_program(const Program& p, KernelContext& c) {
  const Reduced reduced = what_is_reduced(p, c);
  if (c.out_numel(0) == 0) return;
  const PartialShape& shape = reduced.shape;
  if (shape.numel() > 0) {
    Layout for_this_call;
    const Layout& layout = layout_of(p, c, shape, for_this_call);
    if (layout.tiled) return reduce_tiled<R, T>(p, layout, reduced, c);
  }
  const Tensor value = run_steps(p, c)[0];
  AxisFlags axes;
  for (int64_t d = shape.rank() - c.integer("dims"); d < shape.rank(); ++d) axes.set(static_cast<size_t>(d));
  cpu::reduce<R>(value.data<T>().data(), shape, axes, c.out_data<T>(0), c.out_numel(0), c.device());
}

struct FusedReduction {
  template <class T>
  static std::shared_ptr<KernelState> prepare(const KernelContext& c) {
    auto p = std::make_shared<Program>(cpu::compile(c, cpu::kBlock));
    prepare_layout(*p, c, what_is_reduced(*p, c).shape);
    return p;
  }
  template <class T>
  static void run(KernelContext& c) {
    const Program* p = c.state<Program>();
    std::optional<Program> made;
    if (p == nullptr) p = &made.emplace(cpu::compile(c, cpu::kBlock));
    const std::string_view reduction = c.text("reduction");
    if (reduction == "sum") return reduce_program<SumOf<T>, T>(*p, c);
    if (reduction == "mean") return reduce_program<MeanOf<T>, T>(*p, c);
    if (reduction == "max") return reduce_program<MaxOf<T>, T>(*p, c);
    reduce_program<MinOf<T>, T>(*p, c);
  }
};
const CpuKernel fused_reduction_kernel("_FusedReduction", types::floating{}, FusedReduction{});

}  // namespace
}  // namespace panto
