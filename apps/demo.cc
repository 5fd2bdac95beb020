// panto demo: trains on real digits, eagerly and traced, then saves the graph and loads it again.
#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "panto/apps/commands.h"
#include "panto/apps/data.h"
#include "panto/apps/digits.h"
#include "panto/lib/base/text/format.h"
#include "panto/panto.h"

namespace panto::apps {
namespace {

constexpr int64_t kBatch = 64;

struct Row {
  std::string name;
  double accuracy = 0;
  double steps_per_second = 0;  // 0: no training
  double images_per_second = 0;
  std::string difference;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Trains for some epochs and returns steps per second.
template <class Step>
double train(const std::string& title, const LabelledImages& data, int epochs, uint64_t seed, Step step) {
  const Dataset batches = Dataset::from_tensors({data.images, data.labels})
                              .shuffle(data.images.dim(0), seed)
                              .batch(kBatch, {.drop_remainder = true});
  Progress progress(batches.size().value() * epochs, title);
  double in_steps = 0;
  int64_t done = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    double loss_sum = 0;
    int64_t count = 0;
    for (const auto& [x, y] : batches) {
      const auto start = std::chrono::steady_clock::now();
      loss_sum += step(x, y).template item<double>();
      in_steps += seconds_since(start);
      ++count;
      ++done;
      progress.update(done, {{"loss", loss_sum / static_cast<double>(count)}});
    }
  }
  return static_cast<double>(done) / in_steps;
}

template <class Predict>
Row measure(std::string name, const LabelledImages& test, Predict predict, Tensor& logits) {
  constexpr int kRepeats = 20;
  logits = predict(test.images);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kRepeats; ++i) predict(test.images);
  const double seconds = seconds_since(start) / kRepeats;
  Row row;
  row.name = std::move(name);
  row.accuracy = accuracy(logits, test.labels).item<double>();
  row.images_per_second = static_cast<double>(test.images.dim(0)) / seconds;
  return row;
}

// Describes the largest difference between two results, in units in the last place of the larger one.
std::string difference(const Tensor& a, const Tensor& b) {
  const auto x = a.data<float>();
  const auto y = b.data<float>();
  double ulps = 0;
  double absolute = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double d = std::fabs(double{x[i]} - double{y[i]});
    const float large = std::max(std::fabs(x[i]), std::fabs(y[i]));
    absolute = std::max(absolute, d);
    if (d > 0) ulps = std::max(ulps, d / (double{std::nextafter(large, INFINITY)} - double{large}));
  }
  return absolute == 0 ? "0" : fmt::format("{:.2g} ({:.0f} ulp)", absolute, ulps);
}

void print_table(const std::vector<Row>& rows) {
  fmt::print("\n{:<26} {:>9} {:>13} {:>12}   {}\n", "", "accuracy", "train steps/s", "images/s",
             "largest difference from eager");
  for (const Row& r : rows) {
    fmt::print("{:<26} {:>8.2f}% {:>13} {:>12.0f}   {}\n", r.name, r.accuracy * 100,
               r.steps_per_second > 0 ? fmt::format("{:.0f}", r.steps_per_second) : "-", r.images_per_second,
               r.difference);
  }
}

}  // namespace

void demo(const DemoOptions& options) {
  const std::string folder = find_data(options.data, "mnist10k");
  const LabelledImages train_set = read_mnist(folder, "train");
  const LabelledImages test_set = read_mnist(folder, "t10k");
  fmt::print("{} training and {} test digits\n", train_set.images.dim(0), test_set.images.dim(0));

  set_seed(1);
  const Sequential model(Flatten(),
                         Dense(784, 128, {.activation = [](const Tensor& x) { return relu(x); }, .name = "hidden"}),
                         Dense(128, 10, {.name = "digit"}));
  fmt::print("{}", model.to_string());
  // Large learning rate first; a small one for the traced training.
  Adam coarse(model.variables(), {.learning_rate = 3e-3});
  Adam fine(model.variables(), {.learning_rate = 3e-4});
  const auto step_of = [&model](Adam& adam) {
    return [&model, &adam](const Tensor& x, const Tensor& y) {
      GradientTape tape;
      const Tensor loss = sparse_cross_entropy(model(x), y);
      adam.apply(tape.gradient(loss, adam.variables()));
      return loss;
    };
  };
  const auto predict = [&](const Tensor& x) { return model(x); };

  const double eager_steps = train("training eagerly", train_set, options.eager_epochs, 100, step_of(coarse));
  const Function traced_step =
      trace(step_of(fine), {TensorSpec(kFloat32, {kBatch, 28, 28}, "images"), TensorSpec(kInt32, {kBatch}, "labels")});
  const Function traced_predict = trace(predict, {TensorSpec(kFloat32, {-1, 28, 28}, "images")});
  fmt::print("traced the training step: {}\n", traced_step.to_string());
  fmt::print("traced predict:           {}\n", traced_predict.to_string());
  const double traced_steps = train("training the graph", train_set, options.traced_epochs, 200, traced_step);

  const std::string path = (std::filesystem::path(options.out) / "predict.pb").string();
  traced_predict.save(path);
  const Function reloaded = load(path);
  fmt::print("saved {} ({} bytes) and loaded it again\n", path, std::filesystem::file_size(path));

  Tensor eager, traced, plain, again;
  std::vector<Row> rows;
  rows.push_back(measure("eager", test_set, predict, eager));
  rows.back().steps_per_second = eager_steps;
  rows.back().difference = "-";
  traced_predict.set_optimizer("off");
  rows.push_back(measure("traced, optimizer off", test_set, traced_predict, plain));
  rows.back().difference = difference(eager, plain);
  traced_predict.set_optimizer("");
  rows.push_back(measure("traced", test_set, traced_predict, traced));
  rows.back().steps_per_second = traced_steps;
  rows.back().difference = difference(eager, traced);
  rows.push_back(measure("reloaded from predict.pb", test_set, reloaded, again));
  rows.back().difference = difference(eager, again);

  constexpr int64_t kShown = 4;
  const Tensor best = argmax(again, 1);
  std::vector<std::string> captions;
  for (int64_t i = 0; i < kShown; ++i) {
    captions.push_back(fmt::format("says {}, is {}", best(i).item<int64_t>(), test_set.labels(i).item<int32_t>()));
  }
  fmt::print("\n{}", draw_digits(slice(test_set.images, {0, 0, 0}, {kShown, 28, 28}), captions));
  print_table(rows);
}

}  // namespace panto::apps
