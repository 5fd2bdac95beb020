// Where the nodes of branches and of bodies of loops run, and what a session says of that.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/written.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(placement)

// Of branches and bodies when they are made ready, and each by the name of its function.
BOOST_AUTO_TEST_CASE(the_log_has_the_nodes_of_functions) {
  set_cpu_device_count(2);
  Graph graph;
  {
    const GraphScope building(graph);
    const Tensor x = placeholder(kFloat32, {}, "x");
    const auto far = [](const Tensor& t) {
      const DeviceScope there("/cpu:1");
      return neg(t);
    };
    named("y", cond(x > 0.f, [&] { return far(x); }, [&] { return sqrt(x); }));
    named("z", while_loop([](const Tensor& t) { return t < 10.f; }, [&](const Tensor& t) { return far(t) * -2.f; },
                          Tensor(x)));
  }
  Session s(graph, {.passes = "off", .log_device_placement = true});
  const auto log_of = [&](const char* fetch) { return test::written([&] { s.run(fetch, {{"x", 1}}); }); };
  const auto has = [](const std::string& log, const char* line) { return log.find(line) != std::string::npos; };
  const std::string of_y = log_of("y"), of_z = log_of("z");
  BOOST_TEST(has(of_y, "x: (Placeholder): "), of_y);
  BOOST_TEST(has(of_y, "/Neg: (Neg): /job:localhost/replica:0/task:0/device:CPU:1\n"), of_y);
  BOOST_TEST(!has(of_y, "(Sqrt)"), of_y);  // which was not reached
  BOOST_TEST(has(of_z, "/Neg: (Neg): /job:localhost/replica:0/task:0/device:CPU:1\n"), of_z);
  BOOST_TEST(has(of_z, "/Mul: (Mul): /job:localhost/replica:0/task:0/device:CPU:0\n"), of_z);
  BOOST_TEST(log_of("y").empty());
  BOOST_TEST(log_of("z").empty());
  Session silent(graph, {.passes = "off"});
  BOOST_TEST(test::written([&] { silent.run({"y", "z"}, {{"x", 1}}); }).empty());
}

// What a session says of devices that are not there holds in branches and loops.
BOOST_AUTO_TEST_CASE(soft_placement_holds_in_functions) {
  Graph graph;
  {
    const GraphScope building(graph);
    const Tensor x = placeholder(kFloat32, {}, "x");
    const auto far = [](const Tensor& t) {
      const DeviceScope there("/gpu:63");
      return t * 2.f;
    };
    named("y", cond(x > 0.f, [&] { return far(x); }, [&] { return x; }));
    named("z", while_loop([](const Tensor& t) { return t < 10.f; }, far, Tensor(x)));
  }
  Session soft(graph, {.soft_placement = true});
  BOOST_TEST(soft.run("y", {{"x", 3}}).item<float>() == 6);
  BOOST_TEST(soft.run("z", {{"x", 3}}).item<float>() == 12);
  Session strict(graph);
  for (const char* fetch : {"y", "z"}) {
    expect_error_begins([&] { strict.run(fetch, {{"x", 3}}); }, "InvalidArgument: device: expected one of");
  }
}

// ---- What a session's options ask for holds in branches and bodies --------------------------------------------------

// A branch and a body of two products each that need one another as little as they need anything else, a conditional
// within the body, and a call; and sums that stay in one place however they are computed.
Graph products_in_functions() {
  Graph graph;
  const GraphScope building(graph);
  const Tensor x = placeholder(kFloat32, {24, 24}, "x");
  const auto two_products = [](const Tensor& t) { return matmul(t, t) * 0.25F + matmul(t, t + 1.F) * 0.125F; };
  const Tensor a = cond(x[0][0] > 0.F, [&] { return two_products(x); }, [&] { return two_products(x * 2.F) - x; });
  const auto loop =
      while_loop([](const Tensor& i, const Tensor&) { return i < 5; },
                 [&](const Tensor& i, const Tensor& t) {
                   const Tensor u =
                       cond(i > 2, [&] { return sqrt(abs(two_products(t))); }, [&] { return two_products(t) * 0.5F; });
                   return std::tuple(i + 1, tanh(u + two_products(t)));
                 },
                 std::tuple(tensor(0), a));
  named("y", std::get<1>(loop) + x);
  return graph;
}

Tensor some_numbers(float shift) { return sin(reshape(range(0.F, 576.F, 1.F), Shape{24, 24}) * 0.7F) * 0.2F + shift; }

// Of a run, with its nodes.
struct Run {
  std::vector<float> y;
  std::vector<NodeStats> nodes;

  // How many nodes within functions `which` is true of.
  template <class Which>
  int64_t count(const Which& which) const {
    return std::ranges::count_if(nodes, [&](const NodeStats& node) { return node.depth > 0 && which(node); });
  }
};
Run run_of(Session& session, const Feeds& feeds) {
  RunMetadata metadata;
  const std::vector<Tensor> got = session.run({"y"}, feeds, {.trace = RunOptions::Trace::kFull}, &metadata);
  return {got[0].to_vector<float>(), std::move(metadata.nodes)};
}

