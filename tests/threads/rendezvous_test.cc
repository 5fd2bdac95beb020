// Values that one thread sends and another receives: by the rendezvous itself, and by the ops.
#include "panto/lib/core/step/rendezvous.h"

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "panto/lib/core/step/cancel.h"
#include "panto/lib/core/step/step.h"
#include "panto/ops/state.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(rendezvous)

struct Received {
  std::vector<float> values;
  std::vector<std::string> errors;
  auto receive() {
    return [this](const Tensor& value, const std::exception_ptr& error) {
      if (error) {
        errors.push_back(error_text([&] { std::rethrow_exception(error); }));
      } else {
        values.push_back(value.item<float>());
      }
    };
  }
};

std::exception_ptr an_error() {
  return std::make_exception_ptr(Error(Code::kUnavailable, "device: expected one that works, got none"));
}

BOOST_AUTO_TEST_CASE(whoever_comes_first) {
  Rendezvous r;
  Received got;
  r.send("a", tensor(1.f));
  r.send("a", tensor(2.f));
  r.receive("b", got.receive());
  BOOST_TEST(got.values.empty());
  r.receive("a", got.receive());
  r.receive("a", got.receive());
  r.receive("a", got.receive());
  BOOST_TEST(got.values == (std::vector<float>{1, 2}), boost::test_tools::per_element());
  r.send("b", tensor(3.f));
  r.send("a", tensor(4.f));
  BOOST_TEST(got.values == (std::vector<float>{1, 2, 3, 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(who_is_forgotten_gets_nothing) {
  Rendezvous r;
  Received got, other;
  const uint64_t first = r.receive("a", got.receive());
  r.receive("a", other.receive());
  r.forget(first);
  r.forget(first);
  r.forget(12345);
  r.send("a", tensor(1.f));
  BOOST_TEST(got.values.empty());
  BOOST_TEST(other.values == std::vector<float>{1}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(closing_ends_all_waiting) {
  Rendezvous r;
  Received got;
  r.receive("a", got.receive());
  r.send("b", tensor(1.f));
  r.close(an_error());
  r.close(std::make_exception_ptr(Error(Code::kInternal, "a second one")));
  r.receive("b", got.receive());
  BOOST_TEST(got.values.empty());
  const std::vector<std::string> expected(2, "Unavailable: device: expected one that works, got none");
  BOOST_TEST(got.errors == expected, boost::test_tools::per_element());
  expect_error([&] { r.send("c", tensor(1.f)); }, expected[0]);
}

// ---- The ops --------------------------------------------------------------------------------------------------------

void send(const Tensor& x, const std::string& name) {
  send_tensor(x, name, "/job:a/device:CPU:0", 17, "/job:b/device:CPU:0");
}
Tensor receive(const std::string& name, DType dtype = kFloat32) {
  return receive_tensor(dtype, name, "/job:a/device:CPU:0", 17, "/job:b/device:CPU:0");
}
Step meeting() {
  Step step;
  step.rendezvous = std::make_shared<Rendezvous>();
  return step;
}

// As TensorFlow writes them: its key is what a program in another process must use too.
BOOST_AUTO_TEST_CASE(keys_are_tensorflows) {
  Step step = meeting();
  step.frame = 3;
  step.iteration = 7;
  const StepScope scope(step);
  send(tensor(5.f), "edge_1_x");
  Received got;
  step.rendezvous->receive("/job:a/device:CPU:0;0000000000000011;/job:b/device:CPU:0;edge_1_x;3:7", got.receive());
  BOOST_TEST(got.values == std::vector<float>{5}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_receive_waits_for_another_thread) {
  const Step step = meeting();
  constexpr int kMany = 200;
  std::thread sender([&] {
    const StepScope scope(step);
    for (int i = 0; i < kMany; ++i) send(tensor({static_cast<float>(i), 1.f}), "x" + std::to_string(i % 3));
  });
  {
    const StepScope scope(step);
    for (int i = 0; i < kMany; ++i) {
      const Tensor x = receive("x" + std::to_string(i % 3));
      BOOST_TEST(x.data<float>()[0] == static_cast<float>(i));
    }
  }
  sender.join();
}

// Rounds of a loop do not take one another's values.
BOOST_AUTO_TEST_CASE(rounds_are_kept_apart) {
  Step first = meeting(), second = first;
  second.iteration = 1;
  {
    const StepScope scope(second);
    send(tensor(2.f), "x");
  }
  {
    const StepScope scope(first);
    send(tensor(1.f), "x");
    BOOST_TEST(receive("x").item<float>() == 1);
  }
  const StepScope scope(second);
  BOOST_TEST(receive("x").item<float>() == 2);
}

BOOST_AUTO_TEST_CASE(waiting_ends) {
  Step step = meeting();
  step.cancellation = std::make_shared<Cancellation>();
  const std::weak_ptr<Rendezvous> alive = step.rendezvous;
  {
    auto waits = std::async(std::launch::async, [&] {
      const StepScope scope(step);
      return error_text([] { receive("x"); });
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    step.cancellation->request();
    BOOST_TEST(waits.get().starts_with("Cancelled: stopped on request"));
  }
  step.cancellation = nullptr;
  step.deadline = Step::deadline_in(0.01);
  {
    const StepScope scope(step);
    expect_error_begins([] { receive("x"); }, "DeadlineExceeded: ");
  }
  step.deadline = Step::kNoDeadline;
  {
    auto waits = std::async(std::launch::async, [&] {
      const StepScope scope(step);
      return error_text([] { receive("x"); });
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    step.rendezvous->close(an_error());
    BOOST_TEST(waits.get().starts_with("Unavailable: device: expected one that works, got none [in _Recv("));
  }
  // Nobody who waited is kept, nor keeps where he waited.
  step.rendezvous = nullptr;
  BOOST_TEST(alive.expired());
}

// Several runs of one graph at once: each starts all that waits, and goes on with what came, from whatever thread.
BOOST_AUTO_TEST_CASE(runs_of_a_graph_wait_for_many) {
  constexpr int kMany = 20, kRuns = 4;
  Graph graph;
  {
    const GraphScope scope(graph);
    std::vector<Tensor> values;
    for (int i = 0; i < kMany; ++i) values.push_back(square(receive("x" + std::to_string(i))));
    named("y", add_n(values));
  }
  Session session(graph);
  std::vector<Step> steps;
  std::vector<std::future<float>> sums;
  for (int run = 0; run < kRuns; ++run) steps.push_back(meeting());
  for (const Step& step : steps) {
    sums.push_back(std::async(std::launch::async, [&session, &step] {
      const StepScope scope(step);
      return session.run("y").item<float>();
    }));
  }
  std::vector<std::thread> senders;
  for (int part = 0; part < 2; ++part) {
    senders.emplace_back([&steps, part] {
      for (int i = part; i < kMany; i += 2) {
        for (int run = 0; run < kRuns; ++run) {
          const StepScope scope(steps[static_cast<size_t>(run)]);
          send(tensor(static_cast<float>(run)), "x" + std::to_string(i));
        }
      }
    });
  }
  for (std::thread& sender : senders) sender.join();
  for (int run = 0; run < kRuns; ++run) {
    BOOST_TEST(sums[static_cast<size_t>(run)].get() == static_cast<float>(run * run * kMany));
  }
}

BOOST_AUTO_TEST_CASE(refused) {
  expect_error_begins(
      [] { send(tensor(1.f), "x"); },
      "FailedPrecondition: step: expected a rendezvous, at which values are sent and received, got none "
      "[in _Send(");
  expect_error_begins([] { receive("x"); }, "FailedPrecondition: step: expected a rendezvous");
  const Step step = meeting();
  const StepScope scope(step);
  send(tensor(1.f), "x");
  expect_error_begins([] { vmap([](const Tensor& row) { return send(row, "row"), row; })(tensor({1.f, 2.f})); },
                      "Unimplemented: tensor: expected the same for all examples of vmap, got a batch");
  expect_error_begins([] { receive("x", kInt32); }, "InvalidArgument: tensor '/job:a/device:CPU:0;0000000000000011;");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
