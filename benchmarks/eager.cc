// The overhead of a call: small tensors, eagerly, with and without a tape.
#include <chrono>

#include "panto/autograd/tape.h"
#include "panto/benchmarks/chain.h"
#include "panto/benchmarks/support.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"

namespace panto::bench {
namespace {

void add_8x8(benchmark::State& state) {
  const Tensor x = numbers({8, 8}), y = numbers({8, 8}, 2);
  for (auto _ : state) benchmark::DoNotOptimize(add(x, y));
}
BENCHMARK(add_8x8);

// A new tape per batch, so that its memory stays bounded.
void add_8x8_taped(benchmark::State& state) {
  const Tensor x = numbers({8, 8}), y = numbers({8, 8}, 2);
  constexpr int kBatch = 1000;
  for (auto _ : state) {
    GradientTape tape;
    tape.watch(x);
    for (int i = 0; i < kBatch; ++i) benchmark::DoNotOptimize(add(x, y));
  }
  per_item(state, "op", kBatch);
}
BENCHMARK(add_8x8_taped);

void add_literal_8x8(benchmark::State& state) {
  const Tensor x = numbers({8, 8});
  for (auto _ : state) benchmark::DoNotOptimize(x + 1.0f);
}
BENCHMARK(add_literal_8x8);

void add_broadcast_8x8(benchmark::State& state) {
  const Tensor x = numbers({8, 8}), y = numbers({8});
  for (auto _ : state) benchmark::DoNotOptimize(add(x, y));
}
BENCHMARK(add_broadcast_8x8);

void read_variable(benchmark::State& state) {
  const Variable v(numbers({8, 8}), "v");
  for (auto _ : state) benchmark::DoNotOptimize(v.value());
}
BENCHMARK(read_variable);

void matmul_8x8(benchmark::State& state) {
  const Tensor x = numbers({8, 8}), y = numbers({8, 8}, 2);
  for (auto _ : state) benchmark::DoNotOptimize(matmul(x, y));
}
BENCHMARK(matmul_8x8);

void sum_8x8(benchmark::State& state) {
  const Tensor x = numbers({8, 8});
  for (auto _ : state) benchmark::DoNotOptimize(sum(x));
}
BENCHMARK(sum_8x8);

void reshape_8x8(benchmark::State& state) {
  const Tensor x = numbers({8, 8});
  for (auto _ : state) benchmark::DoNotOptimize(reshape(x, {4, 16}));
}
BENCHMARK(reshape_8x8);

Tensor whole_chain(const Tensor& x, const Tensor& factor) { return chain(x, factor); }

void chain_forward(benchmark::State& state) { forward(state, "op", whole_chain); }
BENCHMARK(chain_forward);

void chain_forward_and_backward(benchmark::State& state) { forward_and_backward(state, "op", whole_chain); }
BENCHMARK(chain_forward_and_backward);

// The backward pass alone, timed by hand.
void chain_backward(benchmark::State& state) {
  const Tensor x = numbers({8, 8}), factor = numbers({8, 8}, 2);
  for (auto _ : state) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = chain(x, factor);
    const auto start = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(tape.gradient(y, x));
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  per_item(state, "node", kChain);
}
BENCHMARK(chain_backward)->UseManualTime();

}  // namespace
}  // namespace panto::bench
