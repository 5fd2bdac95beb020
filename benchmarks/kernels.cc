// Big kernels beside the machine's limits: matrix products beside oneDNN's primitive, addition beside memcpy.
#include <omp.h>

#include <algorithm>
#include <cstring>

#include "panto/benchmarks/gemm.h"
#include "panto/benchmarks/support.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"

namespace panto::bench {
namespace {

void matmul_square(benchmark::State& state) {
  const int64_t n = state.range(0);
  const Tensor x = numbers({n, n}), y = numbers({n, n}, 2);
  for (auto _ : state) benchmark::DoNotOptimize(matmul(x, y));
  count_flops(state, 2.0 * static_cast<double>(n * n * n));
}
BENCHMARK(matmul_square)->Arg(64)->Arg(256)->Arg(1024)->UseRealTime()->Unit(benchmark::kMicrosecond);

void onednn_square(benchmark::State& state) {
  const int64_t n = state.range(0);
  Gemm gemm(n, n, n);
  for (auto _ : state) gemm.run();
  count_flops(state, gemm.flops());
}
BENCHMARK(onednn_square)->Arg(64)->Arg(256)->Arg(1024)->UseRealTime()->Unit(benchmark::kMicrosecond);

constexpr int64_t kMany = int64_t{16} << 20;

void add_16m(benchmark::State& state) {
  const Tensor x = numbers({kMany}), y = numbers({kMany}, 2);
  for (auto _ : state) benchmark::DoNotOptimize(add(x, y));
  count_bytes(state, 3.0 * 4 * static_cast<double>(kMany));
}
BENCHMARK(add_16m)->UseRealTime()->Unit(benchmark::kMillisecond);

// Moves as many bytes as add_16m, with all threads, into memory that was touched before.
void memcpy_as_add_16m(benchmark::State& state) {
  const size_t bytes = static_cast<size_t>(kMany) * 4 * 3 / 2;
  const std::vector<char> from(bytes, 'x');
  std::vector<char> to(bytes, 'y');
  const auto threads = static_cast<size_t>(omp_get_max_threads());
  const size_t share = (bytes + threads - 1) / threads;
  for (auto _ : state) {
#pragma omp parallel for
    for (size_t t = 0; t < threads; ++t) {
      const size_t begin = std::min(bytes, t * share);
      std::memcpy(to.data() + begin, from.data() + begin, std::min(share, bytes - begin));
    }
    benchmark::ClobberMemory();
  }
  count_bytes(state, 2.0 * static_cast<double>(bytes));
}
BENCHMARK(memcpy_as_add_16m)->UseRealTime()->Unit(benchmark::kMillisecond);

// Every elementwise op that takes one or two float32 tensors, found in the registry: "elementwise/Tanh/1048576".
void elementwise(benchmark::State& state, const Op* op) {
  const Tensor x = numbers({state.range(0)}), y = numbers({state.range(0)}, 2);
  const Tensor* inputs[] = {&x, &y};
  const std::span<const Tensor* const> used(inputs, op->signature().inputs.size());
  for (auto _ : state) benchmark::DoNotOptimize(dispatch::call(*op, used, {}));
  count_bytes(state, 4.0 * static_cast<double>(state.range(0)) * static_cast<double>(used.size() + 1));
}

bool all_float32(const Op& op) {
  const Signature& s = op.signature();
  if (!op.has(Trait::kElementwise) || s.outputs.size() != 1 || s.inputs.empty() || s.inputs.size() > 2) return false;
  for (const ArgDef& a : s.inputs) {
    if (a.type_attr < 0 || a.type_attr != op.primary_attr() || a.is_list()) return false;
  }
  for (size_t i = 0; i < s.attrs.size(); ++i) {
    if (!s.attrs[i].has_default() && static_cast<int>(i) != op.primary_attr()) return false;
  }
  return op.kernel(DeviceKind::kCpu, kFloat32).run != nullptr;
}

}  // namespace

void enter_elementwise_ops() {
  for (const Op* op : all_ops()) {
    if (!all_float32(*op)) continue;
    benchmark::RegisterBenchmark(("elementwise/" + op->name()).c_str(), elementwise, op)
        ->Arg(1024)
        ->Arg(1 << 20)
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace panto::bench
