// Softmax regression of handwritten digits in the style of TensorFlow 1: one product, softmax cross entropy, and
// gradient descent with all images at once.
#include <cstdio>

#include "panto/apps/programs/programs.h"
#include "panto/panto.h"

namespace panto::apps {

void logistic_regression(Run& run) {
  const LabelledImages digits = read_mnist(run.data("mnist10k"), "train");
  const int64_t count = run.quick() ? 1000 : digits.images.dim(0);
  const Tensor pixels = slice(digits.images, {0, 0, 0}, {count, 28, 28}).reshape({count, 784});
  const Tensor labels = one_hot(slice(digits.labels, {0}, {count}), 10);

  Graph graph;
  Variable w, b;
  Tensor x, y, loss, accuracy;
  Operation init, train;
  {
    const GraphScope building(graph);
    x = placeholder(kFloat32, {-1, 784}, "x");
    y = placeholder(kFloat32, {-1, 10}, "y");
    w = Variable(run.first_value("W", zeros({784, 10})), "W");
    b = Variable(run.first_value("b", zeros({10})), "b");
    const Tensor logits = matmul(x, w) + b;
    loss = mean(softmax_cross_entropy_with_logits(logits, y));
    accuracy = mean(cast(argmax(logits, 1) == argmax(y, 1), kFloat32));
    train = Sgd({.learning_rate = 0.01}).minimize(loss);
    init = global_variables_initializer();
  }
  Session session(graph);
  session.run(init);
  const int64_t steps = run.steps(100, 100);
  for (int64_t i = 1; i <= steps; ++i) {
    session.run(train, {{x, pixels}, {y, labels}});
    const auto [now, right] = session.run<2>({loss, accuracy}, {{x, pixels}, {y, labels}});
    run.keep_loss(now.item<double>());
    std::printf("iter step %d training loss %f accuracy %f\n", static_cast<int>(i), now.item<double>(),
                right.item<double>());
  }
  run.save(session, {w, b});
}

}  // namespace panto::apps
