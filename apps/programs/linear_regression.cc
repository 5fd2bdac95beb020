// Fits y = W x + b to points by gradient descent, as a TensorFlow 1 program would: build a graph, then run it.
// linear_regression_eager.cc does the same in half the lines.
#include <cstdio>

#include "panto/apps/programs/programs.h"
#include "panto/panto.h"

namespace panto::apps {

void linear_regression(Run& run) {
  const Tensor xs = tensor(
      {-1.6f, -1.4f, -1.2f, -1.0f, -0.8f, -0.6f, -0.4f, -0.2f, 0.0f, 0.2f, 0.4f, 0.6f, 0.8f, 1.0f, 1.2f, 1.4f, 1.6f});
  const Tensor ys = tensor({-2.71f, -2.32f, -1.87f, -1.46f, -1.17f, -0.62f, -0.39f, 0.21f, 0.44f, 0.97f, 1.22f, 1.81f,
                            2.02f, 2.59f, 2.87f, 3.31f, 3.74f});
  Graph graph;
  Variable w, b;
  Tensor x, y, loss;
  Operation init, train;
  {
    const GraphScope building(graph);
    x = placeholder(kFloat32, {-1}, "x");
    y = placeholder(kFloat32, {-1}, "y");
    w = Variable(run.first_value("W", tensor(0.3f)), "W");
    b = Variable(run.first_value("b", tensor(-0.3f)), "b");
    loss = sum(square(w * x + b - y));
    train = Sgd({.learning_rate = 0.001}).minimize(loss);
    init = global_variables_initializer();
  }
  Session session(graph);
  session.run(init);
  const int64_t steps = run.steps(1000, 1000);
  for (int64_t i = 1; i <= steps; ++i) {
    session.run(train, {{x, xs}, {y, ys}});
    const double now = session.run(loss, {{x, xs}, {y, ys}}).item<double>();
    run.keep_loss(now);
    std::printf("iter step %d training loss %f\n", static_cast<int>(i), now);
  }
  const auto [slope, offset] = session.run<2>({w, b});
  std::printf("W %.5f b %.5f\n", slope.item<double>(), offset.item<double>());
  run.save(session, {w, b});
}

}  // namespace panto::apps
