// Helpers shared by the benchmarks.
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/ops/random/random.h"

namespace panto::bench {

// Reports the time per item: Google Benchmark prints the counter in seconds; with --benchmark_format=json in full
// precision.
inline void per_item(benchmark::State& state, const std::string& name, double items_per_iteration) {
  using benchmark::Counter;
  state.counters["per_" + name] = Counter(items_per_iteration, Counter::kIsIterationInvariantRate | Counter::kInvert);
}

inline void count_flops(benchmark::State& state, double flops) {
  using benchmark::Counter;
  state.counters["flops"] = Counter(flops, Counter::kIsIterationInvariantRate);
}

inline void count_bytes(benchmark::State& state, double bytes) {
  using benchmark::Counter;
  state.counters["bytes"] = Counter(bytes, Counter::kIsIterationInvariantRate);
}

inline Tensor numbers(const Shape& shape, int64_t seed = 1) {
  return random_uniform(shape, {.seed = seed, .min = 0.5, .max = 1.5});
}

// Registers a benchmark of each elementwise op in the op registry.
void enter_elementwise_ops();
// Registers benchmarks of growing amounts of work.
void enter_growth();

}  // namespace panto::bench