BOOST_AUTO_TEST_CASE(placement_by_cost_reaches_functions) {
  set_cpu_device_count(3);
  const Graph graph = products_in_functions();
  Session plain(graph), by_cost(graph, {.placement = "by_cost"});
  // A product takes a second, in which much can be sent.
  by_cost.costs().set_rates(DeviceKind::kCpu,
                            {.seconds_per_call = 0, .operations_per_second = 3e4, .bytes_per_second = 1e12});
  by_cost.costs().set_transfer_rates({.seconds_per_transfer = 1e-9, .bytes_per_second = 1e12});
  const auto far = [](const NodeStats& node) {
    return node.op.find("MatMul") != std::string::npos && node.device != "/device:CPU:0";
  };
  for (const float shift : {0.5F, -0.5F}) {
    const Feeds feeds{{"x", some_numbers(shift)}};
    const Run near = run_of(plain, feeds), spread = run_of(by_cost, feeds);
    BOOST_TEST(spread.y == near.y, boost::test_tools::per_element());
    BOOST_TEST(near.count(far) == 0);
    BOOST_TEST(spread.count(far) >= 6);  // one in the branch, in each round one
    BOOST_TEST(by_cost.run("y", feeds).to_vector<float>() == near.y, boost::test_tools::per_element());
  }
  BOOST_TEST(by_cost.costs().num_measured() > 0);
}

BOOST_AUTO_TEST_CASE(passes_reach_functions) {
  const Graph graph = products_in_functions();
  Session all(graph), off(graph, {.passes = "off"}), without_loops(graph, {.passes = "-elementwise"});
  const auto is_fused = [](const NodeStats& node) { return node.op.starts_with("_"); };
  const auto is_fused_loop = [](const NodeStats& node) { return node.op == "_FusedElementwise"; };
  const auto is_product = [](const NodeStats& node) { return node.op == "MatMul"; };
  for (const float shift : {0.5F, -0.5F}) {
    const Feeds feeds{{"x", some_numbers(shift)}};
    const Run fused = run_of(all, feeds), plain = run_of(off, feeds), separate = run_of(without_loops, feeds);
    BOOST_TEST(fused.count(is_fused) > 0);
    BOOST_TEST(plain.count(is_fused) == 0);
    BOOST_TEST(plain.count(is_product) == 2 + 5 * 4);  // what is computed twice is so twice
    BOOST_TEST(separate.count(is_fused_loop) == 0);
    BOOST_TEST(separate.y == plain.y, boost::test_tools::per_element());
    BOOST_TEST(fused.y == plain.y, boost::test_tools::per_element());
  }
}

// The same of a traced function, whose plans share what its nodes keep.
BOOST_AUTO_TEST_CASE(passes_of_a_function_reach_what_it_calls) {
  const Function f = trace(
      [](const Tensor& x) {
        return while_loop([](const Tensor& i, const Tensor&) { return i < 3; },
                          [](const Tensor& i, const Tensor& t) { return std::tuple(i + 1, tanh(t * 2.F + 1.F)); },
                          std::tuple(tensor(0), x));
      },
      {TensorSpec(kFloat32, {4})});
  const Tensor x = tensor({0.1F, -0.2F, 0.3F, 2.F});
  const auto fuses = [&](const char* passes) {
    f.set_optimizer(passes);
    const Profiler profiler;
    f.call(std::vector<Tensor>{x});
    return std::ranges::any_of(profiler.ops(), [](const ProfiledOp& op) { return op.op == "_FusedElementwise"; });
  };
  BOOST_TEST(fuses(""));
  BOOST_TEST(!fuses("off"));
  BOOST_TEST(fuses(""));
}

// Values of 16 bits come over whole; others within the bound that is stated, and half the bytes are sent.
BOOST_AUTO_TEST_CASE(narrow_transfers_reach_functions) {
  set_cpu_device_count(2);
  Graph graph;
  {
    const GraphScope building(graph);
    const Tensor x = placeholder(kFloat32, {8}, "x");
    const auto there_and_back = [](const Tensor& t) {
      const Tensor near = neg(t);
      Tensor far;
      {
        const DeviceScope there("/cpu:1");
        far = neg(near);
      }
      const DeviceScope here("/cpu:0");
      return neg(far);
    };
    const DeviceScope here("/cpu:0");
    const Tensor a = cond(x[0] > 0.F, [&] { return there_and_back(x); }, [&] { return x; });
    const auto loop = while_loop([](const Tensor& i, const Tensor&) { return i < 2; },
                                 [&](const Tensor& i, const Tensor& t) { return std::tuple(i + 1, there_and_back(t)); },
                                 std::tuple(tensor(0), a));
    named("y", std::get<1>(loop) * 1.F);
  }
  Session exact(graph, {.passes = "off"}), narrow(graph, {.passes = "off", .narrow_transfers = true});
  const auto is_cast = [](const NodeStats& node) { return node.op == "Cast"; };
  const Feeds whole{{"x", tensor({1.F, -2.F, 0.5F, 96.F, -0.375F, 3.F, 1e10F * 0.F, 255.F})}};
  const Run plain = run_of(exact, whole), cut = run_of(narrow, whole);
  BOOST_TEST(plain.count(is_cast) == 0);
  BOOST_TEST(cut.count(is_cast) == 3 * 4);  // there and back, each twice
  BOOST_TEST(cut.y == plain.y, boost::test_tools::per_element());
  const Feeds others{{"x", tensor({0.1F, -2.3F, 0.7F, 96.1F, -0.3F, 3.3F, 1e-3F, 255.7F})}};
  const std::vector<float> want = run_of(exact, others).y, got = run_of(narrow, others).y;
  for (size_t i = 0; i < want.size(); ++i) BOOST_TEST(std::abs(got[i] - want[i]) <= std::abs(want[i]) / 256);
  BOOST_TEST((got != want));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
