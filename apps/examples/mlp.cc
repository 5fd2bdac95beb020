// A custom layer made of other layers, and a training loop as in PyTorch: classifies points by their quadrants.
#include <panto/panto.h>

#include <iostream>

using namespace panto;

struct Mlp : Layer {
  Mlp(int inputs, int hidden, int outputs) : first(inputs, hidden), second(hidden, hidden), last(hidden, outputs) {}
  Parts parts() const override { return {first, second, last, scale}; }
  Tensor forward(const Tensor& x) const override {
    const Tensor h = relu(first(x));
    return last(drop(relu(second(h)))) * scale;
  }
  Dense first, second, last;
  Dropout drop{0.1};
  Variable scale{ones({2}), "scale"};
};

int main() {
  set_seed(3);
  const Tensor x = random_uniform({500, 2}, -2.f, 2.f);
  const Tensor labels = cast(x[{Slice(), 0}] * x[{Slice(), 1}] > 0.f, kInt64);

  const Mlp model(2, 32, 2);
  AdamW adam(model.variables(), {.learning_rate = 1e-2, .weight_decay = 0.01});
  for (int epoch = 0; epoch < 60; ++epoch) {
    const TrainingScope training;
    const Tensor order = argsort(rand(500));
    for (int i = 0; i < 500; i += 50) {
      const Tensor batch = order[Slice(i, i + 50)];
      GradientTape tape;
      const Tensor loss = mean(sparse_softmax_cross_entropy_with_logits(model(x[batch]), labels[batch]));
      adam.apply(clip_by_global_norm(tape.gradient(loss, adam.variables()), 1));
    }
  }
  const Tensor right = model(x).argmax(1) == labels;
  std::cout << std::boolalpha << "accuracy above 95 %: " << (mean(cast(right, kFloat32)).item<float>() > 0.95f) << '\n';

  model.save("mlp.safetensors");
  const Mlp other(2, 32, 2);
  other.load("mlp.safetensors");
  std::cout << "the loaded model says the same: " << all(other(x) == model(x)).item<bool>() << '\n';
  for (const auto& [name, variable] : model.named_variables()) std::cout << name << ' ' << variable.shape() << '\n';
}
