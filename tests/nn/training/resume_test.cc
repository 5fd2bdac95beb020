// A training run that is stopped at any moment and goes on in a new process ends in the same bits as one that was not.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"

namespace panto {
namespace {

constexpr int64_t kSteps = 12;

// In a new order in each pass, and read ahead.
Dataset examples() {
  const Tensor x = random_normal({14, 4}, {.seed = 1});
  const Tensor y = cast(argmax(x, 1), kInt32);
  return Dataset::from_tensors({x, y})
      .shuffle(8)
      .map([](const Tensor& a, const Tensor& b) { return std::pair(a * 2.f, b); }, {.threads = 2})
      .batch(4)
      .prefetch(2);
}

Tensor loss_of(const Layer& model, const Tensor& x, const Tensor& y) {
  const TrainingScope training;
  return sparse_categorical_cross_entropy(model(x + random_normal({4}, {.stddev = 0.01})), y, {.from_logits = true});
}

// One step of training, eagerly or by a traced function.
void train_eagerly(const std::string& folder, bool traced) {
  const Sequential model(Dense(4, 8, {.activation = relu}), Dropout(0.3), BatchNorm(8), Dense(8, 4));
  Adam adam(model.variables(), {.learning_rate = cosine_decay(0.05, kSteps, {.warmup_steps = 5})});
  LossScale scale({.initial = 1024, .growth_steps = 7});
  GradientAccumulator accumulator(adam, {.steps = 2});
  ExponentialMovingAverage average(model.variables(), {.decay = 0.9});
  const metrics::Mean mean_loss;
  const Variable step(tensor(int64_t{0}), "step");
  const Dataset data = examples();
  const auto train = [&](const Tensor& x, const Tensor& y) {
    GradientTape tape;
    const Tensor loss = loss_of(model, x, y);
    accumulator.apply(scale.unscale_gradients(tape.gradient(scale.scale_loss(loss), adam.variables())));
    average.apply();
    mean_loss.update_state(loss);
    step.assign_add(1);
    return loss;
  };
  const Function function = trace(train);
  Checkpoint checkpoint({{"model", model},
                         {"optimizer", adam},
                         {"scale", scale},
                         {"accumulator", accumulator},
                         {"average", average},
                         {"loss", mean_loss},
                         {"data", data},
                         {"random", random_generator()},
                         {"step", step}});
  CheckpointManager manager(checkpoint, folder, {.max_to_keep = 2});
  if (const auto restored = manager.restore_latest()) restored->assert_consumed();
  for (int64_t now = step.value().item<int64_t>(); now < kSteps;) {
    for (auto [x, y] : data) {
      traced ? (void)function(x, y) : (void)train(x, y);
      now = step.value().item<int64_t>();
      now % 2 == 0 ? (void)manager.save(now) : (void)manager.save_async(now);
      if (now == kSteps) break;
    }
  }
}

void train_in_a_session(const std::string& folder) {
  Graph graph;
  std::optional<GraphScope> building(std::in_place, graph);
  const Sequential model(Dense(4, 8, {.activation = relu}), Dropout(0.3), Dense(8, 4));
  const Tensor x = placeholder(kFloat32, {-1, 4}, "x"), y = placeholder(kInt32, {-1}, "y");
  const Variable step(tensor(int64_t{0}), "step");
  Adam adam(AdamOptions{.learning_rate = cosine_decay(0.05, kSteps)});
  const Operation train = adam.minimize(loss_of(model, x, y), {.global_step = step});
  const Operation init = global_variables_initializer();
  building.reset();
  const Dataset data = examples();
  building.emplace(graph);
  Checkpoint checkpoint(
      {{"model", model}, {"optimizer", adam}, {"data", data}, {"random", random_generator()}, {"step", step}});
  building.reset();
  CheckpointManager manager(checkpoint, folder, {.max_to_keep = 2});
  Session session(graph);
  session.run(init);
  if (const auto restored = manager.restore_latest(session)) restored->assert_consumed();
  for (int64_t now = session.run(step).item<int64_t>(); now < kSteps;) {
    for (auto [images, labels] : data) {
      session.run(train, {{x, images}, {y, labels}});
      now = session.run(step).item<int64_t>();
      now % 2 == 0 ? (void)manager.save(session, now) : (void)manager.save_async(session, now);
      if (now == kSteps) break;
    }
  }
}

enum class Mode { kEager, kTraced, kSession };

// In a child, which is killed after so many microseconds unless it is done before (-1: it is not killed). Whether it
// came to its end.
bool train(Mode mode, const std::string& folder, int64_t seed, int64_t microseconds) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    try {
      set_seed(seed);
      mode == Mode::kSession ? train_in_a_session(folder) : train_eagerly(folder, mode == Mode::kTraced);
      _exit(0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      _exit(1);
    }
  }
  if (microseconds >= 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
    kill(child, SIGKILL);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const bool ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  const bool killed = microseconds >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  BOOST_TEST((ended || killed), "the child failed: " << status);
  return ended;
}

void expect_same_ends(const std::string& a, const std::string& b) {
  const std::vector<NamedTensor> of_a = read_checkpoint(*latest_checkpoint(a)),
                                 of_b = read_checkpoint(*latest_checkpoint(b));
  BOOST_REQUIRE(of_a.size() == of_b.size());
  for (size_t i = 0; i < of_a.size(); ++i) {
    BOOST_TEST_CONTEXT(of_a[i].first) {
      const Tensor &x = of_a[i].second, &y = of_b[i].second;
      BOOST_TEST(of_a[i].first == of_b[i].first);
      BOOST_TEST(x.dtype() == y.dtype());
      BOOST_TEST(x.shape() == y.shape());
      // How far the data was read ahead is a matter of time; what followed was the same.
      if (of_a[i].first.starts_with("session/")) {
        BOOST_TEST((x.item<std::string>() == y.item<std::string>()));
      } else if (x.dtype() != kString) {
        BOOST_TEST((bitcast(x, kUint8).to_vector<uint8_t>() == bitcast(y, kUint8).to_vector<uint8_t>()));
      }
    }
  }
}

// Runs of this mode, of which one is killed so often (or comes to its end before).
int kill_at_times(Mode mode, int kills, uint32_t seed) {
  const TestFolder folder;
  const auto begin = std::chrono::steady_clock::now();
  BOOST_REQUIRE(train(mode, folder / "whole", 5, -1));
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin);
  std::mt19937 random(seed);
  int killed = 0;
  // Only the first process draws what a run begins with; the seeds of others must not matter once there is something
  // to go on from.
  while (killed < kills) {
    const bool is_first = !latest_checkpoint(folder / "killed").has_value();
    const auto a_while = static_cast<int64_t>(random() % static_cast<uint64_t>(took.count()));
    if (train(mode, folder / "killed", is_first ? 5 : 1000 + killed, a_while)) break;
    ++killed;
  }
  const bool is_first = !latest_checkpoint(folder / "killed").has_value();
  BOOST_REQUIRE(train(mode, folder / "killed", is_first ? 5 : 77, -1));
  expect_same_ends(folder / "whole", folder / "killed");
  return killed;
}

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(resume)

BOOST_AUTO_TEST_CASE(a_run_that_is_killed_goes_on, *boost::unit_test::label("native")) {
  int killed = 0;
  for (const Mode mode : {Mode::kEager, Mode::kTraced, Mode::kSession}) killed += kill_at_times(mode, 2, 3);
  BOOST_TEST(killed > 0);
}

BOOST_AUTO_TEST_CASE(a_run_that_is_killed_often, *boost::unit_test::label("slow")) {
  for (int killed = 0, round = 0; killed < 50; ++round) {
    killed += kill_at_times(static_cast<Mode>(round % 3), 6, static_cast<uint32_t>(100 + round));
  }
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
