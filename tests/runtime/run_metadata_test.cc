// Runs that are watched: what each node did, deadlines, graphs of devices, memory.
#include "panto/lib/runtime/session/run_metadata.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <map>
#include <set>
#include <thread>

#include "panto/lib/core/tensor/device.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/runtime/session.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/graph/text_graph.h"
#include "panto/trace/control/control_flow.h"
#include "panto/trace/graph_scope.h"

namespace panto::test {
namespace {

constexpr RunOptions kTraced{.trace = RunOptions::Trace::kFull};

constexpr const char* kGraph = R"(
  x = Placeholder(; dtype=float32, shape=[?,2])
  w = Const(; value=float32[2,1]{1, -0.5})
  product = MatMul(x, w)
  y = Tanh(product)
  n = Shape(y)
)";

const NodeStats* find(const RunMetadata& metadata, std::string_view name) {
  const auto found = std::ranges::find(metadata.nodes, name, &NodeStats::name);
  return found == metadata.nodes.end() ? nullptr : &*found;
}

int count(const RunMetadata& metadata, std::string_view op) {
  return static_cast<int>(std::ranges::count(metadata.nodes, op, &NodeStats::op));
}

BOOST_AUTO_TEST_SUITE(run_metadata)

BOOST_AUTO_TEST_CASE(tells_what_each_node_did) {
  Session s(text_graph(kGraph), {.passes = "off"});
  const Tensor x = tensor({{1.f, 2.f}, {3.f, 4.f}, {5.f, 6.f}});
  RunMetadata metadata;
  const auto values = s.run({"y", "n"}, {{"x", x}}, kTraced, &metadata);
  BOOST_TEST((values[0].to_vector<float>() == s.run("y", {{"x", x}}).to_vector<float>()));
  BOOST_TEST(metadata.nodes.size() == 3U);
  const NodeStats* product = find(metadata, "product");
  const NodeStats* y = find(metadata, "y");
  BOOST_REQUIRE(product != nullptr);
  BOOST_REQUIRE(y != nullptr);
  BOOST_TEST(product->op == "MatMul");
  BOOST_TEST(product->device == cpu_device().name());
  BOOST_TEST(product->thread == 0);
  BOOST_TEST(product->depth == 0);
  BOOST_REQUIRE(product->outputs.size() == 1U);
  BOOST_TEST((product->outputs[0].dtype == kFloat32));
  BOOST_TEST((product->outputs[0].shape == PartialShape{3, 1}));
  BOOST_TEST(product->outputs[0].bytes == 12);
  BOOST_TEST(0 <= product->start);
  BOOST_TEST(product->start <= product->end);
  BOOST_TEST(product->end <= y->start);
  BOOST_TEST(y->end <= metadata.took);
  BOOST_TEST(metadata.began > int64_t{1'600'000'000} * 1'000'000'000);
  BOOST_TEST(metadata.partition_graphs.empty());
}

BOOST_AUTO_TEST_CASE(says_nothing_that_was_not_asked_for) {
  Session s(text_graph(kGraph));
  RunMetadata metadata;
  metadata.nodes.resize(7);
  s.run({"y"}, {{"x", zeros({1, 2})}}, {}, &metadata);
  BOOST_TEST(metadata.nodes.empty());
  BOOST_TEST(metadata.cost_graph.empty());
  BOOST_TEST(s.run({"y"}, {{"x", zeros({1, 2})}}, kTraced).size() == 1U);  // nobody is told
}

BOOST_AUTO_TEST_CASE(a_failed_run_tells_how_far_it_came) {
  Session s(text_graph(R"(
    i = Placeholder(; dtype=int32, shape=[])
    ten = Const(; value=int32{10})
    sum = AddV2(ten, i)
    quotient = FloorDiv(sum, i)
  )"),
            {.passes = "off"});
  RunMetadata metadata;
  expect_error_begins([&] { s.run({"quotient"}, {{"i", 0}}, kTraced, &metadata); },
                      "InvalidArgument: integer division by zero");
  BOOST_TEST(metadata.nodes.size() == 1U);
  BOOST_TEST(find(metadata, "sum") != nullptr);
}

BOOST_AUTO_TEST_CASE(costs_of_the_graph_by_node) {
  Session s(text_graph(kGraph), {.passes = "off"});
  RunMetadata metadata;
  s.run({"y"}, {{"x", zeros({5, 2})}}, kTraced, &metadata);
  std::map<std::string, CostNode> by_name;
  for (const CostNode& node : metadata.cost_graph) by_name[node.name] = node;
  const CostNode& product = by_name.at("product");
  const CostNode& y = by_name.at("y");
  BOOST_REQUIRE(product.inputs.size() == 2U);
  BOOST_TEST(metadata.cost_graph[static_cast<size_t>(product.inputs[0].node)].name == "x");
  BOOST_TEST(metadata.cost_graph[static_cast<size_t>(product.inputs[1].node)].name == "w");
  BOOST_TEST(metadata.cost_graph[static_cast<size_t>(y.inputs[0].node)].name == "product");
  BOOST_TEST(product.executions == 1);
  BOOST_TEST(product.nanoseconds == find(metadata, "product")->end - find(metadata, "product")->start);
  BOOST_TEST(y.outputs[0].bytes == 20);
  BOOST_TEST(!product.is_final);
  BOOST_TEST(by_name.at("w").executions == 0);
  BOOST_TEST(by_name.at("w").outputs[0].bytes == 8);
}

BOOST_AUTO_TEST_CASE(nodes_of_functions_are_told_each_time) {
  Graph graph;
  {
    const GraphScope in(graph);
    const Tensor n = placeholder(kInt32, {}, "n");
    const auto [i, total] = while_loop([&](const Tensor& i, const Tensor&) { return i < n; },
                                       [](const Tensor& i, const Tensor& t) { return std::tuple(i + 1, t * 2.f); },
                                       std::tuple(tensor(0), tensor(1.f)));
    named("total", identity(total));
  }
  Session s(graph, {.passes = "off"});
  RunMetadata metadata;
  const auto total = s.run({"total"}, {{"n", 5}}, kTraced, &metadata);
  BOOST_TEST(total[0].item<float>() == 32.f);
  int doublings = 0;
  for (const NodeStats& node : metadata.nodes) doublings += node.depth == 1 && node.op == "Mul" ? 1 : 0;
  BOOST_TEST(doublings == 5);
}

BOOST_AUTO_TEST_CASE(nodes_of_tensorflow_1_loops_are_told_each_round) {
  Session s(text_graph(R"(
    n = Placeholder(; dtype=int32, shape=[])
    zero = Const(; value=int32{0})
    one = Const(; value=int32{1})
    start = Enter(zero; frame_name="loop")
    limit = Enter(n; frame_name="loop", is_constant=true)
    step = Enter(one; frame_name="loop", is_constant=true)
    merge = Merge(start, next)
    less = Less(merge, limit)
    go = LoopCond(less)
    switch = Switch(merge, go)
    add = AddV2(switch:1, step)
    next = NextIteration(add)
    exit = Exit(switch)
  )"),
            {.raise_control_flow = false});
  RunMetadata metadata;
  BOOST_TEST(s.run({"exit"}, {{"n", 3}}, kTraced, &metadata)[0].item<int32_t>() == 3);
  BOOST_TEST(count(metadata, "AddV2") == 3);
  BOOST_TEST(count(metadata, "Less") == 4);
  BOOST_TEST(count(metadata, "Exit") == 1);
  const auto cost = std::ranges::find(metadata.cost_graph, "add", &CostNode::name);
  BOOST_REQUIRE((cost != metadata.cost_graph.end()));
  BOOST_TEST(cost->executions == 3);
}

BOOST_AUTO_TEST_CASE(a_trace_for_chrome) {
  RunMetadata metadata;
  const auto node = [&](const char* name, const char* op, int64_t start, int64_t end) {
    NodeStats made;
    made.name = name;
    made.op = op;
    made.device = "/device:CPU:0";
    made.start = start;
    made.end = end;
    metadata.nodes.push_back(made);
  };
  node("inner", "Mul", 1'500, 2'000);
  node("a \"b\"\\", "While", 1'000, 3'001);
  node("waits", "QueueDequeueV2", 2'500, 9'000);  // goes on while others run: on a line of its own
  metadata.nodes[0].outputs.push_back({kFloat32, PartialShape{2}, 8});
  const std::string expected =
      R"({"displayTimeUnit":"ns","traceEvents":[
{"name":"process_name","ph":"M","pid":0,"args":{"name":"/device:CPU:0"}},
{"name":"Mul","cat":"op","ph":"X","pid":0,"tid":0,"ts":1.500,"dur":0.500,)"
      R"("args":{"name":"inner","op":"Mul","outputs":"float32[2]","bytes":8,"thread":0,"depth":0}},
{"name":"While","cat":"op","ph":"X","pid":0,"tid":0,"ts":1.000,"dur":2.001,)"
      R"("args":{"name":"a \"b\"\\","op":"While","outputs":"","bytes":0,"thread":0,"depth":0}},
{"name":"QueueDequeueV2","cat":"op","ph":"X","pid":0,"tid":1,"ts":2.500,"dur":6.500,)"
      R"("args":{"name":"waits","op":"QueueDequeueV2","outputs":"","bytes":0,"thread":0,"depth":0}}
]}
)";
  BOOST_TEST(metadata.chrome_trace() == expected);
  BOOST_TEST(RunMetadata().chrome_trace() == "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n]}\n");
}

