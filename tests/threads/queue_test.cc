// Calls on queues that wait, on several threads, and what ends their waiting.
#include "panto/lib/core/collections/queue.h"

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

#include "panto/lib/core/step/step.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/coordinator.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/data/queue_runner.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/threads/waiting.h"

namespace panto {
namespace {

const std::vector<DType> kFloats = {kFloat32};

Tensor floats(int64_t capacity = -1) { return fifo_queue(kFloats, {.shapes = {Shape{}}, .capacity = capacity}); }
void put(const Tensor& queue, float value) { queue_enqueue(queue, {tensor(value)}); }
float take(const Tensor& queue) { return queue_dequeue(queue, kFloats)[0].item<float>(); }
int size_of(const Tensor& queue) { return queue_size(queue).item<int32_t>(); }

BOOST_AUTO_TEST_SUITE(queues)

BOOST_AUTO_TEST_CASE(waits_for_an_element) {
  const Tensor queue = floats();
  float got = 0;
  Waiting taking([&] { got = take(queue); });
  BOOST_TEST(taking.waits());
  put(queue, 5);
  BOOST_TEST(taking.join() == "fine");
  BOOST_TEST(got == 5.f);
}

BOOST_AUTO_TEST_CASE(waits_for_room) {
  const Tensor queue = floats(2);
  put(queue, 1);
  put(queue, 2);
  Waiting putting([&] { queue_enqueue_many(queue, {tensor({3.f, 4.f, 5.f})}); });
  BOOST_TEST(putting.waits());
  for (int i = 1; i <= 5; ++i) BOOST_TEST(take(queue) == static_cast<float>(i));
  BOOST_TEST(putting.join() == "fine");
}

BOOST_AUTO_TEST_CASE(more_are_taken_than_there_is_room_for) {
  const Tensor queue = floats(2);
  std::string got;
  Waiting taking([&] { got = queue_dequeue_many(queue, 5, kFloats)[0].to_string(); });
  queue_enqueue_many(queue, {tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f})});
  BOOST_TEST(taking.join() == "fine");
  BOOST_TEST(got == "[1. 2. 3. 4. 5.]");
  BOOST_TEST(take(queue) == 6.f);
}

// Those who wait are served in the order in which they came.
BOOST_AUTO_TEST_CASE(first_come_first_served) {
  const Tensor queue = floats();
  std::string many;
  float one = 0;
  Waiting first([&] { many = queue_dequeue_many(queue, 2, kFloats)[0].to_string(); });
  BOOST_TEST(first.waits());
  Waiting second([&] { one = take(queue); });
  BOOST_TEST(second.waits());
  put(queue, 1);
  BOOST_TEST(second.waits());
  put(queue, 2);
  put(queue, 3);
  BOOST_TEST(first.join() == "fine");
  BOOST_TEST(second.join() == "fine");
  BOOST_TEST(many == "[1. 2.]");
  BOOST_TEST(one == 3.f);
}

BOOST_AUTO_TEST_CASE(random_queues_keep_some) {
  const Tensor queue = random_shuffle_queue(kFloats, {.shapes = {Shape{}}, .min_after_dequeue = 2});
  for (const float v : {1.f, 2.f}) put(queue, v);
  Waiting taking([&] { take(queue); });
  BOOST_TEST(taking.waits());
  put(queue, 3);
  BOOST_TEST(taking.join() == "fine");
  Waiting last([&] { queue_dequeue_many(queue, 2, kFloats); });
  BOOST_TEST(last.waits());
  queue_close(queue);
  BOOST_TEST(last.join() == "fine");
}

BOOST_AUTO_TEST_CASE(closing_ends_waiting) {
  const Tensor queue = floats();
  put(queue, 1);
  Waiting many([&] { queue_dequeue_many(queue, 3, kFloats); });
  BOOST_TEST(many.waits());
  std::string rest;
  Waiting up_to([&] { rest = queue_dequeue_up_to(queue, 3, kFloats)[0].to_string(); });
  BOOST_TEST(up_to.waits());
  Waiting one([&] { take(queue); });
  BOOST_TEST(one.waits());
  queue_close(queue);
  BOOST_TEST(many.join().starts_with("OutOfRange: queue: expected 3 elements, got 1 in one that is closed"));
  BOOST_TEST(up_to.join() == "fine");
  BOOST_TEST(rest == "[1.]");  // what the first had begun to take
  BOOST_TEST(one.join().starts_with("OutOfRange: queue: expected 1 elements, got 0 in one that is closed"));
}

