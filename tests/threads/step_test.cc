// What a step says reaches the kernels of whatever runs for it, on whatever thread, and nobody else's.
#include "panto/lib/core/step/step.h"

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "panto/define_op.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"

namespace panto {
namespace {

// ---- An op that tells which step its kernel has found ---------------------------------------------------------------

std::atomic<const ResourceManager*> found_resources{nullptr};
std::atomic<int64_t> found_deadline{0};
std::atomic<const Cancellation*> found_cancellation{nullptr};
std::atomic<int> found_threads{0};

const Op& kFindStep = define_op("TestFindStep(x: float) -> (y: float)",
                                {.doc = "x.", .effects = {effects::external()}, .shape = shapes::same_as_input});
const CpuKernel find_step_kernel("TestFindStep", [](KernelContext& c) {
  const Step& step = c.step();
  found_resources = &step.resource_manager();
  found_deadline = step.deadline;
  found_cancellation = step.cancellation.get();
  found_threads = step.threads;
  std::copy_n(c.data<float>(0), c.numel(0), c.out_data<float>(0));
});
Tensor find_step(const Tensor& x) {
  const Tensor* input = &x;
  return dispatch::call(kFindStep, {&input, 1}, {})[0];
}

Step with_cancellation() {
  Step step = current_step();
  step.cancellation = std::make_shared<Cancellation>();
  return step;
}

BOOST_AUTO_TEST_SUITE(steps)

// ---- Cancellation --------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(who_watches_hears_of_a_request_once) {
  Cancellation cancellation;
  int first = 0, second = 0, late = 0;
  cancellation.watch([&] { ++first; });
  const uint64_t watch = cancellation.watch([&] { ++second; });
  cancellation.unwatch(watch);
  BOOST_TEST(!cancellation.requested());
  cancellation.request();
  cancellation.request();
  BOOST_TEST(cancellation.requested());
  BOOST_TEST(first == 1);
  BOOST_TEST(second == 0);
  cancellation.unwatch(cancellation.watch([&] { ++late; }));
  BOOST_TEST(late == 1);
}

BOOST_AUTO_TEST_CASE(who_has_stopped_watching_is_not_being_called) {
  for (int i = 0; i < 200; ++i) {
    Cancellation cancellation;
    auto alive = std::make_unique<std::atomic<int>>(0);
    const uint64_t watch = cancellation.watch([&] { ++*alive; });
    std::thread other([&] { cancellation.request(); });
    cancellation.unwatch(watch);
    alive.reset();
    other.join();
  }
}

// ---- What kernels find ---------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(kernels_find_the_innermost_step) {
  const Tensor x = tensor({1.f, 2.f});
  const Function f = trace([](const Tensor& a) { return find_step(a) + find_step(a); }, {TensorSpec(kFloat32, {2})});
  const Function one = trace([](const Tensor& a) { return find_step(a); }, {TensorSpec(kFloat32, {2})});
  for (const auto& call : std::vector<std::function<void()>>{[&] { find_step(x); }, [&] { f(x); }, [&] { one(x); }}) {
    call();
    BOOST_TEST(found_deadline == Step::kNoDeadline);
    BOOST_TEST(found_cancellation == nullptr);
    BOOST_TEST(found_resources == &default_resources());
    Step step = with_cancellation();
    step.deadline = Step::deadline_in(3600);
    step.threads = 3;
    {
      const StepScope scope(step);
      call();
      BOOST_TEST(found_deadline == step.deadline);
      BOOST_TEST(found_cancellation == step.cancellation.get());
      BOOST_TEST(found_threads == 3);
      // Another thread's calls are not of it.
      std::thread(call).join();
      BOOST_TEST(found_cancellation == nullptr);
    }
    call();
    BOOST_TEST(found_cancellation == nullptr);
  }
}

BOOST_AUTO_TEST_CASE(a_run_of_a_session_has_its_resources_and_the_rest_of_the_callers_step) {
  Graph graph;
  {
    const GraphScope building(graph);
    named("y", find_step(placeholder(kFloat32, {2}, "x")));
  }
  Session session(graph);
  const Step step = with_cancellation();
  const StepScope scope(step);
  session.run("y", {{"x", tensor({1.f, 2.f})}});
  BOOST_TEST(found_resources == &session.resources());
  // Closing the session is a request, too.
  BOOST_TEST(found_cancellation != nullptr);
  step.cancellation->request();
  expect_error_begins([&] { session.run("y", {{"x", tensor({1.f, 2.f})}}); }, "Cancelled: ");
}

