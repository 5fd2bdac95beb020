// The cost of conditionals and loops of traced functions: a conditional; a step of a scalar loop of 100,000 steps,
// forward and of its gradient; an LSTM as a loop in the graph and unrolled, forward and with its gradient.
#include <array>
#include <utility>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/benchmarks/support.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/ops/array.h"
#include "panto/trace/control/control_flow.h"
#include "panto/trace/control/functional.h"
#include "panto/trace/trace.h"

namespace panto::bench {
namespace {

const TensorSpec kScalar(kFloat32, {}, "x");

void traced_cond(benchmark::State& state) {
  const Function f =
      trace([](const Tensor& p, const Tensor& x) { return cond(p, [&] { return neg(x); }, [&] { return sqrt(x); }); },
            {TensorSpec(kBool, {}, "p"), kScalar});
  const Tensor p = tensor(true), x = tensor(1.f);
  for (auto _ : state) benchmark::DoNotOptimize(f(p, x));
}
BENCHMARK(traced_cond);

constexpr int kSteps = 100000;

// Euler's method for x' = -sin(x).
Tensor fall(const Tensor& x) {
  return while_loop([](const Tensor& i, const Tensor&) { return i < kSteps; },
                    [](const Tensor& i, const Tensor& at) { return std::pair(i + 1, at - 1e-4f * sin(at)); },
                    std::pair(tensor(0), x))
      .second;
}

void while_scalar(benchmark::State& state) {
  const Function f = trace([](const Tensor& x) { return fall(x); }, {kScalar});
  const Tensor x = tensor(1.f);
  for (auto _ : state) benchmark::DoNotOptimize(f(x));
  per_item(state, "step", kSteps);
}
BENCHMARK(while_scalar);

// A step forward and one back.
void while_scalar_gradient(benchmark::State& state) {
  const Function f = trace(
      [](const Tensor& x) {
        GradientTape tape;
        tape.watch(x);
        return tape.gradient(fall(x), x);
      },
      {kScalar});
  const Tensor x = tensor(1.f);
  for (auto _ : state) benchmark::DoNotOptimize(f(x));
  per_item(state, "step", kSteps);
}
BENCHMARK(while_scalar_gradient);

// ---- LSTM ----------------------------------------------------------------------------------------------------------
constexpr int kMoments = 16;
using State = std::pair<Tensor, Tensor>;

State lstm_step(const State& state, const Tensor& x, const Tensor& weights, const Tensor& bias) {
  const std::vector<Tensor> gates = split(1, bias_add(matmul(concat({x, state.first}, 1), weights), bias), 4);
  const Tensor c = sigmoid(gates[1]) * state.second + sigmoid(gates[0]) * tanh(gates[2]);
  return {sigmoid(gates[3]) * tanh(c), c};
}

// Returns the last output for inputs [moments, batch, units].
Tensor lstm(bool loop, const Tensor& xs, const Tensor& weights, const Tensor& bias) {
  const auto step = [&](const State& state, const Tensor& x) { return lstm_step(state, x, weights, bias); };
  const State start(zeros_like(xs[0]), zeros_like(xs[0]));
  if (loop) return foldl(step, xs, start).first;
  State state = start;
  for (const Tensor& x : unpack(xs, kMoments)) state = step(state, x);
  return state.first;
}

// Arguments: 1 for a loop, 0 for unrolled; batch; units.
void with_lstm(benchmark::State& state, bool gradient) {
  const bool loop = state.range(0) != 0;
  const int64_t batch = state.range(1), units = state.range(2);
  const Function f = trace(
      [&](const Tensor& xs, const Tensor& weights, const Tensor& bias) {
        if (!gradient) return std::vector<Tensor>{lstm(loop, xs, weights, bias)};
        GradientTape tape;
        tape.watch(weights);
        tape.watch(bias);
        const Tensor loss = sum(lstm(loop, xs, weights, bias));
        const std::vector<Tensor> gradients = tape.gradient(loss, {weights, bias});
        return std::vector<Tensor>{loss, gradients[0], gradients[1]};
      },
      {TensorSpec(kFloat32, {kMoments, batch, units}, "xs"), TensorSpec(kFloat32, {2 * units, 4 * units}, "weights"),
       TensorSpec(kFloat32, {4 * units}, "bias")});
  const std::vector<Tensor> inputs = {numbers({kMoments, batch, units}), numbers({2 * units, 4 * units}, 2) * 0.01f,
                                      numbers({4 * units}, 3)};
  for (auto _ : state) benchmark::DoNotOptimize(f.call(inputs));
  per_item(state, "moment", kMoments);
}

void lstm_forward(benchmark::State& state) { with_lstm(state, false); }
void lstm_and_gradient(benchmark::State& state) { with_lstm(state, true); }
void sizes(benchmark::internal::Benchmark* of) {
  of->ArgNames({"loop", "batch", "units"});
  for (const auto& [batch, units] : {std::pair(8, 32), std::pair(64, 256)}) {
    for (const int loop : {0, 1}) of->Args({loop, batch, units});
  }
}
BENCHMARK(lstm_forward)->Apply(sizes)->Unit(benchmark::kMicrosecond);
BENCHMARK(lstm_and_gradient)->Apply(sizes)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace panto::bench