BOOST_AUTO_TEST_CASE(closing_waits_for_those_who_wait) {
  const Tensor queue = floats(1);
  put(queue, 1);
  Waiting putting([&] { put(queue, 2); });
  BOOST_TEST(putting.waits());
  Waiting closing([&] { queue_close(queue); });
  BOOST_TEST(closing.waits());
  Waiting late([&] { put(queue, 3); });
  BOOST_TEST(late.waits());
  BOOST_TEST(take(queue) == 1.f);
  BOOST_TEST(putting.join() == "fine");
  BOOST_TEST(closing.join() == "fine");
  BOOST_TEST(late.join().starts_with("Cancelled: queue: expected it to be open, got one that was closed"));
  BOOST_TEST(take(queue) == 2.f);
}

BOOST_AUTO_TEST_CASE(closing_cancels_those_who_wait) {
  const Tensor queue = floats(1);
  put(queue, 1);
  Waiting putting([&] { put(queue, 2); });
  BOOST_TEST(putting.waits());
  queue_close(queue, {.cancel_pending_enqueues = true});
  BOOST_TEST(putting.join().starts_with("Cancelled: queue: "));
  BOOST_TEST(take(queue) == 1.f);
  expect_error_begins([&] { take(queue); }, "OutOfRange: ");
}

// A call that is stopped leaves the queue as it was.
BOOST_AUTO_TEST_CASE(a_step_that_stops) {
  const Tensor queue = floats(2);
  put(queue, 1);
  Step step = current_step();
  step.cancellation = std::make_shared<Cancellation>();
  Waiting taking([&] {
    const StepScope scope(step);
    queue_dequeue_many(queue, 2, kFloats);
  });
  BOOST_TEST(taking.waits());
  BOOST_TEST(size_of(queue) == 0);
  step.cancellation->request();
  BOOST_TEST(taking.join().starts_with("Cancelled: "));
  BOOST_TEST(size_of(queue) == 1);
  put(queue, 2);
  Step late = current_step();
  late.deadline = Step::deadline_in(0.02);
  {
    const StepScope scope(late);
    expect_error_begins([&] { put(queue, 3); }, "DeadlineExceeded: ");
  }
  BOOST_TEST(take(queue) == 1.f);
  BOOST_TEST(take(queue) == 2.f);
  BOOST_TEST(size_of(queue) == 0);
}

BOOST_AUTO_TEST_CASE(nothing_is_lost_between_many_threads) {
  constexpr int kThreads = 4, kEach = 300;
  for (const bool random : {false, true}) {
    const Tensor queue = random ? random_shuffle_queue(kFloats, {.shapes = {Shape{}}, .capacity = 7}) : floats(7);
    std::vector<std::thread> threads;
    std::atomic<int> left{kThreads};
    std::mutex mutex;
    std::vector<float> got;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) put(queue, static_cast<float>(t * kEach + i));
        if (--left == 0) queue_close(queue);
      });
      threads.emplace_back([&, t] {
        try {
          for (;;) {
            std::vector<float> some =
                t % 2 == 0 ? std::vector{take(queue)} : queue_dequeue_up_to(queue, 3, kFloats)[0].to_vector<float>();
            const std::lock_guard lock(mutex);
            got.insert(got.end(), some.begin(), some.end());
          }
        } catch (const Error& error) {
          if (error.code() != Code::kOutOfRange) throw;
        }
      });
    }
    for (std::thread& t : threads) t.join();
    std::ranges::sort(got);
    std::vector<float> all(size_t{kThreads} * kEach);
    std::iota(all.begin(), all.end(), 0.f);
    BOOST_TEST((got == all));
  }
}