BOOST_AUTO_TEST_CASE(graphs_of_the_devices) {
  set_cpu_device_count(2);
  Session s(text_graph(R"(
    x = Placeholder(; dtype=float32, shape=[2])
    a = Tanh(x) @/device:CPU:1
    b = Exp(a) @/device:CPU:0
    c = Sin(a) @/device:CPU:0
    d = Cos(b) @/device:CPU:1
  )"),
            {.passes = "off"});
  RunMetadata metadata;
  RunOptions options;
  options.partition_graphs = true;
  s.run({"c", "d"}, {{"x", zeros({2})}}, options, &metadata);
  BOOST_TEST(metadata.nodes.empty());
  std::map<std::string, std::multiset<std::string>> ops;
  for (const auto& [device, graph] : metadata.partition_graphs) {
    for (const int id : graph.ids()) {
      BOOST_TEST(graph.at(id).device() == device);
      ops[device].insert(graph.at(id).op().name());
    }
  }
  const std::string first = find_device("/cpu:0").name(), second = find_device("/cpu:1").name();
  BOOST_TEST(ops.size() == 2U);
  BOOST_TEST(ops[first].count("Exp") == 1U);
  BOOST_TEST(ops[first].count("Sin") == 1U);
  BOOST_TEST(ops[first].count("Tanh") == 0U);
  BOOST_TEST(ops[second].count("Tanh") == 1U);
  BOOST_TEST(ops[second].count("Cos") == 1U);
  // Both of those who read `a` there have it from one _Recv.
  const auto graph_of = [&](const std::string& device) -> const Graph& {
    return std::ranges::find(metadata.partition_graphs, device, &std::pair<std::string, Graph>::first)->second;
  };
  const Graph& reading = graph_of(first);
  BOOST_TEST(reading.at("b").input(0).node == reading.at("c").input(0).node);
  const Node& received = reading.at(reading.at("b").input(0).node);
  BOOST_TEST(received.op().name() == "_Recv");
  const Graph& sending = graph_of(second);
  const auto sent = [&](const Node& node) {
    return node.op().name() == "_Send" &&
           node.attr("tensor_name").as<std::string>() == received.attr("tensor_name").as<std::string>() &&
           sending.at(node.input(0).node).name() == "a";
  };
  const std::vector<int> ids = sending.ids();
  BOOST_TEST(std::ranges::count_if(ids, [&](int id) { return sent(sending.at(id)); }) == 1);
}

