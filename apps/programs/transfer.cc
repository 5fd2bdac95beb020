// Transfer learning: a network that Keras trained on the digits 0 to 4 (apps/programs/transfer_body.py) learns 5 to 9.
// Its body is loaded and frozen; a new head is trained on the body's outputs.
#include <algorithm>
#include <cstdio>
#include <string>

#include "panto/apps/data.h"
#include "panto/apps/programs/programs.h"
#include "panto/panto.h"

namespace panto::apps {
namespace {

Sequential network_body() {
  return Sequential(Conv2D(1, 16, 3, {.activation = relu}), MaxPool2D(2), Conv2D(16, 16, 3, {.activation = relu}),
                    MaxPool2D(2), Flatten());
}

// Returns the digits 5 to 9, with the labels 0 to 4.
LabelledImages upper(const LabelledImages& digits) {
  const Tensor at = squeeze(where(digits.labels >= 5), {.squeeze_dims = {1}});
  return {gather(digits.images, at)(Ellipsis, NewAxis), gather(digits.labels, at) - 5};
}

std::string bytes_of(const Layer& model) {
  std::string all;
  for (const auto& [name, variable] : model.named_variables()) all += npy_bytes(variable.value());
  return all;
}

}  // namespace

void transfer(Run& run) {
  constexpr int64_t kBatch = 50;
  const std::string folder = run.data("mnist10k");
  const LabelledImages digits = upper(read_mnist(folder, "train")), others = upper(read_mnist(folder, "t10k"));
  const Sequential body = network_body();
  body.load(find_data("", "transfer/body.npz"));
  const std::string before = bytes_of(body);

  // The body does not change, so its output for each digit is computed once.
  const Tensor seen = body(digits.images), seen_others = body(others.images);
  const int64_t units = run.quick() ? 32 : 64;
  const Sequential head(Dense(400, units, {.activation = relu}), Dropout(0.3), Dense(units, 5));
  run.begin(head);
  Adam adam(head.variables(), {.learning_rate = 0.002});
  const auto train = trace([&](const Tensor& x, const Tensor& y) {
    const TrainingScope training(!run.is_compared());
    GradientTape tape;
    const Tensor loss = sparse_cross_entropy(head(x), y);
    adam.apply(tape.gradient(loss, adam.variables()));
    return loss;
  });
  const int64_t steps = run.steps(1500, 200);
  const Tensor batches = run.batches(seen.dim(0), kBatch, steps);
  for (int64_t i = 1; i <= steps; ++i) {
    const Tensor at = batches(i - 1);
    const double loss = train(gather(seen, at), gather(digits.labels, at)).item<double>();
    run.keep_loss(loss);
    if (i % std::max<int64_t>(steps / 10, 1) == 0) std::printf("step %d loss %f\n", static_cast<int>(i), loss);
  }
  std::printf("accuracy on other digits from 5 to 9 %.2f %%\n",
              100 * accuracy(head(seen_others), others.labels).item<double>());
  std::printf("the body's bytes are %s\n", bytes_of(body) == before ? "unchanged" : "changed");
  run.save(head);
}

}  // namespace panto::apps
