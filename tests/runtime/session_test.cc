// Session: names, feeds and fetches, what is run and what is not, variables, random nodes, plans, threads.
#include "panto/lib/runtime/session.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <thread>

#include "panto/lib/core/tensor/device.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/files/io.h"
#include "panto/tests/expect.h"
#include "panto/tests/graph/text_graph.h"

namespace panto::test {
namespace {

constexpr const char* kGraph = R"(
  x = Placeholder(; dtype=float32, shape=[?,2])
  other = Placeholder(; dtype=int32, shape=?)
  w = Const(; value=float32[2,1]{1, -0.5})
  product = MatMul(x, w)
  y = Tanh(product)
  shape = Shape(x)
  axis = Const(; value=int32{0})
  parts = Split(axis, shape; num_split=2)
  needs_both = Fill(other, scalar)
  scalar = Const(; value=float32{3})
  nothing = NoOp(^y)
)";

const Tensor& x() {
  static const Tensor value = tensor({{1.f, 2.f}, {3.f, 4.f}});
  return value;
}

BOOST_AUTO_TEST_SUITE(session_suite)

BOOST_AUTO_TEST_CASE(runs_what_is_asked_for) {
  Session s(text_graph(kGraph));
  const auto r = s.run({"product", "y:0", "parts:1", "x", "w"}, {{"x:0", x()}});
  BOOST_TEST((r[0].to_vector<float>() == std::vector<float>{0, 1}));
  BOOST_TEST((r[1].to_vector<float>() == std::vector<float>{0, std::tanh(1.f)}));
  BOOST_TEST((r[2].to_vector<int32_t>() == std::vector<int32_t>{2}));
  BOOST_TEST((r[3].to_vector<float>() == x().to_vector<float>()));
  BOOST_TEST((r[4].to_vector<float>() == std::vector<float>{1, -0.5f}));
  BOOST_TEST(!s.run("nothing", {{"x", x()}}).defined());
  BOOST_TEST(s.run({}).empty());
  // Any tensor may be fed; what lies before it is not run.
  const float y = s.run("y", {{"product", tensor({{0.5f}})}}).item<float>();
  BOOST_TEST(y == std::tanh(0.5f), boost::test_tools::tolerance(1e-6f));
  BOOST_TEST(s.run("product", {{"product", tensor({{0.5f}})}}).item<float>() == 0.5f);
  BOOST_TEST(s.run("parts:1", {{"parts", tensor({7})}, {"x", x()}}).item<int32_t>() == 2);
  BOOST_TEST(s.run("product", {{"w", tensor({{1.f}, {1.f}})}, {"x", x()}}).to_vector<float>()[1] == 7.f);
  // The same twice, in any order.
  const auto twice = s.run({"y", "product", "y"}, {{"x", x()}});
  BOOST_TEST((twice[0].to_vector<float>() == twice[2].to_vector<float>()));
  // Empty tensors.
  BOOST_TEST((s.run("y", {{"x", tensor(std::vector<float>(), Shape{0, 2})}}).shape() == Shape{0, 1}));
}

BOOST_AUTO_TEST_CASE(says_what_is_wrong_with_a_run) {
  Session s(text_graph(kGraph));
  const Tensor& v = x();
  expect_error([&] { s.run({"y"}); },
               "InvalidArgument: feeds: expected values for the placeholders that are needed, got none for 'x' "
               "(float32[?,2])");
  expect_error([&] { s.run({"y", "needs_both"}); },
               "InvalidArgument: feeds: expected values for the placeholders that are needed, got none for 'x' "
               "(float32[?,2]), 'other' (int32?)");
  expect_error([&] { s.run({"y"}, {{"x", v}, {"x:0", v}}); },
               "InvalidArgument: feeds: expected each tensor once, got 'x' twice");
  expect_error([&] { s.run({"y"}, {{"^x", v}}); },
               "InvalidArgument: tensor name: expected a node's output such as 'x' or 'x:0', got '^x' [feed '^x']");
  expect_error([&] { s.run({"y"}, {{"z", v}}); },
               "NotFound: node: expected a name of the graph, got 'z' (closest: 'w', 'x', 'y') [feed 'z']");
  expect_error([&] { s.run({"y"}, {{"x:1", v}}); },
               "OutOfRange: output of node 'x': expected 0 to 0, got 1 [feed 'x:1']");
  expect_error([&] { s.run({"y"}, {{"x", tensor({1, 2})}}); },
               "InvalidArgument: feed 'x': expected float32[?,2], got int32[2]");
  expect_error([&] { s.run({"y"}, {{"x", tensor({1.f, 2.f})}}); },
               "InvalidArgument: feed 'x': expected float32[?,2], got float32[2]");
  expect_error([&] { s.run({"y"}, {{"x", tensor({{1.f, 2.f, 3.f}})}}); },
               "InvalidArgument: feed 'x': expected float32[?,2], got float32[1,3]");
  expect_error([&] { s.run({"y"}, {{"x", Tensor()}}); },
               "InvalidArgument: feed 'x': expected float32[?,2], got an undefined tensor");
  expect_error([&] { s.run({"y"}, {{"x", meta_tensor(kFloat32, PartialShape{2, 2})}}); },
               "InvalidArgument: feed 'x': expected float32[?,2], got <symbolic float32[2,2]>");
  expect_error([&] { s.run({"y"}, {{"nothing", v}}); },
               "InvalidArgument: tensor name: expected a node with outputs, got 'nothing' [feed 'nothing']");
  expect_error([&] { s.run({"nothing:0"}, {{"x", v}}); },
               "InvalidArgument: tensor name: expected a node with outputs, got 'nothing:0' [fetch 'nothing:0']");
  expect_error([&] { s.run({"yy"}, {{"x", v}}); },
               "NotFound: node: expected a name of the graph, got 'yy' (closest: 'y') [fetch 'yy']");
  expect_error([&] { s.run({"parts:2"}, {{"x", v}}); },
               "OutOfRange: output of node 'parts': expected 0 to 1, got 2 [fetch 'parts:2']");
  expect_error([&] { s.run("^y:0", {{"x", v}}); },
               "NotFound: node: expected a name of the graph, got 'y:0' [fetch '^y:0']");
  expect_error([&] { s.run("Nothing", {{"x", v}}); },
               "NotFound: node: expected a name of the graph, got 'Nothing' (closest: 'nothing') [fetch 'Nothing']");
  expect_error(
      [&] { s.run({"needs_both"}, {{"other", tensor({-1})}}); },
      "InvalidArgument: dims[0]: expected at least 0, got -1 [in Fill(dims: int32[1], value: float32[])] [node "
      "'needs_both']");
  // The session still works.
  BOOST_TEST(s.run({"y"}, {{"x", v}}).size() == 1u);
}

BOOST_AUTO_TEST_CASE(errors_in_steps_name_the_node_and_the_line) {
  std::string def = text_graph_def(R"(
    i = Placeholder(; dtype=int32, shape=[])
    ten = Const(; value=int32{10})
    quotient = FloorDiv(ten, i)
  )");
  def +=
      "debug_info { files: 'model.cc' traces { key: 'quotient' value { file_line_cols { file_index: 0 line: 7 } } } }";
  Session s(parse_graph(def));
  expect_error([&] { s.run({"quotient"}, {{"i", tensor(0)}}); },
               "InvalidArgument: integer division by zero [in FloorDiv(x: int32[], y: int32[])] [node 'quotient'] [at "
               "model.cc:7]");
  BOOST_TEST(s.run("quotient", {{"i", tensor(3)}}).item<int32_t>() == 3);
}

BOOST_AUTO_TEST_CASE(variables_are_its_own) {
  const Graph g = text_graph(R"(
    v = VarHandleOp(; shared_name="v", dtype=float32, shape=[2])
    zeros = Const(; value=float32[2]{0})
    init = AssignVariableOp(v, zeros)
    one = Const(; value=float32[2]{1, 2})
    add = AssignAddVariableOp(v, one)
    read = ReadVariableOp(v; dtype=float32)
    there = VarIsInitializedOp(v)
    after = ReadVariableOp(v, ^add; dtype=float32)
  )");
  Session a(g), b(g);
  expect_error([&] { a.run({"read"}); },
               "FailedPrecondition: variable \"v\": expected an initialized one, got none assigned yet [in "
               "ReadVariableOp(resource: resource[]; dtype=float32)] [node 'read']");
  BOOST_TEST(a.run("there").item<bool>() == false);
  a.run("init");
  a.run("add");
  const Tensor once = a.run("read");
  BOOST_TEST((a.run("after").to_vector<float>() == std::vector<float>{2, 4}));
  BOOST_TEST((once.to_vector<float>() == std::vector<float>{1, 2}));  // what was read does not change
  BOOST_TEST(b.run("there").item<bool>() == false);
  BOOST_TEST(a.resources().list().size() == 1u);
}

BOOST_AUTO_TEST_CASE(random_nodes_go_on_from_run_to_run) {
  const Graph g = text_graph(R"(
    n = Placeholder(; dtype=int32, shape=[1])
    r = RandomUniform(n; dtype=float32, seed=7, seed2=3)
    s = Neg(r)
  )");
  const auto draw = [](Session& s, int n, const char* fetch) {
    return s.run(fetch, {{"n", tensor({n})}}).to_vector<float>();
  };
  Session a(g), b(g, {.passes = "off"});
  const auto first = draw(a, 4, "r");
  auto second = draw(a, 4, "s");  // another plan, the same node
  for (float& v : second) v = -v;
  BOOST_TEST((first != second));
  BOOST_TEST((draw(b, 4, "r") == first));
  BOOST_TEST((draw(b, 4, "r") == second));
}

BOOST_AUTO_TEST_CASE(any_order_and_any_shapes) {
  Session s(text_graph(kGraph));
  // More shapes than plans are kept, back and forth.
  for (int round = 0; round < 2; ++round) {
    for (int64_t n = 0; n < 40; ++n) {
      std::vector<float> values(static_cast<size_t>(2 * n), 1.f);
      const Tensor y = s.run("product", {{"x", tensor(values, Shape{n, 2})}});
      BOOST_TEST((y.shape() == Shape{n, 1}));
      for (float v : y.to_vector<float>()) BOOST_TEST(v == 0.5f);
    }
  }
}

BOOST_AUTO_TEST_CASE(plans_its_memory) {
  const Graph chain = text_graph(R"(
    x = Placeholder(; dtype=float32, shape=[?,64])
    a = Tanh(x)
    b = Exp(a)
    c = Neg(b)
    d = Sigmoid(c)
    y = Tanh(d)
  )");
  Session s(chain, {.passes = "off"});
  const Tensor ones = tensor(std::vector<float>(4096, 1.f), Shape{64, 64});
  const Tensor first = s.run("y", {{"x", ones}});
  const PlanStats stats = s.plan_stats();
  BOOST_TEST(stats.steps == 5);
  BOOST_TEST(stats.dynamic_steps == 1);  // the result is the caller's
  BOOST_TEST(stats.unshared_bytes == 4 * 16384);
  BOOST_TEST(stats.planned_bytes == 16384);  // each is written over the one before
  const std::vector<float> kept = first.to_vector<float>();
  s.run({"y"}, {{"x", tensor(std::vector<float>(4096, 0.f), Shape{64, 64})}});
  BOOST_TEST((first.to_vector<float>() == kept));  // a later run does not touch it

  // Large ones are not planned at all: the result is where they were.
  Session large(chain, {.passes = "off"});
  const Tensor many = tensor(std::vector<float>(size_t{1} << 18, 1.f), Shape{1 << 12, 64});
  const int64_t before = cpu_device().memory_stats().bytes_in_use;
  const Tensor result = large.run("y", {{"x", many}});
  BOOST_TEST(cpu_device().memory_stats().bytes_in_use < before + 3 * (int64_t{1} << 19));
  BOOST_TEST(result.to_vector<float>().back() == kept.back());
  BOOST_TEST(large.plan_stats().dynamic_steps == 5);
  BOOST_TEST(large.plan_stats().planned_bytes == 0);
  BOOST_TEST(large.plan_stats().unshared_bytes == 0);

  // Not elementwise: each needs its operand; two buffers do.
  const Graph products = text_graph(R"(
    x = Placeholder(; dtype=float32, shape=[64,64])
    a = MatMul(x, x)
    b = MatMul(a, x)
    c = MatMul(b, x)
    d = MatMul(c, x)
    y = MatMul(d, x)
  )");
  Session p(products);
  p.run({"y"}, {{"x", ones}});
  BOOST_TEST(p.plan_stats().unshared_bytes == 4 * 16384);
  BOOST_TEST(p.plan_stats().planned_bytes == 2 * 16384);

  // What is read again stays; views keep what they show.
  const Graph views = text_graph(R"(
    x = Placeholder(; dtype=float32, shape=[64,64])
    a = Tanh(x)
    shape = Const(; value=int32[1]{4096})
    flat = Reshape(a, shape)
    b = Exp(a)
    c = Neg(b)
    back = Reshape(flat, square)
    square = Const(; value=int32[2]{64, 64})
    y = Sub(back, c)
    z = Neg(y)
  )");
  const std::vector<float> expected = Session(views, {.passes = "off"}).run("z", {{"x", ones}}).to_vector<float>();
  BOOST_TEST(expected[0] == -(std::tanh(1.f) + std::exp(std::tanh(1.f))), boost::test_tools::tolerance(1e-6f));
  Session v(views);
  for (int i = 0; i < 3; ++i) BOOST_TEST((v.run("z", {{"x", ones}}).to_vector<float>() == expected));
  // A view that is fetched must outlive the next run.
  const Tensor flat = v.run("flat", {{"x", ones}});
  v.run({"flat"}, {{"x", tensor(std::vector<float>(4096, 0.f), Shape{64, 64})}});
  BOOST_TEST(flat.to_vector<float>()[0] == std::tanh(1.f));
}

BOOST_AUTO_TEST_CASE(assigned_values_are_the_variables) {
  // The assigned value is a temporary of the run; the next run must not write into the variable.
  Session s(text_graph(R"(
    v = VarHandleOp(; shared_name="v", dtype=float32, shape=[100])
    x = Placeholder(; dtype=float32, shape=[100])
    twice = AddV2(x, x)
    assign = AssignVariableOp(v, twice)
    read = ReadVariableOp(v, ^assign; dtype=float32)
    y = Neg(read)
    later = ReadVariableOp(v; dtype=float32)
  )"));
  const auto all = [](float value) { return tensor(std::vector<float>(100, value)); };
  BOOST_TEST(s.run("y", {{"x", all(1)}}).to_vector<float>()[99] == -2);
  const Tensor kept = s.run("later");
  BOOST_TEST(s.run("y", {{"x", all(5)}}).to_vector<float>()[99] == -10);
  BOOST_TEST(kept.to_vector<float>()[99] == 2);
  BOOST_TEST(s.run("later").to_vector<float>()[99] == 10);
}

BOOST_AUTO_TEST_CASE(runs_in_several_threads_at_once) {
  Session s(text_graph(R"(
    x = Placeholder(; dtype=float32, shape=[?])
    a = Tanh(x)
    b = Mul(a, x)
    y = AddV2(b, a)
    v = VarHandleOp(; shared_name="v", dtype=int64, shape=[])
    zero = Const(; value=int64{0})
    one = Const(; value=int64{1})
    init = AssignVariableOp(v, zero)
    count = AssignAddVariableOp(v, one)
    read = ReadVariableOp(v; dtype=int64)
  )"));
  s.run("init");
  constexpr int kThreads = 4, kRuns = 200;
  std::vector<std::thread> threads;
  std::vector<int> wrong(kThreads, 0);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRuns; ++i) {
        const auto n = static_cast<size_t>(100 + (i + t) % 3);
        const float value = static_cast<float>(t) + 0.5f;
        const Tensor in = tensor(std::vector<float>(n, value), Shape{static_cast<int64_t>(n)});
        const std::vector<float> got = s.run({"y", "count"}, {{"x", in}})[0].to_vector<float>();
        const float expected = std::tanh(value) * value + std::tanh(value);
        if (got.size() != n) ++wrong[static_cast<size_t>(t)];
        for (float v : got) {
          if (std::abs(v - expected) > 1e-5f) ++wrong[static_cast<size_t>(t)];
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST((wrong == std::vector<int>(kThreads, 0)));
  BOOST_TEST(s.run("read").item<int64_t>() == kThreads * kRuns);
}

BOOST_AUTO_TEST_CASE(is_placed_on_devices) {
  set_cpu_device_count(3);
  const char* text = R"(
    x = Placeholder(; dtype=float32, shape=[2])
    a = Tanh(x) @/cpu:1
    b = Neg(a) @/job:localhost/device:CPU:2
    c = AddV2(a, b)
    v = VarHandleOp(; shared_name="v", dtype=float32, shape=[2]) @/device:CPU:1
    assign = AssignVariableOp(v, c)
    d = Exp(c; _class=["loc:@b"])
  )";
  Session s(text_graph(text), {.passes = "off"});
  const auto r = s.run({"c", "d", "assign"}, {{"x", tensor({1.f, 2.f})}});
  BOOST_TEST((r[0].to_vector<float>() == std::vector<float>{0, 0}));
  BOOST_TEST((r[1].to_vector<float>() == std::vector<float>{1, 1}));
  const Graph placed = s.optimized_graph();
  BOOST_TEST(placed.at("a").device() == "/device:CPU:1");
  BOOST_TEST(placed.at("b").device() == "/device:CPU:2");
  BOOST_TEST(placed.at("c").device() == "/device:CPU:0");
  BOOST_TEST(placed.at("d").device() == "/device:CPU:2");
  BOOST_TEST(placed.at("assign").device() == "/device:CPU:1");

  Session missing(text_graph("x = Placeholder(; dtype=float32, shape=[2])\n y = Neg(x) @/device:CPU:63"));
  const std::string error = error_text([&] { missing.run({"y"}, {{"x", tensor({1.f, 2.f})}}); });
  BOOST_TEST(error.starts_with("InvalidArgument: device: expected one of /device:CPU:0, /device:CPU:1, /device:CPU:2"));
  BOOST_TEST(error.ends_with(", got '/device:CPU:63' [node 'y']"));
  Session soft(missing.graph(), {.soft_placement = true});
  BOOST_TEST(soft.run("y", {{"x", tensor({1.f, 2.f})}}).to_vector<float>()[0] == -1);

  Session torn(text_graph(R"(
    v = VarHandleOp(; shared_name="v", dtype=float32, shape=[2]) @/device:CPU:1
    r = ReadVariableOp(v; dtype=float32) @/device:CPU:2
  )"));
  expect_error([&] { torn.run({"r"}); },
               "InvalidArgument: device: expected one device for node 'v' and node 'r', which stay together, got "
               "'/device:CPU:1' and '/device:CPU:2'");
}

BOOST_AUTO_TEST_CASE(symbolic_tensors_are_names_too) {
  Graph g = text_graph(kGraph);
  const Tensor sx = meta_tensor(kFloat32, PartialShape{-1, 2}), sy = meta_tensor(kFloat32, PartialShape{-1, 1});
  g.bind(sx, g.output("x"));
  g.bind(sy, g.output("product"));
  Session s(g);
  BOOST_TEST((s.run({sy, "y"}, {{sx, x()}})[0].to_vector<float>() == std::vector<float>{0, 1}));
  const Tensor foreign = meta_tensor(kFloat32, PartialShape{2});
  expect_error([&] { s.run({foreign}); },
               "InvalidArgument: symbolic tensor: expected one of this graph, got <symbolic float32[2]> [fetch "
               "<symbolic float32[2]>]");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
