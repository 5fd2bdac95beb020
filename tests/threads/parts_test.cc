// Parts of a graph on different devices run side by side: on threads of their own, with results that do not depend on
// which is faster.
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "panto/define_op.h"
#include "panto/lib/runtime/parts/side_by_side.h"
#include "panto/lib/runtime/session/run_metadata.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"

namespace panto {
namespace {

// ---- Ops -----------------------------------------------------------------------------------------------------------

std::atomic<int> met{0};
std::atomic<bool> fails{false};
std::mutex said_mutex;
std::vector<int64_t> said;

void pass_on(KernelContext& c) { std::copy_n(c.data<float>(0), c.numel(0), c.out_data<float>(0)); }

// Ends when as many calls as its attribute says have begun.
const Op& kMeet = define_op("TestMeet(x: float; count: int) -> (y: float)",
                            {.doc = "x, when others are there.", .shape = shapes::same_as_input});
const CpuKernel meet_kernel("TestMeet", [](KernelContext& c) {
  ++met;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (met.load() < c.integer("count")) {
    if (std::chrono::steady_clock::now() > deadline) fail(Code::kDeadlineExceeded, "others: expected some, got none");
    std::this_thread::yield();
  }
  pass_on(c);
});

// Of unknown cost, so that nobody thinks that it is not worth a thread.
const Op& kWork = define_op("TestWork(x: float; microseconds: int = 0) -> (y: float)",
                            {.doc = "x + 1, after a while.", .shape = shapes::same_as_input});
const CpuKernel work_kernel("TestWork", [](KernelContext& c) {
  if (c.integer("microseconds") > 0) std::this_thread::sleep_for(std::chrono::microseconds(c.integer("microseconds")));
  for (int64_t i = 0; i < c.numel(0); ++i) c.out_data<float>(0)[i] = c.data<float>(0)[i] + 1;
});

const Op& kFail = define_op("TestFail(x: float; code: int, microseconds: int = 0) -> (y: float)",
                            {.doc = "x, or an error.", .shape = shapes::same_as_input});
const CpuKernel fail_kernel("TestFail", [](KernelContext& c) {
  std::this_thread::sleep_for(std::chrono::microseconds(c.integer("microseconds")));
  if (fails) {
    fail(Code::kInvalidArgument, "device: expected one that works, got number " + std::to_string(c.integer("code")));
  }
  pass_on(c);
});

const Op& kSay =
    define_op("TestSay(x: float; number: int) -> (y: float)",
              {.doc = "x; the outside hears of it.", .effects = {effects::external()}, .shape = shapes::same_as_input});
const CpuKernel say_kernel("TestSay", [](KernelContext& c) {
  const std::lock_guard lock(said_mutex);
  said.push_back(c.integer("number"));
  pass_on(c);
});

std::set<std::thread::id> threads;
const Op& kWho =
    define_op("TestWho(x: float) -> (y: float)", {.doc = "x; notes the thread.", .shape = shapes::same_as_input});
const CpuKernel who_kernel("TestWho", [](KernelContext& c) {
  const std::lock_guard lock(said_mutex);
  threads.insert(std::this_thread::get_id());
  pass_on(c);
});

Tensor call_op(const Op& op, const Tensor& x, std::vector<std::pair<std::string, AttrValue>> attrs = {}) {
  return dispatch::call(op.name(), {&x, 1}, attrs)[0];
}
Tensor work(const Tensor& x, int64_t microseconds = 0) {
  return call_op(kWork, x, {{"microseconds", AttrValue(microseconds)}});
}
template <class Make>
Tensor on(const std::string& device, const Make& make) {
  const DeviceScope scope(device);
  return make();
}
std::string cpu(int index) { return "/cpu:" + std::to_string(index); }

template <class Build>
Graph graph_of(const Build& build) {
  set_cpu_device_count(4);
  Graph graph;
  const GraphScope building(graph);
  const Tensor x = placeholder(kFloat32, {4}, "x");
  build(x);
  // So that there is something to do at once, and the parts have threads of their own.
  std::vector<Tensor> all;
  for (int d = 0; d < 4; ++d) all.push_back(on(cpu(d), [&] { return work(x); }));
  named("beside", on(cpu(0), [&] { return add_n(all); }));
  return graph;
}
// The value of `fetch`, with what goes on beside it.
Tensor run(Session& s, const std::string& fetch, const Feeds& feeds) { return s.run({fetch, "beside"}, feeds)[0]; }
const Feeds kFeeds{{"x", tensor({1.F, 2.F, 3.F, 4.F})}};

BOOST_AUTO_TEST_SUITE(parts)

BOOST_AUTO_TEST_CASE(work_goes_on_side_by_side_and_inside_itself) {
  std::vector<int> counts(64, 0);
  std::atomic<int> inside{0};
  for (int round = 0; round < 100; ++round) {
    run_side_by_side(4, [&](size_t i) {
      run_side_by_side(4, [&, i](size_t k) {
        ++counts[16 * static_cast<size_t>(round % 4) + 4 * i + k];
        ++inside;
      });
    });
  }
  BOOST_TEST(inside == 1600);
  BOOST_TEST(counts == std::vector<int>(64, 25), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(devices_compute_at_the_same_time) {
  Session s(graph_of([](const Tensor& x) {
    std::vector<Tensor> all;
    for (int d = 0; d < 4; ++d) {
      all.push_back(on(cpu(d), [&] { return call_op(kMeet, x, {{"count", AttrValue(int64_t{4})}}); }));
    }
    named("y", add_n(all));
  }));
  for (int round = 0; round < 5; ++round) {
    met = 0;
    BOOST_TEST((run(s, "y", kFeeds).to_vector<float>() == std::vector<float>{4, 8, 12, 16}));
  }
}

// Lanes that take turns would only wait for one another.
BOOST_AUTO_TEST_CASE(parts_that_take_turns_run_on_the_callers_thread) {
  set_cpu_device_count(2);
  Graph graph;
  {
    const GraphScope building(graph);
    Tensor y = placeholder(kFloat32, {4}, "x");
    for (int i = 0; i < 10; ++i) y = on(cpu(i % 2), [&] { return call_op(kWho, y); });
    named("y", y);
    named("beside", on(cpu(0), [&] { return call_op(kWho, placeholder(kFloat32, {4}, "other")); }));
  }
  Session s(std::move(graph));
  Feeds feeds = kFeeds;
  threads.clear();
  s.run("y", feeds);
  BOOST_TEST((threads == std::set<std::thread::id>{std::this_thread::get_id()}));
  feeds.emplace_back("other", tensor({1.F, 2.F, 3.F, 4.F}));
  threads.clear();
  s.run({"y", "beside"}, feeds);
  BOOST_TEST(threads.size() == 2u);
}

// Back and forth, with values that are read late and by several, at different speeds.
BOOST_AUTO_TEST_CASE(results_do_not_depend_on_who_is_faster) {
  const auto build = [](int devices) {
    return [devices](const Tensor& x) {
      std::vector<Tensor> values{x, x * 2.F};
      for (int i = 0; i < 60; ++i) {
        const Tensor& a = values[values.size() - 1 - static_cast<size_t>(i * 7 % 3 % static_cast<int>(values.size()))];
        const Tensor& b = values[static_cast<size_t>(i * i % static_cast<int>(values.size()))];
        values.push_back(on(cpu(i * 5 % 7 % devices), [&] { return work(a * 0.5F - b * 0.25F, i % 3 * 20); }));
      }
      named("y", add_n(std::vector<Tensor>(values.end() - 9, values.end())));
    };
  };
  for (const char* passes : {"", "off"}) {
    Session one(graph_of(build(1)), {.passes = passes});
    const std::vector<float> expected = run(one, "y", kFeeds).to_vector<float>();
    for (int devices : {2, 3, 4}) {
      Session several(graph_of(build(devices)), {.passes = passes});
      for (int round = 0; round < 50; ++round) {
        BOOST_REQUIRE(run(several, "y", kFeeds).to_vector<float>() == expected);
      }
    }
  }
}

// Several runs of one plan, each with its own state.
BOOST_AUTO_TEST_CASE(steps_run_beside_one_another) {
  Session s(graph_of([](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < 20; ++i) y = on(cpu(i % 3), [&] { return work(y); });
    named("y", y);
  }));
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&, t] {
      for (int round = 0; round < 100; ++round) {
        const auto from = static_cast<float>(1000 * t + round);
        const Tensor y = run(s, "y", {{"x", tensor({from, from, from, from})}});
        if (y.to_vector<float>() != std::vector<float>(4, from + 20)) ++wrong;
      }
    });
  }
  for (std::thread& thread : callers) thread.join();
  BOOST_TEST(wrong == 0);
}