// ---- Threads that stop together ------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(errors_reach_join) {
  Coordinator coordinator;
  std::atomic<bool> told{false};
  coordinator.on_stop([&] { told = true; });
  coordinator.start([&] {
    while (!coordinator.should_stop()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  BOOST_TEST(!coordinator.wait_for_stop(0.01));
  coordinator.start([] { fail(Code::kDataLoss, "file: expected more of it, got its end"); });
  expect_error([&] { coordinator.join(); }, "DataLoss: file: expected more of it, got its end");
  BOOST_TEST(told);
  BOOST_TEST(coordinator.should_stop());
  coordinator.join();  // once only
  expect_error_begins([&] { coordinator.start([] {}); }, "FailedPrecondition: coordinator: ");
  bool at_once = false;
  coordinator.on_stop([&] { at_once = true; });
  BOOST_TEST(at_once);
}

BOOST_AUTO_TEST_CASE(what_waits_is_cancelled) {
  const Tensor queue = floats();
  Coordinator coordinator;
  coordinator.start([&] { take(queue); });
  coordinator.request_stop();
  coordinator.join(0.01);  // Cancelled is no failure then
  Coordinator with_end;
  with_end.start([] { fail(Code::kOutOfRange, "no more"); });
  with_end.join();
  Coordinator destroyed;
  destroyed.start([&] { take(queue); });
}

BOOST_AUTO_TEST_CASE(a_stopped_step_stops_its_threads) {
  const Tensor queue = floats();
  Step step = current_step();
  step.cancellation = std::make_shared<Cancellation>();
  Coordinator coordinator;
  {
    const StepScope scope(step);
    coordinator.start([&] { take(queue); });
  }
  step.cancellation->request();
  expect_error_begins([&] { coordinator.join(); }, "Cancelled: ");
}

// Two threads read, one trains: every element comes once, and everything ends by itself.
BOOST_AUTO_TEST_CASE(two_readers_and_a_session) {
  Graph graph;
  std::optional<QueueRunner> runner;
  {
    const GraphScope scope(graph);
    const Tensor queue = named("queue", fifo_queue(kFloats, {.shapes = {Shape{}}, .capacity = 4}));
    const auto source = [&](const char* name, float first) {
      const Tensor numbers = fifo_queue(kFloats, {.shapes = {Shape{}}, .shared_name = name});
      const CollectEffects effects;
      queue_enqueue_many(numbers, {arange(first, first + 10.f)});
      const ControlDependencies then(effects.operations());
      queue_close(numbers);
      group(effects.operations(), std::string("fill_") + name);
      return numbers;
    };
    const Tensor a = source("a", 0.f), b = source("b", 10.f);
    runner.emplace(
        queue, std::vector<Callable<void()>>{[&] { queue_enqueue(queue, {square(queue_dequeue(a, kFloats)[0])}); },
                                             [&] { queue_enqueue(queue, {square(queue_dequeue(b, kFloats)[0])}); }});
    named("batch", queue_dequeue_up_to(queue, 3, kFloats)[0]);
  }
  Session session(graph);
  session.run("fill_a");
  session.run("fill_b");
  Coordinator coordinator;
  runner->start(session, coordinator);
  std::vector<float> got;
  const auto read = [&] {
    for (;;) {
      for (const float v : session.run("batch").to_vector<float>()) got.push_back(v);
    }
  };
  expect_error_begins(read, "OutOfRange: queue \"queue\": expected 3 elements, got 0 in one that is closed");
  coordinator.request_stop();
  coordinator.join();
  std::ranges::sort(got);
  BOOST_TEST(got.size() == 20U);
  for (size_t i = 0; i < got.size(); ++i) BOOST_TEST(got[i] == static_cast<float>(i * i));
}

BOOST_AUTO_TEST_CASE(a_runner_stops_before_the_end) {
  const Tensor queue = floats(2);
  Coordinator coordinator;
  std::atomic<int> count{0};
  const auto read = [&] { put(queue, static_cast<float>(++count)); };
  fill_queue(coordinator, queue, {read, read});
  for (int i = 0; i < 5; ++i) take(queue);
  coordinator.request_stop();
  coordinator.join();  // those who wait for room are cancelled
  BOOST_TEST(queue_is_closed(queue).item<bool>());
  BOOST_TEST(count <= 5 + 2 + 2 + 1);
}

BOOST_AUTO_TEST_CASE(a_reader_that_fails) {
  const Tensor queue = floats();
  Coordinator coordinator;
  fill_queue(coordinator, queue, {[&] { put(queue, 1); }, [] { fail(Code::kDataLoss, "no"); }});
  expect_error([&] { coordinator.join(); }, "DataLoss: no");
  BOOST_TEST(queue_is_closed(queue).item<bool>());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