BOOST_AUTO_TEST_CASE(a_run_whose_time_is_up) {
  Session s(text_graph(R"(
    n = Placeholder(; dtype=int32, shape=[])
    queue = FIFOQueueV2(; component_types=[float32])
    taken = QueueDequeueV2(queue; component_types=[float32])
    one = Const(; value=float32{1})
    put = QueueEnqueueV2(queue, one)
    zero = Const(; value=int32{0})
    step = Const(; value=int32{1})
    start = Enter(zero; frame_name="loop")
    limit = Enter(n; frame_name="loop", is_constant=true)
    by = Enter(step; frame_name="loop", is_constant=true)
    merge = Merge(start, next)
    less = Less(merge, limit)
    go = LoopCond(less)
    switch = Switch(merge, go)
    add = AddV2(switch:1, by)
    next = NextIteration(add)
    exit = Exit(switch)
  )"));
  const auto code_of = [&](const Fetches& fetches, const Feeds& feeds, double seconds) {
    RunOptions options;
    options.timeout = seconds;
    const auto text = error_text([&] { s.run(fetches, feeds, options); });
    return text.substr(0, text.find(':'));
  };
  BOOST_TEST(code_of({"taken"}, {}, 0.05) == "DeadlineExceeded");                     // waits
  BOOST_TEST(code_of({"exit"}, {{"n", 2'000'000'000}}, 0.05) == "DeadlineExceeded");  // computes
  // The session goes on.
  s.run("put");
  RunOptions plenty;
  plenty.timeout = 60;
  BOOST_TEST(s.run({"taken"}, {}, plenty)[0].item<float>() == 1.f);
  BOOST_TEST(s.run("exit", {{"n", 7}}).item<int32_t>() == 7);
  expect_error([&] { s.run({"put"}, {}, {.timeout = -1}); },
               "InvalidArgument: timeout: expected 0 (none) or seconds, got -1");
}

BOOST_AUTO_TEST_CASE(time_is_up_between_two_nodes) {
  Graph graph;
  {
    const GraphScope in(graph);
    Tensor y = placeholder(kFloat32, {300, 300}, "x");
    for (int i = 0; i < 20'000; ++i) y = matmul(y, y);
    named("y", y);
  }
  Session s(graph, {.passes = "off"});
  s.run({"y"}, {{"y", zeros({300, 300})}});
  RunOptions options;
  options.timeout = 0.02;
  expect_error_begins([&] { s.run({"y"}, {{"x", zeros({300, 300})}}, options); }, "DeadlineExceeded: ");
}

BOOST_AUTO_TEST_CASE(no_memory_left_tells_who_took_it) {
  Session s(text_graph(R"(
    n = Placeholder(; dtype=int32, shape=[2])
    value = Const(; value=float32{1})
    small = Const(; value=int32[1]{1000})
    first = Fill(small, value)
    huge = Fill(n, value, ^first)
  )"),
            {.passes = "off"});
  RunOptions options;
  options.report_out_of_memory = true;
  const std::string text =
      error_text([&] { s.run({"huge", "first"}, {{"n", tensor({2'000'000'000, 2'000})}}, options); });
  BOOST_TEST(text.substr(0, 18) == "ResourceExhausted:");
  BOOST_TEST(text.find("4000 bytes: 'first' output 0, float32[1000]") != std::string::npos, text);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