// ---- Order ---------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(effects_keep_the_order_of_one_device) {
  Session s(graph_of([](const Tensor& x) {
    for (int i = 0; i < 12; ++i) {
      on(cpu(i * 5 % 4), [&] {
        const Tensor value = work(x, i % 2 == 0 ? 100 : 0);
        return named("say" + std::to_string(i), call_op(kSay, value, {{"number", AttrValue(int64_t{i})}}));
      });
    }
  }));
  Fetches fetches{"beside"};
  std::vector<int64_t> expected;
  for (int i = 0; i < 12; ++i) {
    fetches.emplace_back("say" + std::to_string(i));
    expected.push_back(i);
  }
  for (int round = 0; round < 30; ++round) {
    said.clear();
    s.run(fetches, kFeeds);
    BOOST_TEST(said == expected, boost::test_tools::per_element());
  }
}

// Control edges from device to device, also by way of what is no step: NoOp, Identity, Const.
BOOST_AUTO_TEST_CASE(control_edges_go_from_device_to_device) {
  std::atomic<bool> done = false;
  static std::atomic<bool>* flag;
  flag = &done;
  static const Op& set =
      define_op("TestSet(x: float) -> (y: float)", {.doc = "x, after a while.", .shape = shapes::same_as_input});
  static const CpuKernel set_kernel("TestSet", [](KernelContext& c) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    *flag = true;
    pass_on(c);
  });
  static const Op& look = define_op("TestLook(x: float) -> (y: float)",
                                    {.doc = "1 if it was set, else 0.", .shape = shapes::same_as_input});
  static const CpuKernel look_kernel(
      "TestLook", [](KernelContext& c) { std::fill_n(c.out_data<float>(0), c.numel(0), *flag ? 1.F : 0.F); });
  link_ops();
  for (const std::string by : {"directly", "no_op", "identity", "constant"}) {
    Graph graph = graph_of([](const Tensor& x) {
      on(cpu(1), [&] { return named("set", call_op(set, x)); });
      on(cpu(2), [&] { return named("same", identity(x)); });
      named("k", constant(tensor({1.F, 1.F, 1.F, 1.F}), kFloat32));
      on(cpu(3), [&] { return named("look", call_op(look, x)); });
    });
    const int from = graph.at("set").id(), to = graph.at("look").id();
    if (by == "directly") graph.add_control_input(to, from);
    if (by == "no_op") {
      int before = from;
      for (const char* name : {"between", "again"}) {
        NodeSpec no_op;
        no_op.name = name;
        no_op.op = &get_op("NoOp");
        no_op.control_inputs = {before};
        before = graph.add(std::move(no_op));
      }
      graph.add_control_input(to, before);
    }
    const std::string read = by == "constant" ? "k" : "same";
    if (by == "identity" || by == "constant") {
      graph.add_control_input(graph.at(read).id(), from);
      graph.set_input(to, 0, graph.output(read));
    }
    Session s(std::move(graph), {.passes = "off"});
    for (int round = 0; round < 5; ++round) {
      done = false;
      BOOST_TEST_CONTEXT(by) { BOOST_TEST((run(s, "look", kFeeds).to_vector<float>() == std::vector<float>(4, 1))); }
    }
  }
}

