// One training step of a 784-512-256-10 network on 64 images, eager and traced, beside its matrix products alone.
#include "panto/autograd/tape.h"
#include "panto/benchmarks/gemm.h"
#include "panto/benchmarks/support.h"
#include "panto/lib/ops/ops.h"
#include "panto/nn/layers/layer.h"
#include "panto/nn/training/loss.h"
#include "panto/nn/training/optimizer.h"
#include "panto/trace/trace.h"

namespace panto::bench {
namespace {

constexpr int64_t kBatch = 64;
constexpr int64_t kSizes[] = {784, 512, 256, 10};

struct Training {
  Sequential model{Dense(kSizes[0], kSizes[1], {.activation = relu, .kernel_initializer = glorot_uniform(1)}),
                   Dense(kSizes[1], kSizes[2], {.activation = relu, .kernel_initializer = glorot_uniform(2)}),
                   Dense(kSizes[2], kSizes[3], {.kernel_initializer = glorot_uniform(3)})};
  Sgd optimizer{model.variables(), {.learning_rate = 0.01}};
  Tensor images = random_uniform({kBatch, kSizes[0]}, {.seed = 1});
  Tensor labels = random_uniform({kBatch}, {.seed = 2, .dtype = kInt32, .min = 0, .max = 10});

  Tensor step(const Tensor& x, const Tensor& y) {
    GradientTape tape;
    Tensor loss = sparse_cross_entropy(model(x), y);
    optimizer.apply(tape.gradient(loss, optimizer.variables()));
    return loss;
  }
};

void mlp_step_eager(benchmark::State& state) {
  Training t;
  for (auto _ : state) benchmark::DoNotOptimize(t.step(t.images, t.labels));
}
BENCHMARK(mlp_step_eager)->UseRealTime()->Unit(benchmark::kMicrosecond);

void mlp_step_traced(benchmark::State& state) {
  Training t;
  const Function step = trace([&](const Tensor& x, const Tensor& y) { return t.step(x, y); },
                              {TensorSpec(kFloat32, {kBatch, kSizes[0]}, "x"), TensorSpec(kInt32, {kBatch}, "y")});
  for (auto _ : state) benchmark::DoNotOptimize(step(t.images, t.labels));
}
BENCHMARK(mlp_step_traced)->UseRealTime()->Unit(benchmark::kMicrosecond);

void mlp_predict_traced(benchmark::State& state) {
  Training t;
  const Function predict =
      trace([&](const Tensor& x) { return t.model(x); }, {TensorSpec(kFloat32, {kBatch, kSizes[0]}, "x")});
  for (auto _ : state) benchmark::DoNotOptimize(predict(t.images));
}
BENCHMARK(mlp_predict_traced)->UseRealTime()->Unit(benchmark::kMicrosecond);

// y = x W, dW = x^T dy, dx = dy W^T (not for the first layer).
void mlp_matrix_products_alone(benchmark::State& state) {
  std::vector<Gemm> gemms;
  for (size_t i = 0; i + 1 < std::size(kSizes); ++i) {
    const int64_t in = kSizes[i], out = kSizes[i + 1];
    gemms.emplace_back(kBatch, in, out);
    gemms.emplace_back(in, kBatch, out, true, false);
    if (i > 0) gemms.emplace_back(kBatch, out, in, false, true);
  }
  double flops = 0;
  for (const Gemm& g : gemms) flops += g.flops();
  for (auto _ : state) {
    for (Gemm& g : gemms) g.run();
  }
  count_flops(state, flops);
}
BENCHMARK(mlp_matrix_products_alone)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace panto::bench
