// A convolutional network for handwritten digits in the style of TensorFlow 1: layers are functions on a graph, and a
// placeholder switches between training and inference.
#include <cstdio>

#include "panto/apps/programs/programs.h"
#include "panto/panto.h"

namespace panto::apps {
namespace {

Tensor network(const Tensor& images, const Tensor& training, int64_t units) {
  const layers::ConvOptions<2> relu_of = {.padding = Padding::kSame, .activation = relu};
  Tensor y = layers::max_pooling2d(layers::conv2d(images, 16, 5, relu_of), 2);
  y = layers::max_pooling2d(layers::conv2d(y, 32, 3, relu_of), 2);
  y = layers::dense(layers::flatten(y), units, {.activation = relu});
  return layers::dense(layers::dropout(y, 0.4, {.training = training}), 10);
}

}  // namespace

void mnist_cnn(Run& run) {
  constexpr int64_t kBatch = 100;
  const std::string folder = run.data("mnist10k");
  const LabelledImages train_set = read_mnist(folder, "train"), test_set = read_mnist(folder, "t10k");
  const int64_t count = train_set.images.dim(0);

  Graph graph;
  std::vector<Variable> variables;
  Tensor images, labels, training, loss, accuracy;
  Operation init, train;
  {
    const GraphScope building(graph);
    const VariableScope scope("", {.custom_getter = run.first_values()});
    images = placeholder(kFloat32, {-1, 28, 28}, "images");
    labels = placeholder(kInt32, {-1}, "labels");
    training = placeholder(kBool, Shape(), "training");
    const Tensor logits = network(images(Ellipsis, NewAxis), training, run.quick() ? 16 : 64);
    loss = mean(sparse_softmax_cross_entropy_with_logits(logits, labels));
    accuracy = mean(cast(argmax(logits, 1) == cast(labels, kInt64), kFloat32));
    variables = trainable_variables();
    train = Adam({.learning_rate = 0.002}).minimize(loss);
    init = global_variables_initializer();
  }

  Session session(graph);
  session.run(init);
  const int64_t round = count / kBatch, steps = run.steps(12 * round, 120);
  const Tensor batches = run.batches(count, kBatch, steps);
  for (int64_t i = 1; i <= steps; ++i) {
    const Tensor at = batches(i - 1);
    const auto [now, done] = session.run<2>({loss, train}, {{images, gather(train_set.images, at)},
                                                            {labels, gather(train_set.labels, at)},
                                                            {training, !run.is_compared()}});
    run.keep_loss(now.item<double>());
    if (i % round == 0 || i == steps) {
      std::printf("step %d loss %f\n", static_cast<int>(i), now.item<double>());
    }
  }
  const Tensor right = session.run(accuracy, {{images, test_set.images}, {labels, test_set.labels}, {training, false}});
  std::printf("accuracy on %d other digits %.2f %%\n", static_cast<int>(test_set.images.dim(0)),
              100 * right.item<double>());
  run.save(session, variables);
}

}  // namespace panto::apps