// ---- Errors --------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_device_that_fails_ends_the_step_and_the_next_one_runs) {
  Session s(graph_of([](const Tensor& x) {
    const Tensor a =
        on(cpu(1), [&] { return named("bad", call_op(kFail, work(x), {{"code", AttrValue(int64_t{1})}})); });
    const Tensor b = on(cpu(2), [&] { return work(a); });
    const Tensor c = on(cpu(3), [&] { return work(b); });
    named("y", on(cpu(0), [&] { return work(add(c, work(x))); }));
  }));
  for (int round = 0; round < 20; ++round) {
    fails = false;
    BOOST_TEST((run(s, "y", kFeeds).to_vector<float>() == std::vector<float>{7, 9, 11, 13}));
    fails = true;
    const std::string error = error_text([&] { run(s, "y", kFeeds); });
    BOOST_TEST(error.starts_with("InvalidArgument: device: expected one that works, got number 1"));
    BOOST_TEST(error.find("'bad'") != std::string::npos);
  }
  fails = false;
}

// Of two devices that fail, the one whose node comes first is told of, also where it is the slower one.
BOOST_AUTO_TEST_CASE(of_two_faults_the_first_in_the_graph_is_thrown) {
  for (const int64_t slow : {0, 1}) {
    Session s(graph_of([&](const Tensor& x) {
      const auto failing = [&](int64_t code) {
        return call_op(kFail, x,
                       {{"code", AttrValue(code)}, {"microseconds", AttrValue(code == slow ? int64_t{3000} : 0)}});
      };
      const Tensor a = on(cpu(1), [&] { return failing(0); });
      const Tensor b = on(cpu(2), [&] { return failing(1); });
      named("y", add(a, b));
    }));
    fails = true;
    for (int round = 0; round < 5; ++round) {
      expect_error_begins([&] { run(s, "y", kFeeds); },
                          "InvalidArgument: device: expected one that works, got number 0");
    }
    fails = false;
    BOOST_TEST((run(s, "y", kFeeds).to_vector<float>() == std::vector<float>{2, 4, 6, 8}));
  }
}

