// Ops other than elementwise loops at about a thousand and a million elements, named like "sweep/softmax/1024"; and the
// sum of 16 million numbers beside reading them.
#include <cstdint>
#include <string>

#include "panto/benchmarks/support.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"

namespace panto::bench {
namespace {

constexpr int64_t kMany = int64_t{16} << 20;

void sum_16m(benchmark::State& state) {
  const Tensor x = numbers({kMany});
  for (auto _ : state) benchmark::DoNotOptimize(sum(x));
  count_bytes(state, 4.0 * static_cast<double>(kMany));
}
BENCHMARK(sum_16m)->UseRealTime()->Unit(benchmark::kMillisecond);

// Reads the same bytes once with all threads, as integers, which a compiler may add in any order.
void read_16m(benchmark::State& state) {
  const std::vector<uint32_t> x(static_cast<size_t>(kMany), 1);
  for (auto _ : state) {
    uint32_t total = 0;
#pragma omp parallel for simd reduction(+ : total)
    for (size_t i = 0; i < x.size(); ++i) total += x[i];
    benchmark::DoNotOptimize(total);
  }
  count_bytes(state, 4.0 * static_cast<double>(kMany));
}
BENCHMARK(read_16m)->UseRealTime()->Unit(benchmark::kMillisecond);

struct Operands {
  Tensor x, y;     // [n, n] float32
  Tensor row;      // [n]
  Tensor indices;  // [n] int32, each row once, in descending order
  Tensor chosen;   // [n, n] bool
  int64_t n;
};

using Work = Tensor (*)(const Operands&);

void sweep(benchmark::State& state, Work work) {
  const int64_t n = state.range(0);
  const Tensor x = numbers({n, n}), y = numbers({n, n}, 2);
  const auto last = static_cast<int32_t>(n - 1);
  const Operands operands{x, y, numbers({n}), range(last, -1, -1), less(x, y), n};
  for (auto _ : state) benchmark::DoNotOptimize(work(operands));
  state.SetItemsProcessed(state.iterations() * n * n);
}

const struct {
  const char* name;
  Work work;
} kSweep[] = {
    {"sum_all", [](const Operands& o) { return sum(o.x); }},
    {"sum_rows", [](const Operands& o) { return sum(o.x, 1); }},
    {"sum_columns", [](const Operands& o) { return sum(o.x, 0); }},
    {"max_rows", [](const Operands& o) { return reduce_max(o.x, 1); }},
    {"argmax_rows", [](const Operands& o) { return argmax(o.x, 1); }},
    {"cumsum_rows", [](const Operands& o) { return cumsum(o.x, 1); }},
    {"softmax", [](const Operands& o) { return softmax(o.x); }},
    {"bias_add", [](const Operands& o) { return bias_add(o.x, o.row); }},
    {"add_row", [](const Operands& o) { return add(o.x, o.row); }},
    {"select", [](const Operands& o) { return select(o.chosen, o.x, o.y); }},
    {"transpose", [](const Operands& o) { return transpose(o.x, {1, 0}); }},
    {"concat_rows", [](const Operands& o) { return concat({o.x, o.y}, 0); }},
    {"concat_columns", [](const Operands& o) { return concat({o.x, o.y}, 1); }},
    {"slice_half", [](const Operands& o) { return slice(o.x, {0, 0}, tensor({o.n, o.n / 2})); }},
    {"gather_rows", [](const Operands& o) { return gather(o.x, o.indices, 0); }},
    {"pad_by_one", [](const Operands& o) { return pad(o.x, tensor({{1, 1}, {1, 1}})); }},
    {"cast_int32", [](const Operands& o) { return cast(o.x, kInt32); }},
    {"one_hot", [](const Operands& o) { return one_hot(o.indices, static_cast<int32_t>(o.n), 1.0f, 0.0f); }},
};

// 32 x 32 and 1024 x 1024.
const bool kEntered = [] {
  for (const auto& s : kSweep) {
    benchmark::RegisterBenchmark((std::string("sweep/") + s.name).c_str(), sweep, s.work)
        ->Arg(32)
        ->Arg(1024)
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  }
  return true;
}();

}  // namespace
}  // namespace panto::bench
