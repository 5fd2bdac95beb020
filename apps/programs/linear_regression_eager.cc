// The eager twin of linear_regression.cc.
#include <cstdio>

#include "panto/apps/programs/programs.h"
#include "panto/panto.h"

namespace panto::apps {

void linear_regression_eager(Run& run) {
  const Tensor x = tensor(
      {-1.6f, -1.4f, -1.2f, -1.0f, -0.8f, -0.6f, -0.4f, -0.2f, 0.0f, 0.2f, 0.4f, 0.6f, 0.8f, 1.0f, 1.2f, 1.4f, 1.6f});
  const Tensor y = tensor({-2.71f, -2.32f, -1.87f, -1.46f, -1.17f, -0.62f, -0.39f, 0.21f, 0.44f, 0.97f, 1.22f, 1.81f,
                           2.02f, 2.59f, 2.87f, 3.31f, 3.74f});
  const Variable w(run.first_value("W", tensor(0.3f)), "W"), b(run.first_value("b", tensor(-0.3f)), "b");
  Sgd descent({w, b}, {.learning_rate = 0.001});
  const auto loss = [&] { return sum(square(w * x + b - y)); };
  const int64_t steps = run.steps(1000, 1000);
  for (int64_t i = 1; i <= steps; ++i) {
    descent.minimize(loss);
    const double now = loss().item<double>();
    run.keep_loss(now);
    std::printf("iter step %d training loss %f\n", static_cast<int>(i), now);
  }
  std::printf("W %.5f b %.5f\n", w.value().item<double>(), b.value().item<double>());
  run.save({{"W", w}, {"b", b}});
}

}  // namespace panto::apps