// RunMetadata tells of all parts, with their threads, and of what goes from one to another.
BOOST_AUTO_TEST_CASE(all_parts_are_watched) {
  Session s(graph_of([](const Tensor& x) {
    const Tensor a = on(cpu(1), [&] { return named("a", work(x)); });
    named("y", on(cpu(0), [&] { return work(a); }));
  }));
  for (int round = 0; round < 20; ++round) {
    RunMetadata metadata;
    s.run({"y", "beside"}, kFeeds, {.trace = RunOptions::Trace::kFull}, &metadata);
    std::map<std::string, int> thread_of;
    for (const NodeStats& node : metadata.nodes) thread_of[node.name] = node.thread;
    BOOST_TEST(thread_of.at("y") == 0);
    BOOST_TEST(thread_of.at("a") != 0);
    BOOST_TEST(thread_of.at("a/_Send") == thread_of.at("a"));
    BOOST_TEST(thread_of.at("y/_Recv") == 0);
    for (const NodeStats& node : metadata.nodes) {
      if (node.name == "a/_Send") BOOST_TEST(node.outputs.at(0).bytes == 16);
    }
  }
}

BOOST_AUTO_TEST_CASE(parts_run_for_their_step) {
  Session s(graph_of([](const Tensor& x) {
    Tensor y = x;
    for (int i = 0; i < 50; ++i) y = on(cpu(i % 2), [&] { return work(y, 100); });
    named("y", y);
  }));
  Step step = current_step();
  step.cancellation = std::make_shared<Cancellation>();
  step.cancellation->request();
  {
    const StepScope scope(step);
    expect_error_begins([&] { run(s, "y", kFeeds); }, "Cancelled");
  }
  BOOST_TEST((run(s, "y", kFeeds).to_vector<float>() == std::vector<float>{51, 52, 53, 54}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
