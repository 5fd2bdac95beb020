// Ten thousand runs of sessions on several threads. Many are stopped, come too late or meet a kernel that fails: those
// that end well give the right numbers, the others the error that was to come, and nothing is left of them: no memory,
// no thread, no queue that waits.
//
// PANTO_STRESS_STEPS=100000 makes more of them.
#include <array>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "panto/define_op.h"
#include "panto/lib/core/step/step.h"
#include "panto/lib/runtime/parts/side_by_side.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/graph/function_text.h"
#include "panto/tests/graph/text_graph.h"
#include "panto/tests/runtime/loops.h"
#include "panto/tests/threads/waiting.h"

namespace panto::test {
namespace {

constexpr int kThreads = 4, kDevices = 4;

// Of unknown cost, so that parts with some have threads of their own.
[[maybe_unused]] const Op& kBreak =
    define_op("TestBreak(x: float) -> (y: float)", {.doc = "x, unless below 0.", .shape = shapes::same_as_input});
const CpuKernel break_kernel("TestBreak", [](KernelContext& c) {
  for (int64_t i = 0; i < c.numel(0); ++i) {
    if (c.data<float>(0)[i] < 0) fail(Code::kAborted, "x: expected none below 0, got one");
    c.out_data<float>(0)[i] = c.data<float>(0)[i];
  }
});

class Random {
 public:
  explicit Random(int seed) : engine_(static_cast<unsigned>(seed)) {}
  // From 0 to n - 1.
  int below(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }
  bool one_in(int n) { return below(n) == 0; }

