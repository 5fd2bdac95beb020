// Softmax regression as TensorFlow 1 programs have it: placeholders, a training op, a session with feeds.
#include <panto/panto.h>

#include <iostream>

using namespace panto;

int main() {
  Graph graph;
  Tensor x, y, loss, accuracy;
  Operation train, init;
  {
    GraphScope building(graph);
    x = placeholder(kFloat32, {-1, 2}, "x");
    y = placeholder(kInt32, {-1}, "y");
    const Variable w(zeros({2, 3}), "w"), b(zeros({3}), "b");
    const Tensor logits = matmul(x, w) + b;
    loss = sparse_cross_entropy(logits, y);
    accuracy = mean(cast(argmax(logits, 1) == cast(y, kInt64), kFloat32));
    train = Sgd({w, b}, {.learning_rate = 0.5}).minimize(loss);
    init = global_variables_initializer();
  }
  const Tensor labels = random_uniform({300}, {.seed = 1, .dtype = kInt32, .max = 3});
  const Tensor corners = tensor({{0.f, 0.f}, {3.f, 0.f}, {0.f, 3.f}});
  const Tensor points = gather(corners, labels) + 0.5f * randn({300, 2}, {.seed = 2});

  Session session(graph);
  session.run(init);
  std::cout << "loss before: " << session.run(loss, {{x, points}, {y, labels}}) << '\n';  // log 3
  for (int step = 0; step < 200; ++step) session.run(train, {{x, points}, {y, labels}});
  const auto results = session.run({loss, accuracy}, {{x, points}, {y, labels}});
  std::cout << std::boolalpha << "loss after below 0.1: " << (results[0].item<float>() < 0.1f)
            << ", accuracy above 97 %: " << (results[1].item<float>() > 0.97f) << '\n';
}
