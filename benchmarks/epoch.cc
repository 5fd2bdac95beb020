// An epoch over pictures in a file: reading only, training only, and both in parallel, one thread each.
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "panto/benchmarks/support.h"
#include "panto/panto.h"

namespace panto::bench {
namespace {

constexpr int64_t kPictures = 256, kBatch = 8;

// A file with a JPEG of 160 x 120 pixels per record; the destructor removes it.
class Pictures {
 public:
  Pictures() : path_((std::filesystem::temp_directory_path() / "panto-bench-XXXXXX").string()) {
    const int made = mkstemp(path_.data());
    if (made < 0) fail(Code::kUnavailable, "expected a temporary file, got none");
    close(made);
    RecordWriter writer(path_);
    for (int64_t i = 0; i < kPictures; ++i) {
      const Tensor x = cast(128.f + 100.f * sin(numbers({120, 160, 3}, i + 1) * 9.f), kUint8);
      writer.write(encode_jpeg(x).item<std::string>());
    }
    writer.close();
  }
  Pictures(const Pictures&) = delete;
  Pictures& operator=(const Pictures&) = delete;
  ~Pictures() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  // Batches of pictures, scaled to [-1, 1].
  Dataset batches() const {
    return Dataset::from_tfrecord(path_)
        .map([](const Tensor& record) { return cast(decode_image(record.item<std::string>()), kFloat32); })
        .batch(kBatch)
        .map([](const Tensor& x) { return x / 127.5f - 1.f; });
  }

 private:
  std::string path_;
};

// A training step of a network whose first convolution has `features` features.
struct Network {
  explicit Network(int64_t features)
      : model{Conv2D(3, features, 3, {.stride = 2, .activation = relu}),
              Conv2D(features, 2 * features, 3, {.stride = 2, .activation = relu}), GlobalAveragePool2D(),
              Dense(2 * features, 10)},
        optimizer(model.variables(), {.learning_rate = 0.001}),
        labels(random_uniform({kBatch}, {.seed = 2, .dtype = kInt32, .min = 0, .max = 10})),
        step(trace(
            [this](const Tensor& x) {
              GradientTape tape;
              Tensor loss = sparse_cross_entropy(model(x), labels);
              optimizer.apply(tape.gradient(loss, optimizer.variables()));
              return loss;
            },
            {TensorSpec(kFloat32, {kBatch, 120, 160, 3}, "x")})) {}
  Sequential model;
  Sgd optimizer;
  Tensor labels;
  Function step;
};

template <class F>
double seconds_of(const F& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The time is that of both in parallel. The kinds of epochs take turns, and the counters use the fastest epoch of each:
// other load on the machine makes epochs longer, never shorter. `by_slower` divides the time of both by that of the
// slower one alone; `by_apart` by the time of two independent threads that do the two kinds of work, which also compete
// for the processors.
void epoch(benchmark::State& state) {
  const ThreadShare one(1);
  const Pictures pictures;
  const Dataset batches = pictures.batches(), ahead = batches.prefetch(2);
  const Network network(state.range(0));
  std::vector<Tensor> kept;
  for (const Tensor x : batches) kept.push_back(x);
  const auto compute = [&](const Tensor& x) { benchmark::DoNotOptimize(network.step(x).item<float>()); };
  const auto read_all = [&] {
    for (const Tensor x : batches) benchmark::DoNotOptimize(x.numel());
  };
  const auto compute_all = [&] {
    for (const Tensor& x : kept) compute(x);
  };
  const auto both_at_once = [&] {
    for (const Tensor x : ahead) compute(x);
  };
  const auto both_apart = [&] {
    const std::jthread beside([&] {
      const ThreadShare alone(1);
      read_all();
    });
    compute_all();
  };
  compute(kept[0]);
  constexpr double kNone = std::numeric_limits<double>::infinity();
  double reading = kNone, computing = kNone, both = kNone, apart = kNone;
  for (auto _ : state) {
    reading = std::min(reading, seconds_of(read_all));
    const double once = seconds_of(both_at_once);
    both = std::min(both, once);
    computing = std::min(computing, seconds_of(compute_all));
    apart = std::min(apart, seconds_of(both_apart));
    state.SetIterationTime(once);
  }
  state.counters["reading"] = reading;
  state.counters["computing"] = computing;
  state.counters["by_slower"] = both / std::max(reading, computing);
  state.counters["by_apart"] = both / apart;
}
BENCHMARK(epoch)->Arg(4)->Arg(8)->Arg(16)->Arg(32)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace panto::bench
