// An autoencoder of digits (Hinton and Salakhutdinov 2006), with pictures: inputs above, outputs below.
#include <algorithm>
#include <cstdio>
#include <string>

#include "panto/apps/digits.h"
#include "panto/apps/programs/programs.h"
#include "panto/panto.h"

namespace panto::apps {
namespace {

Sequential coder(int64_t units, int64_t code) {
  return Sequential(Flatten(), Dense(784, units, {.activation = relu, .name = "in"}),
                    Dense(units, code, {.name = "code"}), Dense(code, units, {.activation = relu, .name = "out"}),
                    Dense(units, 784, {.activation = sigmoid, .name = "pixels"}), Reshape({28, 28}));
}

}  // namespace

void autoencoder(Run& run) {
  constexpr int64_t kBatch = 100, kShown = 5;
  const std::string folder = run.data("mnist10k");
  const Tensor digits = read_mnist(folder, "train").images, others = read_mnist(folder, "t10k").images;
  const Sequential model = run.quick() ? coder(32, 16) : coder(128, 32);
  run.begin(model);
  Adam adam(model.variables(), {.learning_rate = 0.002});
  const auto train = trace([&](const Tensor& x) {
    GradientTape tape;
    const Tensor loss = mean_squared_error(model(x), x);
    adam.apply(tape.gradient(loss, adam.variables()));
    return loss;
  });
  const int64_t steps = run.steps(4000, 300);
  const Tensor batches = run.batches(digits.dim(0), kBatch, steps);
  for (int64_t i = 1; i <= steps; ++i) {
    const double loss = train(gather(digits, batches(i - 1))).item<double>();
    run.keep_loss(loss);
    if (i % std::max<int64_t>(steps / 10, 1) == 0) std::printf("step %d loss %f\n", static_cast<int>(i), loss);
  }

  const Tensor shown = others(Slice(0, kShown)), back = model(shown);
  const double all = mean(square(others - mean(others, {0}))).item<double>();
  const double lost = mean_squared_error(model(others), others).item<double>();
  std::printf("%s%s", draw_digits(shown, {}).c_str(), draw_digits(back, {}).c_str());
  std::printf("kept of other digits %.1f %% of the variance\n", 100 * (1 - lost / all));
  if (!run.picture().empty()) {
    const auto row = [](const Tensor& images) { return transpose(images, {1, 0, 2}).reshape({28, 28 * kShown}); };
    write_png(run.picture(), cast(concat({row(shown), row(back)}, 0) * 255.f, kUint8));
  }
  run.save(model);
}

}  // namespace panto::apps
