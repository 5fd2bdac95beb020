// The eager twin of linear_regression.cc.
#include <panto/panto.h>

#include <cstdio>

using namespace panto;

int main() {
  const Tensor x = tensor({-1.0f, -0.8f, -0.6f, -0.4f, -0.2f, 0.0f, 0.2f, 0.4f, 0.6f, 0.8f, 1.0f});
  const Tensor y = tensor({-1.46f, -1.17f, -0.62f, -0.39f, 0.21f, 0.44f, 0.97f, 1.22f, 1.81f, 2.02f, 2.59f});
  Sgd descent({Variable(tensor(0.0f), "w"), Variable(tensor(0.0f), "b")}, {.learning_rate = 0.3});
  const auto& v = descent.variables();
  for (int i = 1; i <= 1000; ++i) {
    GradientTape tape;
    const Tensor loss = mean(square(v[0] * x + v[1] - y));
    descent.apply(tape.gradient(loss, v));
    if (i % 100 == 0) std::printf("iter %d training loss %f\n", i, loss.item<double>());
  }
  std::printf("y = %.3f x + %.3f\n", v[0].value().item<double>(), v[1].value().item<double>());
}