 private:
  std::mt19937 engine_;
};

// One run, and what it comes to.
struct Trial {
  std::string fetch;
  Feeds feeds;
  double expected = 0;
  std::optional<Code> fault = {};  // the error that there is instead
  bool endless = false;            // it ends only where it is stopped
};

struct Work {
  std::unique_ptr<Session> session;
  std::function<Trial(Random&)> next;
};

template <class Build>
std::unique_ptr<Session> session_of(const Build& build) {
  Graph graph;
  {
    const GraphScope building(graph);
    build();
  }
  return std::make_unique<Session>(std::move(graph));
}

// ---- What is run ---------------------------------------------------------------------------------------------------

// y = x (1 + 0 + 1 + ... + n - 1), of a table that ends at 32, and its gradient.
Work loop() {
  return {session_of([] {
            const Tensor x = panto::placeholder(kFloat32, {}, "x"), n = panto::placeholder(kInt32, {}, "n");
            const Tensor table = arange(32.f);
            const auto [i, y] = while_loop(
                [&](const Tensor& i, const Tensor&) { return i < n; },
                [&](const Tensor& i, const Tensor& y) { return std::tuple(i + 1, y + x * gather(table, i)); },
                std::tuple(tensor(0), x));
            named("y", y * 1.f);
            named("dy", gradients(y, {{x}})[0] * 1.f);
          }),
          [](Random& random) {
            const int n = random.below(20), x = random.below(100);
            const bool gradient = random.one_in(2);
            Trial trial{gradient ? "dy" : "y", {{"x", x}, {"n", n}}, (gradient ? 1 : x) * (1 + n * (n - 1) / 2.0)};
            if (random.one_in(5)) trial.feeds[1].second = 33, trial.fault = Code::kInvalidArgument;
            return trial;
          }};
}

// 0 + 1 + ... + n - 1 by a loop of TensorFlow 1: as a While, or round by round, then on several devices, too.
Work old_loop(bool raised) {
  std::string lines = counting_loop(4);
  const auto on = [&](const std::string& node, int device) {
    const size_t end = lines.find('\n', lines.find("    " + node + " = "));
    lines.insert(end, " @/device:CPU:" + std::to_string(device));
  };
  if (!raised) on("new_i", 1), on("new_x", 2), on("less", 3);
  return {std::make_unique<Session>(text_graph(lines), SessionOptions{.raise_control_flow = raised}),
          [](Random& random) {
            const int n = random.below(10);
            if (random.one_in(8)) {
              return Trial{"x_out", {{"limit", std::numeric_limits<float>::infinity()}}, 0, {}, true};
            }
            return Trial{"x_out", {{"limit", n}}, n * (n - 1) / 2.0};
          }};
}

// Twice x, which must be above 0, or x - 1.
Work branches() {
  return {session_of([] {
            const Tensor x = panto::placeholder(kFloat32, {}, "x"), p = panto::placeholder(kBool, {}, "p");
            const auto twice = [&] {
              assert_true(x > 0.f, {x});
              return x * 2.f;
            };
            named("y", cond(p, twice, [&] { return x - 1.f; }) * 1.f);
          }),
          [](Random& random) {
            const int x = random.below(10) - 4;
            const bool p = random.one_in(2);
            Trial trial{"y", {{"x", x}, {"p", p}}, p ? 2.0 * x : x - 1.0};
            if (p && x <= 0) trial.fault = Code::kInvalidArgument;
            return trial;
          }};
}

// x + 2 x + 3 x + 4 x, each on a device.
Work parts() {
  return {session_of([] {
            const Tensor x = panto::placeholder(kFloat32, {}, "x");
            std::vector<Tensor> all;
            for (int d = 0; d < kDevices; ++d) {
              const DeviceScope scope("/cpu:" + std::to_string(d));
              const Tensor scaled = x * static_cast<float>(d + 1);
              all.push_back(dispatch::call("TestBreak", {&scaled, 1}, {})[0]);
            }
            const DeviceScope scope("/cpu:0");
            named("y", add_n(all));
          }),
          [](Random& random) {
            const int x = random.below(100) - 20;
            Trial trial{"y", {{"x", x}}, 10.0 * x};
            if (x < 0) trial.fault = Code::kAborted;
            return trial;
          }};
}

Work recursion() {
  return {std::make_unique<Session>(parse_graph(factorial())), [](Random& random) {
            const int n = random.below(8);
            Trial trial{"y", {{"n", n}}, 1};
            for (int i = 2; i <= n; ++i) trial.expected *= i;
            if (random.one_in(20)) trial.feeds[0].second = 1000, trial.fault = Code::kResourceExhausted;
            return trial;
          }};
}

// One queue that all use, one that nobody fills, and one that nobody empties.
std::unique_ptr<Session> queues() {
  return session_of([] {
    const std::vector<DType> floats = {kFloat32};
    const Tensor x = panto::placeholder(kFloat32, {}, "x");
    const Tensor queue = named("queue", fifo_queue(floats, {.shapes = {Shape{}}}));
    const Tensor empty = named("empty", fifo_queue(floats, {.shapes = {Shape{}}}));
    const Tensor full = named("full", fifo_queue(floats, {.shapes = {Shape{}}, .capacity = 1}));
    const auto act = [](const char* name, const auto& body) {
      const CollectEffects effects;
      body();
      return group(effects.operations(), name);
    };
    const Operation put = act("put", [&] { queue_enqueue(queue, {x}); });
    act("close", [&] { queue_close(queue); });
    act("put_into_full", [&] { queue_enqueue(full, {x}); });
    act("put_into_empty", [&] { queue_enqueue(empty, {x}); });
    named("taken", queue_dequeue(queue, floats)[0]);
    named("taken_from_empty", queue_dequeue(empty, floats)[0]);
    for (const auto& [name, of] : {std::pair("size", queue), std::pair("size_of_full", full)})
      named(name, queue_size(of));
    const ControlDependencies there({put});
    named("exchanged", queue_dequeue(queue, floats)[0]);
  });
}

// ---- Who runs it ---------------------------------------------------------------------------------------------------

// Stops what is entered, at some time.
class Stopper {
 public:
  Stopper()
      : thread_([this] {
          Random random(99);
          while (!done_) {
            std::this_thread::sleep_for(std::chrono::microseconds(10 + random.below(100)));
            std::shared_ptr<Cancellation> victim;
            {
              const std::lock_guard lock(mutex_);
              victim = running_[static_cast<size_t>(random.below(kThreads))];
            }
            if (victim != nullptr) victim->request();
          }
        }) {}
  ~Stopper() {
    done_ = true;
    thread_.join();
  }
  Stopper(const Stopper&) = delete;
  Stopper& operator=(const Stopper&) = delete;
  // What runs on that thread; null: nothing that may be stopped.
  void set(int thread, std::shared_ptr<Cancellation> cancellation) {
    const std::lock_guard lock(mutex_);
    running_[static_cast<size_t>(thread)] = std::move(cancellation);
  }

