// Two sessions of two graphs share their variables: one fits a line, the other one predicts with it. A third session
// has its own variables.
#include <panto/lib/core/tensor/resource.h>
#include <panto/panto.h>

#include <cmath>
#include <iostream>
#include <memory>

using namespace panto;

int main() {
  Graph training, answering;
  Tensor x, y, loss, question, answer;
  Operation init, train;
  {
    const GraphScope building(training);
    const Variable w(tensor(0.f), "w"), b(tensor(0.f), "b");
    x = placeholder(kFloat32, {-1}, "x");
    y = placeholder(kFloat32, {-1}, "y");
    loss = mean(square(x * w + b - y));
    train = Sgd({w, b}, {.learning_rate = 0.2}).minimize(loss);
    init = global_variables_initializer();
  }
  {
    const GraphScope building(answering);
    const Variable w(tensor(0.f), "w"), b(tensor(0.f), "b");  // the same names
    question = placeholder(kFloat32, {}, "question");
    answer = question * w + b;
  }

  const auto shared = std::make_shared<ResourceManager>();
  Session trains(training, {.resources = shared}), answers(answering, {.resources = shared});
  trains.run(init);
  const Feeds line{{x, tensor({0.f, 1.f, 2.f, 3.f})}, {y, tensor({1.f, 3.f, 5.f, 7.f})}};  // y = 2 x + 1
  for (int step = 0; step <= 100; ++step) {
    if (step % 50 == 0) {
      const float got = answers.run(answer, {{question, 10}}).item<float>();
      std::cout << "after " << step << " steps, at 10: " << std::round(got * 100) / 100 << '\n';
    }
    trains.run(train, line);
  }

  Session alone(answering);
  try {
    alone.run(answer, {{question, 10}});
  } catch (const Error& error) {
    std::cout << "alone: " << (error.code() == Code::kFailedPrecondition ? "no value yet" : error.what()) << '\n';
  }
  Session::reset({});  // empties the container, and closes all sessions
  std::cout << "closed: " << std::boolalpha << (trains.closed() && answers.closed())
            << ", variables left: " << shared->list().size() << '\n';
}
