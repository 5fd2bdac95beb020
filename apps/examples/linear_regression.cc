// Fits y = w x + b to points by gradient descent, as a TensorFlow 1 program would: build a graph, then run it.
// linear_regression_eager.cc does the same in half the lines.
#include <panto/panto.h>

#include <cstdio>

using namespace panto;

int main() {
  const Tensor xs = tensor({-1.0f, -0.8f, -0.6f, -0.4f, -0.2f, 0.0f, 0.2f, 0.4f, 0.6f, 0.8f, 1.0f});
  const Tensor ys = tensor({-1.46f, -1.17f, -0.62f, -0.39f, 0.21f, 0.44f, 0.97f, 1.22f, 1.81f, 2.02f, 2.59f});
  Graph graph;
  Operation init, train;
  {
    GraphScope building(graph);
    const Tensor x = placeholder(kFloat32, {-1}, "x");
    const Tensor y = placeholder(kFloat32, {-1}, "y");
    const Variable w(tensor(0.0f), "w");
    const Variable b(tensor(0.0f), "b");
    const Tensor loss = named("loss", mean(square(w * x + b - y)));
    Sgd descent({w, b}, {.learning_rate = 0.3});
    train = descent.minimize(loss, "train");
    named("w_value", w.value());
    named("b_value", b.value());
    init = global_variables_initializer();
  }
  Session session(graph);
  session.run(init);
  for (int i = 1; i <= 1000; ++i) {
    session.run(train, {{"x", xs}, {"y", ys}});
    if (i % 100 == 0) {
      const Tensor loss = session.run("loss", {{"x", xs}, {"y", ys}});
      std::printf("iter %d training loss %f\n", i, loss.item<double>());
    }
  }
  const auto fitted = session.run({"w_value", "b_value"});
  std::printf("y = %.3f x + %.3f\n", fitted[0].item<double>(), fitted[1].item<double>());
}
