// A convolutional network with a learning-rate schedule and early stopping. Saves the best weights to best.npz and
// loads them into another model.
#include <panto/panto.h>

#include <cmath>
#include <iostream>
#include <utility>

using namespace panto;

// Noisy images of 12x12 with a bar in them: 0 horizontal, 1 vertical, 2 the diagonal.
std::pair<Tensor, Tensor> bars(int count) {
  const Tensor labels = random_uniform({count}, {.dtype = kInt32, .max = 3});
  const Tensor at = random_uniform({count}, {.dtype = kInt32, .min = 2, .max = 10}).reshape({count, 1, 1});
  const Tensor row = arange(12).reshape({1, 12, 1}), column = arange(12).reshape({1, 1, 12});
  const Tensor kind = labels.reshape({count, 1, 1});
  const Tensor bar = where(kind == 0, row == at, where(kind == 1, column == at, row == column));
  return {cast(bar, kFloat32)(Ellipsis, NewAxis) + 0.3f * randn({count, 12, 12, 1}), labels};
}

Sequential network() {
  return Sequential(Conv2D(1, 16, 3, {.activation = relu}), MaxPool2D(2), Conv2D(16, 16, 3, {.activation = relu}),
                    GlobalAveragePool2D(), Dense(16, 3));
}

int main() {
  set_seed(1);
  const auto [train_images, train_labels] = bars(1000);
  const auto [test_images, test_labels] = bars(200);
  const Sequential model = network();
  Adam adam(model.variables(), {.learning_rate = cosine_decay(0.01, 800)});
  Dataset train = Dataset::from_tensors({train_images, train_labels}).shuffle(1000, 1).batch(50);
  const auto test_loss = [&](const Sequential& of) {
    return sparse_cross_entropy(of(test_images), test_labels).item<double>();
  };

  double best = INFINITY;
  int epoch = 0;
  for (int waited = 0; epoch < 40 && waited < 4; ++epoch) {
    for (const auto& [images, labels] : train) {
      GradientTape tape;
      const Tensor loss = sparse_cross_entropy(model(images), labels);
      adam.apply(tape.gradient(loss, adam.variables()));
    }
    const double loss = test_loss(model);
    ++waited;
    if (loss < best - 0.002) {
      best = loss;
      waited = 0;
      model.save("best.npz");
    }
  }
  const Sequential again = network();
  again.load("best.npz");
  const double accuracy = mean(cast(argmax(again(test_images), 1) == test_labels, kFloat32)).item<double>();
  std::cout << std::boolalpha << "stopped before the last epoch: " << (epoch < 40) << '\n'
            << "the loaded model has the best loss: " << (test_loss(again) == best) << '\n'
            << "accuracy above 95 %: " << (accuracy > 0.95) << '\n';
}
