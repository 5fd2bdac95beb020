// What is counted of a graph before it runs.
#include "panto/lib/runtime/placement/graph_costs.h"

#include <boost/test/unit_test.hpp>

#include "panto/lib/graph/files/io.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/graph/text_graph.h"

namespace panto::test {
namespace {

BOOST_AUTO_TEST_SUITE(costs)

constexpr const char* kTwoSums = R"(
  x = Placeholder(; dtype=float32, shape=[?,100])
  one = Const(; value=float32{1})
  a = AddV2(x, one)
  n = Neg(a)
  b = Mul(a, n)
  y = AddV2(b, x)
)";

BOOST_AUTO_TEST_CASE(are_unknown_where_shapes_are) {
  const Graph graph = text_graph(kTwoSums);
  const GraphCosts costs = graph_costs(graph);
  BOOST_TEST(costs.nodes == 6);
  BOOST_TEST(costs.functions == 0);
  BOOST_TEST(!costs.operations.has_value());
  BOOST_TEST(!costs.bytes_moved.has_value());
  BOOST_TEST(!costs.peak_bytes.has_value());
}

BOOST_AUTO_TEST_CASE(count_operations_and_bytes) {
  const Graph graph = text_graph(kTwoSums);
  const std::pair<NodeOutput, PartialShape> shapes[] = {{graph.output("x"), PartialShape({10, -1})}};
  const GraphCosts costs = graph_costs(graph, shapes);
  // Four ops on 1,000 elements; reads of x + 1, of one, of two and of two such tensors, and four that are written.
  BOOST_TEST(costs.operations.value_or(0) == 4000);
  BOOST_TEST(costs.bytes_moved.value_or(0) == 4 * (1000 + 1 + 1000 + 2000 + 2000 + 4000));
  // a, n over which b is written; y is given out.
  BOOST_TEST(costs.peak_bytes.value_or(0) == 2 * 4032);
  const std::pair<NodeOutput, PartialShape> wrong[] = {{graph.output("x"), PartialShape({10, 99})}};
  expect_error([&] { graph_costs(graph, wrong); },
               "InvalidArgument: shape of 'x': expected a Placeholder's that fits [?,100], got [10,99]");
  const std::pair<NodeOutput, PartialShape> none[] = {{graph.output("a"), PartialShape({10, 100})}};
  expect_error_begins([&] { graph_costs(graph, none); }, "InvalidArgument: shape of 'a': expected a Placeholder's ");
}

BOOST_AUTO_TEST_CASE(count_functions) {
  const TensorSpec x(kFloat32, {1000}, "x"), n(kInt32, {}, "n");
  const auto count = [&](const Function& f) { return graph_costs(f.graph()); };
  const GraphCosts loop = count(trace(
      [](const Tensor& start, const Tensor& rounds) {
        return std::get<1>(while_loop([&](const Tensor& i, const Tensor&) { return i < rounds; },
                                      [](const Tensor& i, const Tensor& y) { return std::tuple(i + 1, exp(y)); },
                                      std::tuple(tensor(0), start)));
      },
      {x, n}));
  BOOST_TEST(loop.functions == 2);
  BOOST_TEST(loop.function_nodes > 4);
  const double one = count(trace([](const Tensor& v) { return exp(v); }, {x})).operations.value_or(0);
  BOOST_TEST(one >= 1000);
  BOOST_TEST(loop.operations.value_or(0) >= 16 * one);  // and it counts, and compares
  BOOST_TEST(loop.operations.value_or(0) <= 16 * (one + 10));
  const auto branches = [&](bool larger) {
    return trace(
        [=](const Tensor& v, const Tensor& k) {
          return cond(k > 0, [&] { return neg(v); }, [&] { return larger ? neg(v) * v : neg(v); });
        },
        {x, n});
  };
  BOOST_TEST(count(branches(true)).operations.value_or(0) == count(branches(false)).operations.value_or(0) + 1000);
}

BOOST_AUTO_TEST_CASE(variables_need_no_values) {
  const GraphCosts costs = graph_costs(text_graph(R"(
    v = VarHandleOp(; shared_name="never_made", dtype=float32, shape=[4])
    r = ReadVariableOp(v; dtype=float32)
    y = Neg(r)
  )"));
  BOOST_TEST(costs.peak_bytes.has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
