// Kernels that start their work and say later, from another thread, that it is done.
#include "panto/lib/core/step/async.h"

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "panto/define_op.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/written.h"

namespace panto {
namespace {

// ---- An op that adds one, later ------------------------------------------------------------------------------------

struct Factor final : KernelState {
  float value = 1;
};

void add_one(AsyncContext& c) {
  const float factor = c.state<Factor>() == nullptr ? 1 : c.state<Factor>()->value;
  for (int64_t i = 0; i < c.numel(0); ++i) c.out_data<float>(0)[i] = factor * c.data<float>(0)[i] + 1;
}

// Work that was started and goes on, and the call that nobody may wait for any more.
struct Started {
  std::mutex mutex;
  std::vector<std::thread> threads;
  std::shared_ptr<AsyncContext> context;
  std::unique_ptr<Done> done;
  std::weak_ptr<AsyncContext> watching;
  std::atomic<int> stuck{0};
  std::atomic<int> told{0};

  void join() {
    const std::lock_guard lock(mutex);
    for (std::thread& t : threads) t.join();
    threads.clear();
  }
} started;

void start_later(const std::shared_ptr<AsyncContext>& c, Done done) {
  const std::string how(c->text("how"));
  const std::lock_guard lock(started.mutex);
  if (how == "at once") return add_one(*c), done();
  if (how == "on a thread") {
    started.threads.emplace_back([c, done] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      add_one(*c);
      done();
    });
  } else if (how == "watches") {
    started.watching = c;
    c->step().cancellation->watch([c, done] { done(); });
    started.threads.emplace_back([c, done] {
      add_one(*c);
      done();
    });
  } else if (how == "throws there") {
    started.threads.emplace_back([done] {
      try {
        fail(Code::kInvalidArgument, "weather: expected sun, got rain");
      } catch (...) {
        done(std::current_exception());
      }
    });
  } else if (how == "throws here") {
    fail(Code::kInvalidArgument, "start: expected a start, got none");
  } else if (how == "twice") {
    add_one(*c);
    done();
    done();
  } else if (how == "stuck") {
    started.context = c;
    started.done = std::make_unique<Done>(done);
    c->step().cancellation->watch([] { ++started.told; });
    ++started.stuck;
  }  // else never
}

const Op& kLater = define_op("TestLater(x: float; how: string) -> (y: float)",
                             {.doc = "x + 1.", .effects = {effects::external()}, .shape = shapes::same_as_input});
const Op& kLaterItself = define_op(
    "TestLaterItself(x: float) -> (y: float)",
    {.doc = "x, or nothing for an empty x.", .traits = {Trait::kSelfAllocating}, .shape = shapes::same_as_input});
const CpuKernel later_kernel("TestLater", Kernel{
                                              .prepare = [](const KernelContext&) -> std::shared_ptr<KernelState> {
                                                return std::make_shared<Factor>();
                                              },
                                              .start = start_later,
                                          });
const CpuKernel later_itself_kernel("TestLaterItself",
                                    Kernel{.start = [](const std::shared_ptr<AsyncContext>& c, Done done) {
                                      if (c->numel(0) > 0) c->set_out(0, c->in(0));
                                      done();
                                    }});

Tensor later(const Tensor& x, const std::string& how) {
  const AttrSlot slots[] = {AttrSlot(std::string_view(how))};
  const Tensor* input = &x;
  return dispatch::call(kLater, {&input, 1}, slots)[0];
}
Tensor later_itself(const Tensor& x) {
  const Tensor* input = &x;
  return dispatch::call(kLaterItself, {&input, 1}, {})[0];
}

const Tensor& ones_and_two() {
  static const Tensor x = tensor({1.f, 2.f});
  return x;
}
Function traced(const std::string& how) {
  return trace([how](const Tensor& a) { return later(a * 2.0f, how) * 10.0f; }, {TensorSpec(kFloat32, {2})});
}
void expect_values(const Tensor& t, const std::vector<float>& values) {
  BOOST_TEST(t.to_vector<float>() == values, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE(async)

BOOST_AUTO_TEST_CASE(an_eager_call_and_a_run_wait) {
  for (const std::string how : {"at once", "on a thread"}) {
    expect_values(later(ones_and_two(), how), {2, 3});
    const Function f = traced(how);
    for (int i = 0; i < 3; ++i) expect_values(f(ones_and_two()), {30, 50});
    Graph graph;
    {
      const GraphScope building(graph);
      named("y", later(placeholder(kFloat32, {-1}, "x"), how));
    }
    Session session(graph);
    expect_values(session.run("y", {{"x", ones_and_two()}}), {2, 3});
  }
  started.join();
}

BOOST_AUTO_TEST_CASE(several_threads_wait_for_calls_of_their_own) {
  const Function f = traced("on a thread");
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const auto v = static_cast<float>(t);
      for (int i = 0; i < 10; ++i) {
        if (f(tensor({v, v + 1})).to_vector<float>() != std::vector<float>{20 * v + 10, 20 * v + 30}) ++wrong;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  started.join();
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(an_op_may_make_its_outputs_itself) {
  expect_values(later_itself(ones_and_two()), {1, 2});
  expect_error_begins([] { later_itself(zeros({0})); },
                      "Internal: output 0: expected a tensor, got none [in TestLaterItself(x: float32[0])]");
}

BOOST_AUTO_TEST_CASE(a_context_that_watches_its_own_cancellation_goes_away) {
  expect_values(later(ones_and_two(), "watches"), {2, 3});
  started.join();
  BOOST_TEST(started.watching.expired());
}

// ---- Errors --------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(errors_pass_through_done) {
  expect_error_begins([] { later(ones_and_two(), "throws there"); },
                      "InvalidArgument: weather: expected sun, got rain [in TestLater(x: float32[2]; how=");
  expect_error_begins([] { later(ones_and_two(), "throws here"); },
                      "InvalidArgument: start: expected a start, got none [in TestLater(x: float32[2]; how=");
  const Function f = traced("throws there");
  for (int i = 0; i < 2; ++i) {
    const std::string text = error_text([&] { f(ones_and_two()); });
    BOOST_TEST(text.starts_with("InvalidArgument: weather: expected sun, got rain [in TestLater("), text);
    BOOST_TEST(text.find("[node 'TestLater") != std::string::npos, text);
  }
  started.join();
}

BOOST_AUTO_TEST_CASE(done_is_called_exactly_once) {
  expect_error_begins([] { later(ones_and_two(), "twice"); }, "Internal: done: expected one call of it, got two [in ");
  expect_error_begins([] { later(ones_and_two(), "never"); }, "Internal: done: expected a call of it, got none [in ");
  expect_error_begins([] { traced("twice")(ones_and_two()); }, "Internal: done: expected one call of it, got two [in ");
  expect_error_begins([] { traced("never")(ones_and_two()); }, "Internal: done: expected a call of it, got none [in ");
}

// ---- Stopping ------------------------------------------------------------------------------------------------------

// Calls `stop` from another thread once work is stuck.
template <class Stop>
std::thread when_stuck(int before, Stop stop) {
  return std::thread([=] {
    while (started.stuck == before) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stop();
  });
}
void forget_stuck() {
  const std::lock_guard lock(started.mutex);
  started.context.reset();
  started.done.reset();
}

BOOST_AUTO_TEST_CASE(what_is_stuck_is_told_to_stop_and_waited_for_no_more) {
  const int told = started.told;
  Step step = current_step();
  step.cancellation = std::make_shared<Cancellation>();
  {
    const StepScope scope(step);
    std::thread other = when_stuck(started.stuck, [&] { step.cancellation->request(); });
    expect_error_begins([] { later(ones_and_two(), "stuck"); }, "Cancelled: stopped on request [in TestLater(");
    other.join();
  }
  BOOST_TEST(started.told == told + 1);
  forget_stuck();
  {
    std::thread other = when_stuck(started.stuck, [] { request_cancel(); });
    expect_error_begins([] { later(ones_and_two(), "stuck"); }, "Cancelled: stopped on request [in TestLater(");
    other.join();
    clear_cancel();
  }
  BOOST_TEST(started.told == told + 2);
  forget_stuck();
  step = current_step();
  step.deadline = Step::deadline_in(0.05);
  const StepScope scope(step);
  expect_error_begins([] { later(ones_and_two(), "stuck"); }, "DeadlineExceeded: ");
  BOOST_TEST(started.told == told + 3);
  forget_stuck();
}

// The context owns its tensors, attributes, state, resources and step.
BOOST_AUTO_TEST_CASE(work_may_end_after_its_graph_is_gone) {
  for (const int calls : {1, 2}) {
    {
      auto session = [] {
        Graph graph;
        const GraphScope building(graph);
        named("y", later(placeholder(kFloat32, {-1}, "x") * 2.0f, "stuck") * 10.0f);
        return std::make_unique<Session>(std::move(graph));
      }();
      Step step = current_step();
      step.cancellation = std::make_shared<Cancellation>();
      const StepScope scope(step);
      std::thread other = when_stuck(started.stuck, [&] { step.cancellation->request(); });
      expect_error_begins([&] { session->run("y", {{"x", ones_and_two()}}); }, "Cancelled: ");
      other.join();
    }
    AsyncContext& c = *started.context;
    add_one(c);
    BOOST_TEST(c.text("how") == "stuck");
    BOOST_TEST(c.step().resources != nullptr);
    BOOST_TEST(c.step().resources->list().empty());
    expect_values(c.out(0), {3, 5});
    const std::string said = test::written([&] {
      for (int i = 0; i < calls; ++i) (*started.done)();
    });
    BOOST_TEST((said.find("expected one call of done, got two") != std::string::npos) == (calls == 2), said);
    forget_stuck();
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
