// A small dense network for handwritten digits, 784-4-10 with tanh on both layers, in the style of TensorFlow 1.
#include <cstdio>
#include <iostream>
#include <vector>

#include "panto/apps/programs/programs.h"
#include "panto/panto.h"

namespace panto::apps {

void mnist_dnn(Run& run) {
  constexpr int64_t kBatch = 100;
  const LabelledImages digits = read_mnist(run.data("mnist10k"), "train");
  const int64_t count = digits.images.dim(0);
  const Tensor pixels = digits.images.reshape({count, 784}), labels = one_hot(digits.labels, 10);

  Graph graph;
  std::vector<Variable> weights, biases;
  Tensor x, label, loss;
  Operation init, train;
  {
    const GraphScope building(graph);
    x = placeholder(kFloat32, {-1, 784}, "x");
    label = placeholder(kFloat32, {-1, 10}, "label");
    const auto layer = [&](const Tensor& in, int64_t inputs, int64_t units) {
      const std::string number = std::to_string(weights.size());
      weights.emplace_back(run.first_value("W" + number, random_normal({inputs, units}, {.stddev = 0.1})),
                           "W" + number);
      biases.emplace_back(run.first_value("b" + number, zeros({units})), "b" + number);
      return tanh(matmul(in, weights.back()) + biases.back());
    };
    loss = -mean(label * log(softmax(layer(layer(x, 784, 4), 4, 10))));
    train = Sgd({.learning_rate = 0.8}).minimize(loss);
    init = global_variables_initializer();
  }

  Session session(graph);
  session.run(init);
  const int64_t steps = run.steps(10000, 500);
  const Tensor batches = run.batches(count, kBatch, steps);
  for (int64_t i = 1; i <= steps; ++i) {
    const Tensor at = batches(i - 1);
    const auto [now, done] = session.run<2>({loss, train}, {{x, gather(pixels, at)}, {label, gather(labels, at)}});
    run.keep_loss(now.item<double>());
    if (i % (steps / 10) == 0) {
      std::printf("After %d training step(s), loss on training batch is %g.\n", static_cast<int>(i),
                  now.item<double>());
    }
  }
  std::printf("Finish Model Train:\n");
  for (size_t i = 0; i < weights.size(); ++i) {
    const auto [weight, bias] = session.run<2>({weights[i], biases[i]});
    std::printf("Layer-Weight-%d:\n", static_cast<int>(i));
    std::cout << weight << '\n' << bias << std::endl;
  }
  std::printf("MNIST DNN All Finish\n");
  run.save(session, {weights[0], biases[0], weights[1], biases[1]});
}

}  // namespace panto::apps
