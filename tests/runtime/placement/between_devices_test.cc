// What goes from one device to another: each value once for each device that reads it, in 16 bits where that is asked
// for; conditionals, loops and TensorFlow 1's loops whose nodes are on several devices.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/graph/text_graph.h"

namespace panto {
namespace {

using test::text_graph;

Tensor numbers(const Shape& shape) {
  std::vector<float> values;
  for (int i = 0; i < shape.numel(); ++i) {
    const auto x = static_cast<float>(i);
    values.push_back(std::sin(x * 0.7F) * std::exp(x * 1e-4F));
  }
  return tensor(values, shape);
}

BOOST_AUTO_TEST_SUITE(between_devices)

// Three readers on each of two other devices: a goes twice, b goes once, c comes back in one.
BOOST_AUTO_TEST_CASE(a_value_goes_once_to_each_device) {
  set_cpu_device_count(3);
  Session s(text_graph(R"(
    x = Placeholder(; dtype=float32, shape=[10])
    a = Tanh(x) @/cpu:0
    b = Exp(a) @/cpu:1
    c = Mul(a, b) @/cpu:1
    d = Sub(a, c) @/cpu:1
    e = Exp(a) @/cpu:2
    f = Mul(a, e) @/cpu:2
    g = Sub(a, f) @/cpu:2
    h = Mul(d, d) @/cpu:0
    i = Sub(h, d) @/cpu:0
  )"),
            {.passes = "off"});
  s.run({"i", "g"}, {{"x", numbers({10})}});
  BOOST_TEST(s.plan_stats().transfers == 3);
  BOOST_TEST(s.plan_stats().transferred_bytes == 3 * 10 * 4);
}

BOOST_AUTO_TEST_CASE(names_of_feeds_and_constants_are_not_sent) {
  set_cpu_device_count(2);
  Session s(text_graph(R"(
    x = Placeholder(; dtype=float32, shape=[2])
    same = Identity(x) @/cpu:0
    k = Const(; value=float32[2]{1, 2}) @/cpu:1
    y = AddV2(same, k) @/cpu:0
  )"),
            {.passes = "off"});
  BOOST_TEST((s.run("y", {{"x", tensor({1.F, 2.F})}}).to_vector<float>() == std::vector<float>{2, 4}));
  BOOST_TEST(s.plan_stats().transfers == 0);
}

// ---- 16 bits -------------------------------------------------------------------------------------------------------

constexpr const char* kThereAndBack = R"(
  x = Placeholder(; dtype=float32, shape=[1000])
  i = Placeholder(; dtype=int32, shape=[1000])
  a = Neg(x) @/cpu:0
  n = Neg(i) @/cpu:0
  b = Neg(a) @/cpu:1
  m = Neg(n) @/cpu:1
  fetched = Neg(b) @/cpu:1
)";

BOOST_AUTO_TEST_CASE(floats_go_in_16_bits_where_that_is_asked_for) {
  set_cpu_device_count(2);
  const Tensor x = numbers({1000}), i = range(0, 1000, 1);
  Session exact(text_graph(kThereAndBack), {.passes = "off"});
  Session narrow(text_graph(kThereAndBack), {.passes = "off", .narrow_transfers = true});
  const Feeds feeds{{"x", x}, {"i", i}};
  BOOST_TEST(exact.run("b", feeds).to_vector<float>() == x.to_vector<float>(), boost::test_tools::per_element());
  const std::vector<Tensor> got = narrow.run({"b", "m", "a"}, feeds);
  const std::vector<float> wanted = x.to_vector<float>(), rounded = got[0].to_vector<float>();
  bool any = false;
  for (size_t k = 0; k < wanted.size(); ++k) {
    BOOST_TEST(std::abs(rounded[k] - wanted[k]) <= std::abs(wanted[k]) / 256);
    any = any || rounded[k] != wanted[k];
  }
  BOOST_TEST(any);
  BOOST_TEST(rounded == cast(cast(x, kBFloat16), kFloat32).to_vector<float>(), boost::test_tools::per_element());
  BOOST_TEST(got[1].to_vector<int32_t>() == i.to_vector<int32_t>(), boost::test_tools::per_element());
  BOOST_TEST(got[2].to_vector<float>() == neg(x).to_vector<float>(), boost::test_tools::per_element());
  exact.run({"b", "m", "a"}, feeds);
  BOOST_TEST(exact.plan_stats().transferred_bytes == 4000 + 4000);
  BOOST_TEST(narrow.plan_stats().transferred_bytes == 2000 + 4000);
  BOOST_TEST(narrow.plan_stats().transfers == 2);
}

// What stays on its device, or is handed out, is whole.
BOOST_AUTO_TEST_CASE(what_is_not_sent_keeps_its_bits) {
  set_cpu_device_count(2);
  const Feeds feeds{{"x", numbers({1000})}, {"i", range(0, 1000, 1)}};
  Session narrow(text_graph(kThereAndBack), {.narrow_transfers = true});
  const std::vector<Tensor> got = narrow.run({"fetched", "b"}, feeds);
  BOOST_TEST(got[0].to_vector<float>() == neg(got[1]).to_vector<float>(), boost::test_tools::per_element());
}

// ---- Functions -----------------------------------------------------------------------------------------------------

// Each branch and the body go over to another device and back, wherever the call itself is.
BOOST_AUTO_TEST_CASE(branches_and_bodies_go_from_device_to_device) {
  set_cpu_device_count(3);
  const auto build = [](Graph& graph, const char* call, const char* there) {
    const GraphScope building(graph);
    const Tensor x = placeholder(kFloat32, {4, 4}, "x");
    const auto far = [&](const Tensor& t) {
      const DeviceScope scope(there);
      return tanh(matmul(t, t));
    };
    const DeviceScope scope(call);
    const Tensor chosen = cond(sum(x) > 0.F, [&] { return far(x) + 1.F; }, [&] { return neg(far(x * 2.F)); });
    const auto rounds =
        while_loop([](const Tensor& i, const Tensor&) { return i < 5; },
                   [&](const Tensor& i, const Tensor& t) { return std::tuple(i + 1, far(t) * 0.5F + t * 0.25F); },
                   std::tuple(tensor(0), chosen));
    named("y", std::get<1>(rounds) - x);
  };
  for (const char* call : {"/cpu:0", "/cpu:1", ""}) {
    Graph one_graph, two_graph;
    build(one_graph, "/cpu:0", "/cpu:0");
    build(two_graph, call, "/cpu:2");
    Session one(std::move(one_graph)), two(std::move(two_graph));
    for (const float sign : {1.F, -1.F, 1.F}) {
      const Feeds feeds{{"x", numbers({4, 4}) * 0.1F + sign * 0.3F}};
      BOOST_TEST(two.run("y", feeds).to_vector<float>() == one.run("y", feeds).to_vector<float>(),
                 boost::test_tools::per_element());
    }
  }
}

// What asks for no device is where the call is.
BOOST_AUTO_TEST_CASE(bodies_run_where_the_call_is) {
  set_cpu_device_count(3);
  Graph graph;
  {
    const GraphScope building(graph);
    const Tensor x = placeholder(kFloat32, {2}, "x");
    const DeviceFunctionScope calls(
        [](const Node& node) { return std::string(node.is(OpKind::kCond) || node.is(OpKind::kLoop) ? "/cpu:1" : ""); });
    const Tensor a = cond(sum(x) > 0.F, [&] { return exp(x); }, [&] { return x; });
    named("y", while_loop([](const Tensor& t) { return sum(t) < 100.F; }, [](const Tensor& t) { return t * 2.F; }, a));
  }
  Session s(std::move(graph));
  const Tensor y = s.run("y", {{"x", tensor({0.F, 1.F})}});
  BOOST_TEST(y.device().name() == "/device:CPU:1");
  const float e = std::exp(1.F);
  float scale = 1;
  while (scale * (1 + e) < 100) scale *= 2;
  BOOST_TEST(y.to_vector<float>()[0] == scale);
  BOOST_TEST(std::abs(y.to_vector<float>()[1] - scale * e) < 1e-4F);
}

// TensorFlow 1's: a frame whose nodes are on three devices.
BOOST_AUTO_TEST_CASE(frames_go_from_device_to_device) {
  set_cpu_device_count(3);
  const auto session = [](bool spread) {
    Graph graph;
    const auto on = [&](const char* device, const auto& make) {
      const DeviceScope scope(spread ? device : "/cpu:0");
      return make();
    };
    {
      const GraphScope building(graph);
      const Tensor x = placeholder(kFloat32, {3}, "x");
      const Tensor begin = enter_op(x, "loop"), count = on("/cpu:1", [&] { return enter_op(tensor(0), "loop"); });
      const Tensor limit = enter_op(tensor(6), "loop", {.is_constant = true});
      const Tensor one = enter_op(tensor(1), "loop", {.is_constant = true});
      const Tensor i = named("i", merge_op({count, count}).output), y = named("value", merge_op({begin, begin}).output);
      const Tensor go = on("/cpu:2", [&] { return loop_cond(less(i, limit)); });
      const auto of_i = switch_op(i, go), of_y = switch_op(y, go);
      named("next_i", next_iteration(on("/cpu:1", [&] { return add(of_i.output_true, one); })));
      named("next_value", next_iteration(on("/cpu:2", [&] { return sin(exp(of_y.output_true)); })));
      named("y", on("/cpu:1", [&] { return neg(exit_op(of_y.output_false)); }));
    }
    graph.set_input(graph.at("i").id(), 1, graph.output("next_i"));
    graph.set_input(graph.at("value").id(), 1, graph.output("next_value"));
    return Session(std::move(graph));
  };
  Session one = session(false), three = session(true);
  const Feeds feeds{{"x", tensor({0.1F, 1.F, -2.F})}};
  BOOST_TEST(three.run("y", feeds).to_vector<float>() == one.run("y", feeds).to_vector<float>(),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
