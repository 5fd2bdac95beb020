// Nodes of one device that are computed at once (SessionOptions::inter_op_threads).
#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "panto/define_op.h"
#include "panto/lib/runtime/parts/trial.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"

namespace panto {
namespace {

// Of unknown cost, so that it may be worth a thread; it waits, so that several at once are faster on any machine.
std::atomic<int> at_once{0}, most_at_once{0};
const Op& kSlow = define_op("TestSlow(x: float; microseconds: int) -> (y: float)",
                            {.doc = "x + 1, after a while.", .shape = shapes::same_as_input});
const CpuKernel slow_kernel("TestSlow", [](KernelContext& c) {
  const int now = ++at_once;
  int most = most_at_once;
  while (most < now && !most_at_once.compare_exchange_weak(most, now)) {
  }
  std::this_thread::sleep_for(std::chrono::microseconds(c.integer("microseconds")));
  for (int64_t i = 0; i < c.numel(0); ++i) c.out_data<float>(0)[i] = c.data<float>(0)[i] + 1;
  --at_once;
});

Tensor slow(const Tensor& x, int64_t microseconds) {
  const std::vector<std::pair<std::string, AttrValue>> attrs = {{"microseconds", AttrValue(microseconds)}};
  return dispatch::call(kSlow.name(), {&x, 1}, attrs)[0];
}

const Feeds kFeeds{{"x", tensor({1.F, 2.F, 3.F})}};

BOOST_AUTO_TEST_SUITE(split)

BOOST_AUTO_TEST_CASE(the_faster_way_is_taken) {
  for (const bool several_is_faster : {false, true}) {
    Trial trial;
    int several = 0;
    const auto run = [&](bool by_several) {
      several += by_several ? 1 : 0;
      if (by_several != several_is_faster) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    };
    for (int i = 0; i < 14; ++i) trial.run(run);
    BOOST_TEST(several == 7);
    BOOST_TEST(trial.several() == several_is_faster);
    for (int i = 0; i < 5; ++i) trial.run(run);
    BOOST_TEST(several == (several_is_faster ? 12 : 7));
  }
}

BOOST_AUTO_TEST_CASE(a_run_that_fails_is_not_timed) {
  Trial trial;
  for (int i = 0; i < 30; ++i) {
    BOOST_CHECK_THROW(trial.run([](bool) { throw std::runtime_error("no"); }), std::runtime_error);
  }
  BOOST_TEST(!trial.several());
}

BOOST_AUTO_TEST_CASE(branches_are_computed_at_once) {
  Graph graph;
  {
    const GraphScope in(graph);
    const Tensor x = placeholder(kFloat32, {3}, "x");
    std::vector<Tensor> ends;
    for (int b = 0; b < 3; ++b) ends.push_back(slow(slow(x * static_cast<float>(b), 2000), 2000));
    named("y", add_n(ends));
  }
  Session one(graph), several(graph, {.inter_op_threads = 3});
  const std::vector<float> expected{9, 12, 15};  // (0 + 1 + 2) x + 6
  most_at_once = 0;
  BOOST_TEST(one.run("y", kFeeds).to_vector<float>() == expected, boost::test_tools::per_element());
  BOOST_TEST(most_at_once == 1);
  for (int round = 0; round < 20; ++round) {
    BOOST_TEST(several.run("y", kFeeds).to_vector<float>() == expected, boost::test_tools::per_element());
  }
  BOOST_TEST(most_at_once == 3);
  BOOST_TEST(several.run("y", kFeeds).to_vector<float>() == expected, boost::test_tools::per_element());
}

// What is not worth a thread, and a chain, stay with the caller.
BOOST_AUTO_TEST_CASE(small_work_stays_on_the_callers_thread) {
  Graph graph;
  {
    const GraphScope in(graph);
    const Tensor x = placeholder(kFloat32, {3}, "x");
    named("small", add_n({sin(x), cos(x), tanh(x)}));
    named("chain", slow(slow(x, 1000), 1000));
  }
  Session s(graph, {.inter_op_threads = 2});
  most_at_once = 0;
  for (int i = 0; i < 20; ++i) {
    s.run("small", kFeeds);
    s.run("chain", kFeeds);
  }
  BOOST_TEST(most_at_once == 1);
}

// Random graphs of branches that meet and part, with a variable and random numbers among them.
BOOST_AUTO_TEST_CASE(results_do_not_depend_on_the_number_of_threads) {
  std::mt19937 random(20260102);
  for (int g = 0; g < 30; ++g) {
    Graph graph;
    {
      const GraphScope in(graph);
      const Variable v(tensor({0.5F, 0.25F, 2.F}), "v");
      std::vector<Tensor> values{placeholder(kFloat32, {3}, "x"), v.value()};
      std::vector<Operation> steps;
      for (int i = 0; i < 25; ++i) {
        const Tensor a = values[random() % values.size()], b = values[random() % values.size()];
        switch (random() % 6) {
          case 0: values.push_back(slow(a, static_cast<int64_t>(random() % 3) * 50)); break;
          case 1: values.push_back(sin(a) * b); break;
          case 2: values.push_back(a + 0.5F * b); break;
          case 3: values.push_back(random_uniform({3}, {.seed = 7}) + a); break;
          case 4: {
            const ControlDependencies after(steps);
            steps.push_back(v.assign_add(tanh(a)));
            break;
          }
          default: {
            const ControlDependencies after(steps);
            values.push_back(v.value() * b);
          }
        }
      }
      const ControlDependencies after(steps);
      named("y", add_n(values) + v.value());
      global_variables_initializer();
    }
    std::vector<std::vector<float>> expected;
    for (const int threads : {1, 2, 4}) {
      Session s(graph, {.inter_op_threads = threads});
      s.run("init");
      std::vector<std::vector<float>> found;
      for (int round = 0; round < 20; ++round) found.push_back(s.run("y", kFeeds).to_vector<float>());
      if (threads == 1) expected = found;
      BOOST_TEST_CONTEXT("graph " << g << ", " << threads << " threads") { BOOST_TEST((found == expected)); }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_fault_on_one_thread_ends_the_run) {
  Graph graph;
  {
    const GraphScope in(graph);
    const Tensor x = placeholder(kFloat32, {3}, "x");
    const Tensor index = placeholder(kInt32, {1}, "index");
    named("y", add_n({slow(slow(x, 1000), 1000), slow(slow(gather(x, index) + 0.F * x, 1000), 1000)}));
  }
  Session s(graph, {.inter_op_threads = 2});
  Feeds good = kFeeds, bad = kFeeds;
  good.emplace_back("index", tensor({1}));
  bad.emplace_back("index", tensor({3}));
  for (int round = 0; round < 25; ++round) {
    BOOST_TEST(s.run("y", good).to_vector<float>() == std::vector<float>({7, 8, 9}), boost::test_tools::per_element());
    expect_error_begins([&] { s.run("y", bad); }, "InvalidArgument: indices[0]: ");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
