// The cost of a traced call: a call of one op; a node of a chain with the optimizer off; a chain that the optimizer
// fused into one loop.
#include "panto/benchmarks/chain.h"
#include "panto/benchmarks/support.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/trace/trace.h"

namespace panto::bench {
namespace {

Function traced_chain(int length, const char* passes = "off") {
  Function f = trace([length](const Tensor& x, const Tensor& factor) { return chain(x, factor, length); },
                     {TensorSpec(kFloat32, {8, 8}, "x"), TensorSpec(kFloat32, {8, 8}, "factor")});
  f.set_optimizer(passes);
  return f;
}

void traced_call(benchmark::State& state) {
  const Tensor x = numbers({8, 8}), factor = numbers({8, 8}, 2);
  const Function f = traced_chain(1);
  for (auto _ : state) benchmark::DoNotOptimize(f(x, factor));
}
BENCHMARK(traced_call);

void traced_chain_unfused(benchmark::State& state) { forward(state, "node", traced_chain(kChain)); }
BENCHMARK(traced_chain_unfused);

void traced_chain_forward_and_backward(benchmark::State& state) {
  forward_and_backward(state, "node", traced_chain(kChain));
}
BENCHMARK(traced_chain_forward_and_backward);

void traced_chain_fused(benchmark::State& state) { forward(state, "node", traced_chain(kChain, "")); }
BENCHMARK(traced_chain_fused);

// The gradient is part of the graph.
void traced_chain_and_gradient_fused(benchmark::State& state) {
  const Function f = trace(
      [](const Tensor& x, const Tensor& factor) {
        GradientTape tape;
        tape.watch(x);
        return tape.gradient(chain(x, factor), x);
      },
      {TensorSpec(kFloat32, {8, 8}, "x"), TensorSpec(kFloat32, {8, 8}, "factor")});
  forward(state, "node", f);
}
BENCHMARK(traced_chain_and_gradient_fused);

// Tracing itself, and making the graph ready for its first run.
void trace_chain(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(traced_chain(kChain));
  per_item(state, "node", kChain);
}
BENCHMARK(trace_chain)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace panto::bench