 private:
  std::mutex mutex_;
  std::array<std::shared_ptr<Cancellation>, kThreads> running_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

struct Tally {
  int right = 0, stopped = 0, failed = 0;
  std::set<std::string> wrong;  // what should not have been
  void add(const Tally& other) {
    right += other.right, stopped += other.stopped, failed += other.failed;
    wrong.insert(other.wrong.begin(), other.wrong.end());
  }
};

class Stress {
 public:
  explicit Stress(int steps) : steps_(steps) {
    for (const auto& make : {loop, branches, parts, recursion}) works_.push_back(make());
    for (const bool raised : {true, false}) works_.push_back(old_loop(raised));
    queues_->run("put_into_full", {{"x", 1}});
  }

  Tally run() {
    std::vector<std::thread> threads;
    std::mutex mutex;
    Tally all;
    {
      Stopper stopper;
      for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
          Tally tally;
          Random random(t + steps_);
          for (int i = t; i < steps_; i += kThreads) step(t, i, stopper, random, tally);
          const std::lock_guard lock(mutex);
          all.add(tally);
        });
      }
      for (std::thread& thread : threads) thread.join();
    }
    look_at_queues();
    return all;
  }

 private:
  void step(int thread, int number, Stopper& stopper, Random& random, Tally& tally) {
    const int which = random.below(20);
    if (which == 0) {
      tally.add(wait_and_end(random));
    } else if (which <= 4) {
      tally.add(use_queues(thread, number, stopper, random));
    } else {
      const Work& work = works_[static_cast<size_t>(random.below(static_cast<int>(works_.size())))];
      const Trial trial = work.next(random);
      const auto is_right = [&](double value) { return value == trial.expected; };
      tally.add(attempt(*work.session, trial, is_right, thread, stopper, random));
    }
  }

  // Runs it to its end, or until it is stopped or its time is up.
  template <class IsRight>
  static Tally attempt(Session& session, const Trial& trial, const IsRight& is_right, int thread, Stopper& stopper,
                       Random& random) {
    Tally tally;
    const int kind = trial.endless ? 10 + random.below(10) : random.below(20);
    const bool stops = kind >= 10;
    RunOptions options;
    Step step = current_step();
    if (kind >= 15) {
      options.timeout = 1e-6 * (1 + random.below(500));
    } else if (stops) {
      step.cancellation = std::make_shared<Cancellation>();
      if (kind == 10) step.cancellation->request();
      stopper.set(thread, step.cancellation);
    }
    const auto complain = [&](const std::string& what) {
      tally.wrong.insert("'" + trial.fetch + "' with " + std::to_string(trial.expected) + ": " + what);
    };
    try {
      const StepScope scope(step);
      const double value = session.run({trial.fetch}, trial.feeds, options)[0].item<double>();
      ++tally.right;
      if (trial.fault || trial.endless || !is_right(value)) complain("got " + std::to_string(value));
    } catch (const Error& error) {
      if (stops && (error.code() == Code::kCancelled || error.code() == Code::kDeadlineExceeded)) {
        ++tally.stopped;
      } else {
        ++tally.failed;
        if (trial.fault != error.code()) complain(error.what());
      }
    }
    stopper.set(thread, nullptr);
    return tally;
  }

