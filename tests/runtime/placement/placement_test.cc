// Where nodes run: device functions, the log, placement by cost. Device functions and the log are compared with what
// TensorFlow 2.21 says of the same program; simulated times with sums by hand and with a simulation of its own.
#include "panto/lib/runtime/placement/cost_placer.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "panto/lib/base/file.h"
#include "panto/lib/graph/device_function.h"
#include "panto/lib/runtime/placement/cost_model.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/graph/text_graph.h"
#include "panto/tests/written.h"

namespace panto {
namespace {

using test::text_graph;

BOOST_AUTO_TEST_SUITE(placement)

// ---- Device functions ----------------------------------------------------------------------------------------------

// tf.device as nested here gives these devices, and shows the function these.
BOOST_AUTO_TEST_CASE(device_functions_nest_as_in_tensorflow) {
  Graph graph;
  std::map<int, std::string> seen;  // by id: the name comes later
  const DeviceFunction products_elsewhere = [&](const Node& node) {
    seen[node.id()] = node.device();
    return node.has(Trait::kContraction) ? std::string("/device:CPU:1") : node.device();
  };
  {
    const GraphScope building(graph);
    Tensor a, b, c, h;
    {
      const DeviceScope outer("/job:localhost/device:CPU:0");
      const DeviceFunctionScope function(products_elsewhere);
      {
        const DeviceScope inner("/task:0");
        a = named("a", placeholder(kFloat32, {1, 1}));
        a = named("a2", neg(a));
        b = named("b", matmul(a, a));
        const DeviceScope innermost("/device:CPU:*");
        c = named("c", matmul(a, b));
      }
      named("d", neg(b));
      const DeviceScope inner("/cpu:0");
      named("e", matmul(a, b));
    }
    const DeviceFunctionScope function(products_elsewhere);
    const DeviceScope inner("/job:localhost");
    h = named("h", add(b, c));
  }
  const std::map<std::string, std::string> expected = {
      {"a2", "/job:localhost/task:0/device:CPU:0"}, {"b", "/job:localhost/device:CPU:1"},
      {"c", "/job:localhost/device:CPU:1"},         {"d", "/job:localhost/device:CPU:0"},
      {"e", "/job:localhost/device:CPU:1"},         {"h", "/job:localhost"}};
  for (const auto& [name, device] : expected) {
    BOOST_TEST_CONTEXT(name) { BOOST_TEST(graph.at(name).device() == device); }
  }
  const std::map<std::string, std::string> shown = {
      {"a2", "/task:0"}, {"b", "/task:0"},       {"c", "/task:0/device:CPU:*"},
      {"d", ""},         {"e", "/device:CPU:0"}, {"h", "/job:localhost"}};
  for (const auto& [name, device] : shown) {
    BOOST_TEST_CONTEXT(name) { BOOST_TEST(seen[graph.at(name).id()] == device); }
  }
}

// What the inner one leaves open the outer one says; an answer takes the place of what the node had.
BOOST_AUTO_TEST_CASE(functions_inside_functions) {
  Graph graph;
  {
    const GraphScope building(graph);
    const DeviceScope outermost("/job:localhost");
    const DeviceFunctionScope outer([](const Node& node) { return node.device() + "/replica:0"; });
    const DeviceScope between("/task:0");
    const DeviceFunctionScope inner([](const Node&) { return std::string("/cpu:1"); });
    const DeviceScope innermost("/cpu:0");
    named("y", neg(placeholder(kFloat32, {})));
  }
  BOOST_TEST(graph.at("y").device() == "/job:localhost/replica:0/task:0/device:CPU:1");
}

BOOST_AUTO_TEST_CASE(functions_end_with_their_scopes_and_are_asked_of_nodes_only) {
  set_cpu_device_count(4);
  {
    const DeviceScope outer("/cpu:1");
    const DeviceFunctionScope function([](const Node&) { return std::string("/cpu:2"); });
    BOOST_TEST(tensor(1.F).device().name() == "/device:CPU:1");
    const DeviceScope inner("/cpu:3");
    BOOST_TEST(tensor(1.F).device().name() == "/device:CPU:3");
  }
  Graph graph;
  const GraphScope building(graph);
  named("y", neg(placeholder(kFloat32, {})));
  BOOST_TEST(graph.at("y").device().empty());
}

// tf.device(None), as tf.Graph.device has it; and what is outside goes on behind it.
BOOST_AUTO_TEST_CASE(no_device_forgets_scopes_and_functions) {
  Graph graph;
  {
    const GraphScope building(graph);
    const Tensor x = placeholder(kFloat32, {});
    const auto add = [&x](std::string_view name) { named(name, neg(x)); };
    const DeviceFunction there = [](const Node&) { return std::string("/device:CPU:3"); };
    {
      const DeviceScope outer("/job:localhost/device:CPU:1");
      {
        const DeviceScope none(nullptr);
        add("b");
        const DeviceScope inner("/task:0");
        add("c");
      }
      add("d");
    }
    {
      const DeviceFunctionScope function(there);
      {
        const DeviceScope none(nullptr);
        add("h");
        const DeviceScope inner("/cpu:1");
        add("i");
      }
      add("j");
    }
    const DeviceScope outer("/cpu:1");
    {
      const DeviceFunctionScope function(there);
      const DeviceScope none(nullptr);
      add("k");
    }
    const DeviceScope none(nullptr);
    const DeviceFunctionScope function(there);
    add("l");
  }
  const std::map<std::string, std::string> expected = {
      {"b", ""}, {"c", "/task:0"},       {"d", "/job:localhost/device:CPU:1"},
      {"h", ""}, {"i", "/device:CPU:1"}, {"j", "/device:CPU:3"},
      {"k", ""}, {"l", "/device:CPU:3"}};
  for (const auto& [name, device] : expected) {
    BOOST_TEST_CONTEXT(name) { BOOST_TEST(graph.at(name).device() == device); }
  }
  // Of calls that run at once, too; one that is not there is no matter.
  set_cpu_device_count(4);
  const Tensor one = tensor(1.F);
  const DeviceScope away("/job:elsewhere/cpu:7");
  expect_error_begins([&] { (void)neg(one); }, "NotFound: device: expected one of");
  {
    const DeviceScope none(nullptr);
    BOOST_TEST(neg(one).device().name() == "/device:CPU:0");
  }
  expect_error_begins([&] { (void)neg(one); }, "NotFound: device: expected one of");
}

BOOST_AUTO_TEST_CASE(an_answer_that_is_no_device_is_an_error) {
  Graph graph;
  const GraphScope building(graph);
  const Tensor x = placeholder(kFloat32, {});
  const DeviceFunctionScope function([](const Node&) { return std::string("nowhere"); });
  expect_error_begins([&] { neg(x); }, "InvalidArgument: device name: expected a form like");
  expect_error([] { const DeviceFunctionScope none(DeviceFunction{}); },
               "InvalidArgument: device function: expected one to call, got none");
}

// ---- The log -------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(the_log_has_tensorflows_lines) {
  set_cpu_device_count(2);
  Session s(text_graph(R"(
    a = Placeholder(; dtype=float32, shape=[1,1])
    b = MatMul(a, a) @/cpu:1
    d = Identity(b)
    unused = Neg(a)
  )"),
            {.passes = "off", .log_device_placement = true});
  const Feeds feeds{{"a", tensor({{2.f}})}};
  const std::string log = test::written([&] { s.run("d", feeds); });
  BOOST_TEST(log ==
             "a: (Placeholder): /job:localhost/replica:0/task:0/device:CPU:0\n"
             "b: (MatMul): /job:localhost/replica:0/task:0/device:CPU:1\n"
             "d: (Identity): /job:localhost/replica:0/task:0/device:CPU:0\n");
  BOOST_TEST(test::written([&] { s.run("d", feeds); }).empty());  // it is placed once
}

// ---- Placement by cost ---------------------------------------------------------------------------------------------

// A billion operations a second, transfers of a given rate, nothing else takes time.
void set_simple_rates(CostModel& costs, double bytes_per_second) {
  costs.set_rates(DeviceKind::kCpu, {.seconds_per_call = 0, .operations_per_second = 1e9, .bytes_per_second = 1e30});
  costs.set_transfer_rates({.seconds_per_transfer = 0, .bytes_per_second = bytes_per_second});
}

constexpr const char* kDiamond = R"(
  x = Placeholder(; dtype=float32, shape=[100,100])
  a = MatMul(x, x)
  b = MatMul(x, x; transpose_b=true)
  y = AddV2(a, b)
)";
Feeds diamond_feeds() {
  std::vector<float> values;
  for (int i = 0; i < 10000; ++i) values.push_back(1e-4F * static_cast<float>(i));
  return {{"x", tensor(values, Shape{100, 100})}};
}

