// Nodes put together piece by piece.
#include "panto/lib/graph/node_builder.h"

#include <boost/test/unit_test.hpp>

#include "panto/lib/ops/create.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/expect.h"
#include "panto/tests/graph/text_graph.h"
#include "panto/tests/near.h"

namespace panto::test {
namespace {

BOOST_AUTO_TEST_SUITE(graph)
BOOST_AUTO_TEST_SUITE(node_builder)

BOOST_AUTO_TEST_CASE(adds_a_node) {
  Graph g;
  const NodeOutput x = NodeBuilder(g, "Placeholder", "x")
                           .attr("dtype", AttrValue(kFloat32))
                           .attr("shape", AttrValue(PartialShape({2, -1})))
                           .build();
  const NodeOutput w =
      NodeBuilder(g, "Const").attr("value", AttrValue(tensor({{1.f, 2.f}}))).attr("dtype", AttrValue(kFloat32)).build();
  NodeBuilder(g, "MatMul", "product").input(w).input("x:0").control_input("x").device("/device:CPU:0").build();
  const NodeOutput two =
      NodeBuilder(g, "Pack").input("product").input("product").attr("axis", AttrValue(int64_t{1})).build();
  BOOST_TEST(g.to_string() ==
             "Const = Const(; value=[[1. 2.]], dtype=float32) -> float32[1,2]\n"
             "x = Placeholder(; dtype=float32, shape=[2,?]) -> float32[2,?]\n"
             "product = MatMul(Const, x, ^x) -> float32[1,?] @/device:CPU:0\n"
             "Pack = Pack(product, product; axis=1) -> float32[1,2,?]\n");
  BOOST_TEST(two.index == 0);
  BOOST_TEST(x.node != w.node);
  Session s(g);
  expect_near(s.run("product", {{"x", tensor({{1.f}, {10.f}})}}), {1, 1}, {21});
}

BOOST_AUTO_TEST_CASE(says_all_mistakes_at_once) {
  Graph g = text_graph("x = Placeholder(; dtype=float32, shape=[2,2])");
  expect_error(
      [&] {
        NodeBuilder(g, "MatMul", "m")
            .input("x")
            .input("y")
            .control_input("z")
            .attr("transpose_c", AttrValue(true))
            .attr("transpose_a", AttrValue(int64_t{1}))
            .build();
      },
      "InvalidArgument: node 'm': expected one without mistakes, got 4: node: expected a name of the graph, got 'y' "
      "(closest: 'x'); node: expected a name of the graph, got 'z' (closest: 'x'); attribute of MatMul: expected one "
      "of "
      "its signature, got 'transpose_c'; attribute transpose_a of MatMul: expected bool, got int");
  BOOST_TEST(g.num_nodes() == 1);
  expect_error_begins([&] { NodeBuilder(g, "MatMull", "m").input("x").build(); },
                      "InvalidArgument: node 'm': expected one without mistakes, got 1: op: expected one that is "
                      "defined here, got 'MatMull'");
  expect_error_begins([&] { NodeBuilder(g, "MatMul", "m").input("x").build(); }, "InvalidArgument: node 'm': ");
  expect_error_begins([&] { NodeBuilder(g, "Neg", "m").input(NodeOutput{0, 3}).build(); },
                      "InvalidArgument: node 'm': expected one without mistakes, got 1: output of node 'x': expected 0 "
                      "to 0, got 3");
  expect_error_begins([&] { NodeBuilder(g, "Neg", "x").input("x").build(); }, "InvalidArgument: node 'x': ");
  BOOST_TEST(g.num_nodes() == 1);
}

BOOST_AUTO_TEST_CASE(what_a_handle_refers_to_is_known) {
  Graph g;
  const NodeOutput handle = NodeBuilder(g, "VarHandleOp", "v")
                                .attr("dtype", AttrValue(kFloat32))
                                .attr("shape", AttrValue(PartialShape({3})))
                                .build();
  const NodeOutput value =
      NodeBuilder(g, "ReadVariableOp", "value").input(handle).attr("dtype", AttrValue(kFloat32)).build();
  BOOST_TEST(g.info(value).shape.to_string() == "[3]");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