  // Puts a number into the queue that all use and takes one out; or waits in vain.
  Tally use_queues(int thread, int number, Stopper& stopper, Random& random) {
    Trial trial{"exchanged", {{"x", number}}, static_cast<double>(number)};
    if (random.one_in(2)) {
      trial.fetch = random.one_in(2) ? "^put_into_full" : "taken_from_empty";
      trial.endless = true;
    }
    return attempt(*queues_, trial, [this](double value) { return takes(value); }, thread, stopper, random);
  }

  // What comes out of the queue went in, and comes once.
  bool takes(double value) {
    const std::lock_guard lock(taken_mutex_);
    return value >= 0 && value < steps_ && value == std::floor(value) && taken_.insert(value).second;
  }

  // A session of its own, in which somebody waits until there is something, the queue is closed, the session is closed,
  // or somebody asks.
  static Tally wait_and_end(Random& random) {
    const std::unique_ptr<Session> session = queues();
    Step step = current_step();
    step.cancellation = std::make_shared<Cancellation>();
    Waiting waits([&] {
      const StepScope scope(step);
      session->run("taken");
    });
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(200)));
    std::string begins;
    switch (random.below(4)) {
      case 0: session->run("put", {{"x", 1}}), begins = "fine"; break;
      case 1: session->run("close"), begins = "OutOfRange: queue \"queue\": expected 1 elements"; break;
      case 2: session->close(), begins = "Cancelled: "; break;
      default: step.cancellation->request(), begins = "Cancelled: ";
    }
    const std::string text = waits.join();
    Tally tally;
    ++(text == "fine" ? tally.right : tally.stopped);
    const bool too_late =
        session->closed() && text.starts_with("FailedPrecondition: session: expected one that is open");
    if (!text.starts_with(begins) && !too_late) tally.wrong.insert("expected " + begins + "..., got " + text);
    return tally;
  }

  // They serve as if nobody had waited in vain, and have lost nothing.
  void look_at_queues() {
    const RunOptions soon{.timeout = 60};
    const auto ask = [&](const char* fetch, double x) {
      return queues_->run({fetch}, {{"x", x}}, soon)[0].item<double>();
    };
    BOOST_TEST(ask("size_of_full", 0) == 1);
    for (int left = static_cast<int>(ask("size", 0)); left > 0; --left) BOOST_TEST(takes(ask("taken", 0)));
    BOOST_TEST(ask("exchanged", 7.5) == 7.5);
    queues_->run({"put_into_empty"}, {{"x", 3.5}}, soon);
    BOOST_TEST(ask("taken_from_empty", 0) == 3.5);
  }

  int steps_;
  std::vector<Work> works_;
  std::unique_ptr<Session> queues_ = queues();
  std::mutex taken_mutex_;
  std::set<double> taken_;
};

size_t threads_alive() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}

BOOST_AUTO_TEST_SUITE(stress)

BOOST_AUTO_TEST_CASE(ten_thousand_steps_leave_nothing) {
  const char* const asked = std::getenv("PANTO_STRESS_STEPS");
  const int steps = asked == nullptr ? 10000 : std::atoi(asked);
  set_cpu_device_count(kDevices);
  // What a process makes once.
  Stress(200).run();
  run_side_by_side(size_t{kThreads} * kDevices, [](size_t) {});
  const int64_t bytes = cpu_device().memory_stats().bytes_in_use;
  const size_t threads = threads_alive();

  const Tally tally = Stress(steps).run();
  for (const std::string& wrong : tally.wrong) BOOST_ERROR(wrong);
  BOOST_TEST_MESSAGE("right " << tally.right << ", stopped " << tally.stopped << ", failed " << tally.failed);
  BOOST_TEST(tally.right + tally.stopped + tally.failed == steps);
  for (const int some : {tally.right, tally.stopped, tally.failed}) BOOST_TEST(some > steps / 20);
  BOOST_TEST(cpu_device().memory_stats().bytes_in_use == bytes);
  // A thread that was joined may be a moment from its end.
  for (int i = 0; i < 500 && threads_alive() > threads; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  BOOST_TEST(threads_alive() == threads);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