// Each product is 2e6 operations, 2 ms; the sum 10 us; a matrix of 40 kB goes over in 40 us. On one device 4.01 ms. On
// two: x is on the second at 0.04, its product at 2.04, when the first one's, sent at 2.00, is there, too: 2.05 ms.
BOOST_AUTO_TEST_CASE(a_diamond_of_two_products_goes_on_both_devices) {
  set_cpu_device_count(2);
  Session s(text_graph(kDiamond), {.passes = "off", .placement = "by_cost"});
  set_simple_rates(s.costs(), 1e9);
  const Tensor y = s.run("y", diamond_feeds());
  const Graph placed = s.optimized_graph();
  BOOST_TEST(placed.at("a").device() != placed.at("b").device());
  const PlanStats stats = s.plan_stats();
  BOOST_TEST(stats.predicted_seconds == 2.05e-3, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(stats.single_device_seconds == 4.01e-3, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(stats.single_device == "/device:CPU:0");
  BOOST_TEST(stats.measured_seconds > 0);
  BOOST_TEST(placement_report(stats).starts_with(
      "placed by cost: predicted 2.050 ms, best single device /device:CPU:0 4.010 ms, measured "));
  Session one(text_graph(kDiamond), {.passes = "off"});
  BOOST_TEST(y.to_vector<float>() == one.run("y", diamond_feeds()).to_vector<float>(),
             boost::test_tools::per_element());
  BOOST_TEST(placement_report(one.plan_stats()) == "placed as asked");
}

// 40 kB then take 40 ms.
BOOST_AUTO_TEST_CASE(where_transfers_take_longer_than_they_save_one_device_does_all) {
  set_cpu_device_count(2);
  Session s(text_graph(kDiamond), {.passes = "off", .placement = "by_cost"});
  set_simple_rates(s.costs(), 1e6);
  s.run("y", diamond_feeds());
  const Graph placed = s.optimized_graph();
  for (const char* name : {"a", "b", "y"}) BOOST_TEST(placed.at(name).device() == "/device:CPU:0");
  BOOST_TEST(s.plan_stats().predicted_seconds == 4.01e-3, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(s.plan_stats().transfers == 0);
}

// A chain leaves nothing to do at once.
BOOST_AUTO_TEST_CASE(a_chain_stays_on_one_device) {
  set_cpu_device_count(3);
  Session s(text_graph(R"(
    x = Placeholder(; dtype=float32, shape=[100,100])
    a = MatMul(x, x)
    b = MatMul(a, x)
    c = MatMul(b, a)
  )"),
            {.passes = "off", .placement = "by_cost"});
  set_simple_rates(s.costs(), 1e12);
  s.run("c", diamond_feeds());
  BOOST_TEST(s.plan_stats().transfers == 0);
  BOOST_TEST(s.plan_stats().predicted_seconds == 6e-3, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(what_is_asked_for_holds_by_cost_too) {
  set_cpu_device_count(3);
  Session s(text_graph(R"(
    x = Placeholder(; dtype=float32, shape=[100,100])
    a = MatMul(x, x) @/cpu:2
    b = MatMul(x, x; transpose_b=true, _class=["loc:@a"])
    y = AddV2(a, b)
  )"),
            {.passes = "off", .placement = "by_cost"});
  set_simple_rates(s.costs(), 1e9);
  s.run("y", diamond_feeds());
  const Graph placed = s.optimized_graph();
  BOOST_TEST(placed.at("a").device() == "/device:CPU:2");
  BOOST_TEST(placed.at("b").device() == "/device:CPU:2");
  expect_error([] { Session(Graph(), {.placement = "by_chance"}); },
               "InvalidArgument: placement: expected \"\" or \"by_cost\", got 'by_chance'");
}

// ---- A thousand graphs ---------------------------------------------------------------------------------------------

// The time of a placement, told once more: node after node, as the header says.
double time_of(const Graph& graph, const std::map<int, const Device*>& device, const CostModel& costs) {
  std::map<int, double> made;
  std::map<const Device*, double> busy_until;
  std::map<std::pair<int, const Device*>, double> there;  // every node has one output
  double latest = 0;
  for (const int id : graph.topological_order()) {
    const Node& node = graph.at(id);
    const Device* on = device.at(id);
    double begin = 0;
    for (const NodeOutput& input : node.inputs()) {
      double arrives = made[input.node];
      if (device.at(input.node) != on) {
        const OutputInfo& info = graph.info(input);
        const auto bytes = info.shape.numel() * static_cast<int64_t>(dtype_size(info.dtype));
        arrives = there.try_emplace({input.node, on}, arrives + costs.transfer_seconds(bytes)).first->second;
      }
      begin = std::max(begin, arrives);
    }
    const double takes = costs.seconds(graph, node, on->kind());
    if (takes > 0) begin = std::max(begin, busy_until[on]);
    made[id] = begin + takes;
    if (takes > 0) busy_until[on] = made[id];
    latest = std::max(latest, made[id]);
  }
  return latest;
}

BOOST_AUTO_TEST_CASE(never_worse_than_the_best_single_device) {
  set_cpu_device_count(4);
  std::mt19937 random(7);
  const auto number = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  std::vector<const Device*> cpus;
  for (const Device* d : devices()) {
    if (d->kind() == DeviceKind::kCpu && d->index() < 4) cpus.push_back(d);
  }
  int spread = 0;
  for (int round = 0; round < 1000; ++round) {
    const int size = 8 << number(5);
    std::string text =
        "n0 = Placeholder(; dtype=float32, shape=[" + std::to_string(size) + "," + std::to_string(size) + "])\n";
    const int nodes = 3 + number(20);
    for (int i = 1; i < nodes; ++i) {
      const auto input = [&] { return "n" + std::to_string(std::max(0, i - 1 - number(6))); };
      const std::string a = input(), b = input();
      const char* ops[] = {"MatMul", "MatMul", "AddV2", "Mul"};
      const int op = number(5);
      text += "n" + std::to_string(i) + " = " + (op == 4 ? "Tanh(" + a : ops[op] + ("(" + a) + ", " + b) + ")\n";
    }
    Graph graph = text_graph(text);
    CostModel costs;
    costs.set_rates(DeviceKind::kCpu,
                    {.seconds_per_call = 1e-6 * number(10), .operations_per_second = 1e9, .bytes_per_second = 1e9});
    costs.set_transfer_rates({.seconds_per_transfer = 1e-6 * number(50), .bytes_per_second = 1e7 * (1 + number(200))});
    std::vector<PlacementGroup> groups;
    for (const int id : graph.ids()) {
      const bool constrained = number(8) == 0;
      if (!groups.empty() && number(10) == 0) {
        groups.back().nodes.push_back(id);
      } else if (constrained || id == 0) {
        groups.push_back({{id}, {cpus[static_cast<size_t>(id == 0 ? 0 : number(4))]}});
      } else {
        groups.push_back({{id}, cpus});
      }
    }
    const auto by_node = [&](const std::vector<const Device*>& devices) {
      std::map<int, const Device*> of;
      for (size_t g = 0; g < groups.size(); ++g) {
        for (const int id : groups[g].nodes) of[id] = devices[g];
      }
      return of;
    };
    const PlacementByCost made = place_by_cost(graph, groups, costs);
    BOOST_TEST_CONTEXT("round " << round << "\n" << text) {
      double best_single = INFINITY;
      for (const Device* one : cpus) {
        std::vector<const Device*> single;
        for (const PlacementGroup& g : groups) single.push_back(g.choices.size() == 1 ? g.choices[0] : one);
        best_single = std::min(best_single, time_of(graph, by_node(single), costs));
      }
      BOOST_REQUIRE(made.devices.size() == groups.size());
      for (size_t g = 0; g < groups.size(); ++g) {
        BOOST_TEST((std::ranges::find(groups[g].choices, made.devices[g]) != groups[g].choices.end()));
      }
      BOOST_TEST(made.seconds == time_of(graph, by_node(made.devices), costs), boost::test_tools::tolerance(1e-9));
      BOOST_TEST(made.single_seconds == best_single, boost::test_tools::tolerance(1e-9));
      BOOST_TEST(made.seconds <= best_single);
      spread += made.seconds < best_single ? 1 : 0;
    }
  }
  BOOST_TEST(spread > 100);  // it is of use, too
}

// ---- What was measured ---------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(measured_times_take_the_place_of_estimates) {
  const Graph graph = text_graph(kDiamond);
  CostModel costs;
  set_simple_rates(costs, 1e9);
  BOOST_TEST(costs.seconds(graph, graph.at("a"), DeviceKind::kCpu) == 2e-3, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(costs.seconds(graph, graph.at("x"), DeviceKind::kCpu) == 0);
  costs.note(graph, graph.at("a"), DeviceKind::kCpu, 7e-3);
  costs.note(graph, graph.at("a"), DeviceKind::kCpu, 6e-3);
  costs.note(graph, graph.at("a"), DeviceKind::kCpu, 9e-3);
  BOOST_TEST(costs.num_measured() == 1);
  BOOST_TEST(costs.seconds(graph, graph.at("a"), DeviceKind::kCpu) == 6e-3, boost::test_tools::tolerance(1e-9));
  // Another call was not measured: three times its estimate, as the one that was.
  BOOST_TEST(costs.seconds(graph, graph.at("b"), DeviceKind::kCpu) == 6e-3, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(costs.seconds(graph, graph.at("y"), DeviceKind::kCpu) == 3e-5, boost::test_tools::tolerance(1e-9));

  const TestFolder folder;
  const std::string path = folder / "costs.json";
  costs.save(path);
  CostModel read;
  set_simple_rates(read, 1e9);
  read.note(graph, graph.at("y"), DeviceKind::kCpu, 1.0);
  read.load(path);
  BOOST_TEST(read.num_measured() == 2);
  BOOST_TEST(read.seconds(graph, graph.at("a"), DeviceKind::kCpu) == 6e-3, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(read.seconds(graph, graph.at("y"), DeviceKind::kCpu) == 1.0);
  for (const char* text : {"", "[]", "{\"format\": \"panto costs 1\", \"nodes\": {\"a\": [1]}}",
                           "{\"format\": \"panto costs 1\", \"nodes\": {\"a\": [-1, 1]}}"}) {
    write_file(path, text);
    expect_error([&] { read.load(path); },
                 "InvalidArgument: " + path + ": expected a file that CostModel::save wrote, got another one");
  }
}

// A session measures its first runs, and a second one that reads what it saved predicts a time near to what it takes.
BOOST_AUTO_TEST_CASE(what_one_session_measured_another_places_by) {
  set_cpu_device_count(2);
  const TestFolder folder;
  const std::string path = folder / "costs.json";
  Session first(text_graph(kDiamond), {.passes = "off", .placement = "by_cost"});
  set_simple_rates(first.costs(), 1e6);  // all on one
  for (int i = 0; i < 3; ++i) first.run("y", diamond_feeds());
  BOOST_TEST(first.costs().num_measured() == 3);
  BOOST_TEST(first.plan_stats().measured_seconds > 0);
  first.costs().save(path);
  Session second(text_graph(kDiamond), {.passes = "off", .placement = "by_cost"});
  set_simple_rates(second.costs(), 1e1);
  second.costs().load(path);
  second.run("y", diamond_feeds());
  const Graph graph = text_graph(kDiamond);
  double sum = 0;
  for (const char* name : {"a", "b", "y"}) sum += first.costs().seconds(graph, graph.at(name), DeviceKind::kCpu);
  BOOST_TEST(second.plan_stats().predicted_seconds == sum, boost::test_tools::tolerance(1e-6));
}

// A loop counts as sixteen rounds of its body, a conditional as its longer branch.
BOOST_AUTO_TEST_CASE(functions_cost_what_they_call) {
  Graph graph;
  {
    const GraphScope building(graph);
    const Tensor x = placeholder(kFloat32, {100, 100}, "x");
    const auto square = [](const Tensor& t) { return matmul(t, t); };
    while_loop([](const Tensor& t) { return sum(t) < 1.F; }, square, x);
    cond(sum(x) > 0.F, [&] { return square(square(x)); }, [&] { return square(x); });
  }
  CostModel costs;
  set_simple_rates(costs, 1e9);
  bool loops = false, branches = false;
  for (const int id : graph.ids()) {
    const Node& node = graph.at(id);
    const double seconds = costs.seconds(graph, node, DeviceKind::kCpu);
    // The condition adds 1e4 numbers and compares one.
    if (node.is(OpKind::kLoop)) loops = std::abs(seconds - 16 * (2e-3 + 1e-5)) < 1e-6;
    if (node.is(OpKind::kCond)) branches = std::abs(seconds - 4e-3) < 1e-9;
  }
  BOOST_TEST(loops);
  BOOST_TEST(branches);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