BOOST_AUTO_TEST_CASE(threads_that_make_a_datasets_elements_take_the_step_over) {
  Step step = with_cancellation();
  step.threads = 4;
  const StepScope scope(step);
  const Dataset elements = Dataset::from_tensors({arange(6)})
                               .map([](const Tensor& x) { return find_step(cast(x, kFloat32)); }, {.threads = 2})
                               .prefetch(1);
  int count = 0;
  for (const auto& [x] : elements.as<1>()) {
    BOOST_TEST(found_cancellation == step.cancellation.get());
    BOOST_TEST(found_threads == 2);  // its share
    ++count;
  }
  BOOST_TEST(count == 6);
}

// ---- Stopping ------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(only_what_belongs_to_a_step_is_stopped_with_it) {
  const Function f = trace([](const Tensor& a) { return tanh(a) * 2.0f; }, {TensorSpec(kFloat32, {-1})});
  const Tensor x = tensor({1.f, 2.f});
  const Tensor expected = f(x);
  const Step step = with_cancellation();
  {
    const StepScope scope(step);
    f(x);
    step.cancellation->request();
    expect_error_begins([&] { f(x); }, "Cancelled: stopped on request");
    std::thread([&] { f(x); }).join();
    expect_error_begins([&] { f(x); }, "Cancelled: stopped on request");
  }
  BOOST_TEST(!cancel_requested());
  BOOST_TEST(f(x).to_vector<float>() == expected.to_vector<float>(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(nothing_goes_on_after_a_deadline) {
  const Function f = trace([](const Tensor& a) { return tanh(a) * 2.0f; }, {TensorSpec(kFloat32, {-1})});
  const Tensor x = tensor({1.f, 2.f});
  Step step = current_step();
  step.deadline = Step::deadline_in(-1);
  {
    const StepScope scope(step);
    expect_error_begins([&] { f(x); }, "DeadlineExceeded: deadline: expected an end before it, got later than that");
  }
  step.deadline = Step::deadline_in(3600);
  const StepScope scope(step);
  BOOST_CHECK_NO_THROW(f(x));
  expect_error([] { Step::deadline_in(1e300); },
               "InvalidArgument: deadline: expected at most 1000000000 seconds from now, got 1e+300");
}

// What is compiled when a deadline passes is compiled again, and not kept with a pass undone.
BOOST_AUTO_TEST_CASE(no_pass_is_undone_because_of_a_deadline) {
  Graph graph;
  {
    const GraphScope building(graph);
    const Tensor folded = matmul(ones({600, 600}), ones({600, 600}));  // constant folding's, and long enough to stop
    named("y", reduce_max(folded) + placeholder(kFloat32, {}, "x"));
  }
  Session session(graph);
  {
    Step step = current_step();
    step.deadline = Step::deadline_in(0);
    const StepScope scope(step);
    expect_error_begins([&] { session.run("y", {{"x", tensor(1.f)}}); }, "DeadlineExceeded: ");
  }
  BOOST_TEST(session.run("y", {{"x", tensor(1.f)}}).item<float>() == 601.f);
  BOOST_TEST(session.plan_stats().passes_undone == 0);
}

// ---- Random numbers ------------------------------------------------------------------------------------------------

// A generator that stands where the process's stands now.
std::shared_ptr<VariableResource> copy_of_generator() {
  auto made = std::make_shared<VariableResource>("", "mine", kInt64, PartialShape{3});
  made->assign(variable_of(random_generator().handle()).read() + int64_t{0});
  return made;
}

BOOST_AUTO_TEST_CASE(a_step_may_draw_from_a_generator_of_its_own) {
  set_seed(7);
  Step step = current_step();
  step.random = copy_of_generator();
  const auto draw = [] {
    std::vector<float> all = random_uniform({3}).to_vector<float>();
    for (const Tensor& t : {random_normal({2}), stateful_random_uniform({2}, kFloat32)}) {
      for (float v : t.to_vector<float>()) all.push_back(v);
    }
    return all;
  };
  std::vector<float> own;
  {
    const StepScope scope(step);
    own = draw();
    BOOST_TEST(draw() != own);  // it goes on
  }
  // The process's stands where it stood.
  BOOST_TEST(draw() == own, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
