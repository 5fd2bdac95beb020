// Steps that a GPU captures and launches as a whole (lib/runtime/plan/captured_steps.h): the same as one by one,
// whatever happens between calls. Without a GPU that captures these are skipped; capture_tests runs them on
// pretend_gpu.cc.
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <future>
#include <thread>

#include "panto/autograd/tape.h"
#include "panto/lib/base/error.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/ops/random/random.h"
#include "panto/lib/runtime/executable.h"
#include "panto/tests/device/cuda/gpu_compare.h"
#include "panto/tests/gpu.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

namespace utf = boost::unit_test;
using test::gpu;
using test::has_gpu;
using test::ramp;

// A network of two layers and its training step, traced, on the GPU or not.
class Model {
 public:
  explicit Model(bool on_gpu)
      : on_gpu_(on_gpu),
        w_(place(ramp({8, 16}, -0.5f, 0.007f)), "w"),
        b_(place(ramp({16}, 0, 0.01f)), "b"),
        v_(place(ramp({16, 1}, 0.3f, -0.03f)), "v") {
    step_ = trace(
        [this](const Tensor& x, const Tensor& y) {
          GradientTape tape;
          const Tensor hidden = tanh(add(matmul(x, w_), b_));
          const Tensor loss = mean(square(sub(matmul(hidden, v_), y)));
          const std::vector<Tensor> gradients = tape.gradient(loss, {w_, b_, v_});
          const Variable variables[] = {w_, b_, v_};
          for (size_t i = 0; i < 3; ++i) variables[i].assign_sub(mul(gradients[i], 0.1f));
          return loss;
        },
        {{kFloat32, {32, 8}}, {kFloat32, {32, 1}}});
  }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  Tensor place(const Tensor& t) const { return on_gpu_ ? t.to(*gpu()) : t; }
  static Tensor x(int i) { return ramp({32, 8}, -1 + 0.1f * static_cast<float>(i), 0.008f); }
  static Tensor y(int i) { return ramp({32, 1}, 0.02f * static_cast<float>(i), 0.03f); }
  Tensor call(const Tensor& x, const Tensor& y) const { return step_(x, y); }
  // With data for call i, made anew.
  Tensor call(int i) const { return call(place(x(i)), place(y(i))); }
  const Variable& w() const { return w_; }
  std::vector<float> weights() const {
    std::vector<float> all = w_.value().cpu().to_vector<float>();
    for (const Variable& v : {b_, v_}) {
      const std::vector<float> more = v.value().cpu().to_vector<float>();
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }

 private:
  bool on_gpu_;
  Variable w_, b_, v_;
  Function step_;
};

void check_close(const std::vector<float>& got, const std::vector<float>& expected) {
  BOOST_TEST(got == expected, boost::test_tools::tolerance(1e-4f) << boost::test_tools::per_element());
}

boost::test_tools::assertion_result has_gpu_that_captures(utf::test_unit_id unit) {
  if (const auto result = has_gpu(unit); !result) return result;
  boost::test_tools::assertion_result result(gpu()->captures());
  if (!result) result.message() << "the GPU captures nothing with PANTO_CUDA_GRAPHS=0";
  return result;
}

BOOST_AUTO_TEST_SUITE(cuda_capture, *utf::label("cuda") * utf::precondition(has_gpu_that_captures))

BOOST_AUTO_TEST_CASE(captured_work_is_done_when_it_is_launched) {
  const Variable v(tensor({1.f, 2.f}).to(*gpu()), "v");
  const Tensor one = tensor({1.f, 1.f}).to(*gpu());
  const std::unique_ptr<CapturedWork> work = gpu()->capture([&] {
    BOOST_TEST(gpu()->capturing());
    v.assign_add(mul(add(one, one), one));  // with memory that is only needed meanwhile
  });
  BOOST_REQUIRE(work != nullptr);
  BOOST_TEST(!gpu()->capturing());
  BOOST_TEST(v.value().cpu().to_vector<float>() == std::vector<float>({1, 2}), boost::test_tools::per_element());
  // What others allocate meanwhile is not what the captured work writes to.
  const Tensor other = add(one, one);
  for (int i = 0; i < 3; ++i) work->launch();
  BOOST_TEST(v.value().cpu().to_vector<float>() == std::vector<float>({7, 8}), boost::test_tools::per_element());
  BOOST_TEST(other.cpu().to_vector<float>() == std::vector<float>({2, 2}), boost::test_tools::per_element());
}

// The copy of a number that is written in the source is used again and again; work that reads it has its address.
BOOST_AUTO_TEST_CASE(numbers_in_captured_work_stay) {
  const Variable v(tensor({1.f, 2.f}).to(*gpu()), "v");
  const Tensor one = tensor({1.f, 1.f}).to(*gpu());
  static_cast<void>(mul(one, 3.25f));  // copied now, not while it is captured
  const std::unique_ptr<CapturedWork> work = gpu()->capture([&] { v.assign_add(mul(one, 3.25f)); });
  BOOST_REQUIRE(work != nullptr);
  for (int i = 0; i < 3000; ++i) static_cast<void>(mul(one, static_cast<float>(i) + 0.125f));
  work->launch();
  BOOST_TEST(v.value().cpu().to_vector<float>() == std::vector<float>({4.25f, 5.25f}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_waits_for_results_cannot_be_captured) {
  const Tensor x = tensor({1.f, 2.f}).to(*gpu());
  BOOST_TEST(gpu()->capture([&] { static_cast<void>(add(x, x).cpu()); }) == nullptr);
  BOOST_TEST(gpu()->capture([&] { static_cast<void>(tensor({1.f}).to(*gpu())); }) == nullptr);
  BOOST_TEST(gpu()->capture([&] { gpu()->synchronize(); }) == nullptr);
  // An error of the work's own comes out, and the device goes on working.
  const Tensor longer = tensor({1.f, 2.f, 3.f}).to(*gpu());
  BOOST_CHECK_EXCEPTION(gpu()->capture([&] { static_cast<void>(add(x, longer)); }), Error,
                        [](const Error& e) { return e.code() == Code::kInvalidArgument; });
  BOOST_TEST(add(x, x).cpu().to_vector<float>() == std::vector<float>({2, 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_variable_that_is_looked_at_is_not_written_to) {
  const Variable v(tensor({1.f, 2.f}).to(*gpu()), "v");
  const Tensor held = v.value();
  const Tensor one = tensor({1.f, 1.f}).to(*gpu());
  BOOST_CHECK_EXCEPTION(gpu()->capture([&] { v.assign_add(one); }), Error,
                        [](const Error& e) { return e.code() == Code::kUnimplemented; });
}

BOOST_AUTO_TEST_CASE(memory_of_captured_work_comes_back) {
  const Tensor x = ramp({1000, 1000}, 0, 1).to(*gpu());
  const int64_t before = gpu()->memory_stats().bytes_in_use;
  {
    const std::unique_ptr<CapturedWork> work = gpu()->capture([&] { static_cast<void>(sum(mul(add(x, x), x))); });
    BOOST_REQUIRE(work != nullptr);
    work->launch();
    BOOST_TEST(gpu()->memory_stats().bytes_in_use >= before + 4'000'000);
  }
  BOOST_TEST(gpu()->memory_stats().bytes_in_use == before);
}

// Inputs and outputs are somewhere else each time, or always in the same place.
BOOST_AUTO_TEST_CASE(steps_are_the_same_as_one_by_one) {
  for (const bool same_place : {false, true}) {
    const Model here(false), there(true);
    const Tensor x = there.place(Model::x(0)), y = there.place(Model::y(0));
    std::vector<Tensor> expected, got, kept;
    for (int i = 0; i < 12; ++i) {
      expected.push_back(here.call(same_place ? 0 : i));
      if (same_place) {
        got.push_back(there.call(x, y).cpu());
      } else {
        kept.push_back(there.place(Model::x(i)));
        got.push_back(there.call(kept.back(), there.place(Model::y(i))));
      }
    }
    for (size_t i = 0; i < got.size(); ++i) {
      check_close(got[i].cpu().to_vector<float>(), expected[i].to_vector<float>());
    }
    check_close(there.weights(), here.weights());
  }
}

// Then the steps come after copies, whose results are somewhere else each time.
BOOST_AUTO_TEST_CASE(data_may_come_from_the_host) {
  const Model here(false), there(true);
  std::vector<Tensor> kept;
  for (int i = 0; i < 8; ++i) {
    const Tensor expected = here.call(i);
    kept.push_back(there.call(Model::x(i), Model::y(i)));
    BOOST_TEST(&kept.back().device() == gpu());
    check_close(kept.back().cpu().to_vector<float>(), expected.to_vector<float>());
  }
  check_close(there.weights(), here.weights());
}

// What moves gets a place of its own at its first move, once. Here everything moves at each call: two inputs take
// turns, and a result is held while the next one is made.
BOOST_AUTO_TEST_CASE(memory_does_not_grow) {
  const Model there(true);
  const Tensor x[] = {there.place(Model::x(0)), there.place(Model::x(1))};
  const Tensor y[] = {there.place(Model::y(0)), there.place(Model::y(1))};
  Tensor held;
  for (size_t i = 0; i < 6; ++i) held = there.call(x[i % 2], y[i % 2]);
  const int64_t before = gpu()->memory_stats().bytes_in_use;
  for (size_t i = 0; i < 50; ++i) held = there.call(x[i % 2], y[i % 2]);
  BOOST_TEST(gpu()->memory_stats().bytes_in_use == before);
}

BOOST_AUTO_TEST_CASE(values_that_were_read_stay_and_values_that_were_assigned_count) {
  const Model here(false), there(true);
  std::vector<Tensor> held, expected;
  for (int i = 0; i < 20; ++i) {
    static_cast<void>(here.call(i % 3));
    static_cast<void>(there.call(i % 3));
    if (i % 4 == 1) {
      held.push_back(there.w().value());
      expected.push_back(tensor(here.w().value().to_vector<float>(), {8, 16}));
    }
    if (i % 5 == 4) {
      const Tensor fresh = ramp({8, 16}, 0.1f * static_cast<float>(i), -0.005f);
      here.w().assign(fresh);
      there.w().assign(there.place(fresh));
    }
    if (i == 12) held.clear(), expected.clear();
  }
  BOOST_TEST(!held.empty());
  for (size_t i = 0; i < held.size(); ++i) {
    check_close(held[i].cpu().to_vector<float>(), expected[i].to_vector<float>());
  }
  check_close(there.weights(), here.weights());
}

// While it is added its value is held, by the step itself: that cannot be captured.
BOOST_AUTO_TEST_CASE(a_variable_may_be_added_to_itself) {
  const Variable v(tensor(std::vector<float>(16, 1.f), {4, 4}).to(*gpu()), "v");
  const Function f = trace(
      [&](const Tensor& x) {
        Tensor y = x;
        for (int i = 0; i < 10; ++i) y = matmul(y, x);
        v.assign_add(v.value());
        return y;
      },
      {{kFloat32, {4, 4}}});
  const Tensor x = tensor(std::vector<float>(16, 0.25f), {4, 4}).to(*gpu());
  float expected = 1;
  for (int i = 0; i < 8; ++i) {
    BOOST_TEST(f(x).cpu().to_vector<float>() == std::vector<float>(16, 0.25f), boost::test_tools::per_element());
    expected *= 2;
    BOOST_TEST(v.value().cpu().to_vector<float>() == std::vector<float>(16, expected),
               boost::test_tools::per_element());
  }
}

// Work that was captured with one variable does not touch it when another one is given: it may be gone, or locked.
BOOST_AUTO_TEST_CASE(steps_may_be_given_another_variable) {
  Graph graph;
  {
    const GraphScope in(graph);
    const Variable v = Variable::from_handle(placeholder(kResource, {}, "handle"), kFloat32, {4, 4}, "v");
    Tensor y = v.value();
    for (int i = 0; i < 10; ++i) y = matmul(y, y);
    named("y", y);
  }
  const NodeOutput handle = graph.output("handle"), y = graph.output("y");
  ExecutableFeed feed = feed_like(handle, Variable(zeros({4, 4})).handle());
  const HandleInfo known{kFloat32, PartialShape({4, 4})};
  feed.handle = meta_tensor(kResource, Shape{}, std::nullopt, nullptr, std::make_shared<HandleInfo>(known));
  const auto executable = Executable::make(graph, {&feed, 1}, {&y, 1}, {}, {.passes = "", .device = gpu()});
  const auto state = executable->new_state();
  const auto run = [&](const Variable& v) {
    const Tensor* input = &v.handle();
    Tensor result;
    executable->run(*state, current_step(), {&input, 1}, {&result, 1});
    return result.cpu().to_vector<float>();
  };
  const auto filled_with = [](float value) {
    return Variable(tensor(std::vector<float>(16, value), {4, 4}).to(*gpu()), "v");
  };
  const std::vector<float> quarter(16, 0.25f), none(16, 0.f);
  auto first = std::make_unique<Variable>(filled_with(0.25f));
  for (int i = 0; i < 4; ++i) BOOST_TEST(run(*first) == quarter, boost::test_tools::per_element());
  const Variable second = filled_with(0.f);
  {
    const std::lock_guard lock(variable_of(first->handle()).mutex());
    std::future<std::vector<float>> got = std::async(std::launch::async, [&] { return run(second); });
    const bool ready = got.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
    BOOST_TEST(ready, "the steps of one variable wait for another");
    if (!ready) variable_of(first->handle()).mutex().unlock();
    BOOST_TEST(got.get() == none, boost::test_tools::per_element());
    if (!ready) variable_of(first->handle()).mutex().lock();
  }
  for (int i = 0; i < 4; ++i) BOOST_TEST(run(*first) == quarter, boost::test_tools::per_element());
  first.reset();
  // One that may be where the first was.
  const Variable third = filled_with(0.f);
  for (int i = 0; i < 4; ++i) BOOST_TEST(run(third) == none, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(random_numbers_differ_from_call_to_call) {
  const Function f = trace(
      [](const Tensor& x) {
        Tensor y = x;
        for (int i = 0; i < 8; ++i) y = matmul(y, x);
        y = add(y, random_uniform({4, 4}));
        for (int i = 0; i < 8; ++i) y = matmul(y, x);
        return y;
      },
      {{kFloat32, {4, 4}}});
  const Tensor x = tensor(std::vector<float>{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, {4, 4});
  std::vector<std::vector<float>> seen;
  for (int i = 0; i < 6; ++i) {
    const Tensor y = f(x.to(*gpu()));
    BOOST_TEST(&y.device() == gpu());
    seen.push_back(y.cpu().to_vector<float>());
    for (size_t k = 0; k + 1 < seen.size(); ++k) BOOST_TEST((seen[k] != seen.back()), i);
  }
}

// A fault that a kernel finds, and the run after it.
BOOST_AUTO_TEST_CASE(faults_are_found_in_captured_work) {
  const Function f = trace(
      [](const Tensor& x, const Tensor& y) {
        Tensor z = div(x, y);
        for (int i = 0; i < 8; ++i) z = cumsum(z, 0);
        return z;
      },
      {{kInt32, {2}}, {kInt32, {2}}});
  const Tensor x = tensor({4, 6}).to(*gpu()), zeros = tensor({0, 1}).to(*gpu()), ones = tensor({1, 1}).to(*gpu());
  for (int i = 0; i < 4; ++i) {
    BOOST_TEST(f(x, ones).cpu().to_vector<int32_t>() == std::vector<int32_t>({4, 38}),
               boost::test_tools::per_element());
    BOOST_CHECK_EXCEPTION(f(x, zeros).cpu(), Error, [](const Error& e) { return e.code() == Code::kInvalidArgument; });
  }
}

BOOST_AUTO_TEST_CASE(several_threads_may_call) {
  const Function f = trace(
      [](const Tensor& x) {
        Tensor y = x;
        for (int i = 0; i < 10; ++i) y = softmax(matmul(y, x));
        return y;
      },
      {{kFloat32, {16, 16}}});
  const Tensor input = ramp({16, 16}, -1, 0.01f);
  const std::vector<float> expected = f(input).to_vector<float>();
  std::vector<std::vector<float>> got(4);
  std::vector<std::thread> threads;
  for (std::vector<float>& result : got) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) result = f(input.to(*gpu())).cpu().to_vector<float>();
    });
  }
  for (std::thread& t : threads) t.join();
  for (const std::vector<float>& result : got) check_close(result, expected);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
