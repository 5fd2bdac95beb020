// What is done to graphs, as text: calls that become the nodes of their function, constants that are too large to be
// made, values that are computed again.
#include <boost/test/unit_test.hpp>
#include <string>

#include "panto/lib/graph/files/io.h"
#include "panto/lib/runtime/optimizer.h"
#include "panto/lib/runtime/recompute.h"
#include "panto/lib/runtime/session.h"
#include "panto/panto.h"
#include "panto/tests/graph/function_text.h"
#include "panto/tests/graph/text_graph.h"

namespace panto::test {
namespace {

BOOST_AUTO_TEST_SUITE(passes_as_texts)

// What was to happen before the call waits for nothing in it, and what comes after waits for all that it does.
BOOST_AUTO_TEST_CASE(a_call_with_effects_becomes_its_nodes) {
  const std::string of_float = type_attr("dtype", "DT_FLOAT");
  const std::string add = "function { signature { name: 'add' " + input_arg("v", "type: DT_RESOURCE") +
                          input_arg("x", kFloat) + output_arg("r", kFloat) +
                          "control_output: 'added' is_stateful: true } " +
                          inner("more", "AssignAddVariableOp", {"v", "x"}, of_float) +
                          inner("now", "ReadVariableOp", {"v", "^more"}, of_float) +
                          "ret { key: 'r' value: 'now:value:0' } control_ret { key: 'added' value: 'more' } }\n";
  const Graph graph = parse_graph(
      placeholder("x", "DT_FLOAT", "") + node("v", "VarHandleOp", {}, of_float + attr("shape", "shape { }")) +
      node("first", "AssignVariableOp", {"v", "x"}, of_float) +
      node("call", "StatefulPartitionedCall", {"v", "x", "^first"},
           types_attr("Tin", "type: DT_RESOURCE " + kFloat) + types_attr("Tout", kFloat) + function_attr("f", "add")) +
      node("last", "AssignSubVariableOp", {"v", "x", "^call"}, of_float) +
      node("y", "ReadVariableOp", {"v", "^last"}, of_float) + library(add));
  const NodeOutput fetches[] = {graph.output("y"), graph.output("call")};
  BOOST_TEST(optimize(graph, fetches, {}, "prune").to_string() ==
             R"(v = VarHandleOp(; dtype=float32, shape=[]) -> resource
x = Placeholder(; dtype=float32) -> float32?
first = AssignVariableOp(v, x)
call/AssignAddVariableOp = AssignAddVariableOp(v, x, ^first)
call/ReadVariableOp = ReadVariableOp(v, ^call/AssignAddVariableOp, ^first; dtype=float32) -> float32?
call = Identity(call/ReadVariableOp, ^call/AssignAddVariableOp, ^first) -> float32?
last = AssignSubVariableOp(v, x, ^call)
y = ReadVariableOp(v, ^last; dtype=float32) -> float32
)");
  Session session(graph);
  const auto [y, call] = session.run<2>({"y", "call:0"}, {{"x", 3}});
  BOOST_TEST(y.item<float>() == 3 + 3 - 3);
  BOOST_TEST(call.item<float>() == 3 + 3);
}

// Three elements are made, a million are not.
BOOST_AUTO_TEST_CASE(constants_are_folded_within_a_budget) {
  const Graph graph = text_graph(R"(
    size = Const(; value=int32[2]{1000, 1000})
    zero = Const(; value=float32{0})
    large = Fill(size, zero)
    few = Const(; value=int32[1]{3})
    small = Fill(few, zero)
    x = Placeholder(; dtype=float32, shape=[1000,1])
    a = Mul(large, x)
    b = Neg(small)
  )");
  const NodeOutput fetches[] = {graph.output("a"), graph.output("b")};
  BOOST_TEST(optimize(graph, fetches, {}, "constant_folding").to_string() ==
             R"(b = Const(; value=[-0. -0. -0.], dtype=float32) -> float32[3]
size = Const(; value=[1000 1000], dtype=int32) -> int32[2]
x = Placeholder(; dtype=float32, shape=[1000,1]) -> float32[1000,1]
zero = Const(; value=0.0, dtype=float32) -> float32
large = Fill(size, zero) -> float32[1000,1000]
a = Mul(large, x) -> float32[1000,1000]
)");
}

// Two matrices do where three would be kept.
BOOST_AUTO_TEST_CASE(a_value_is_computed_again) {
  const Graph graph = text_graph(R"(
    x = Placeholder(; dtype=float32, shape=[16,16])
    v = Exp(x)
    m = MatMul(x, v)
    n = MatMul(m, x)
    y = MatMul(n, v)
  )");
  constexpr int64_t kMatrix = int64_t{16} * 16 * 4;
  BOOST_TEST(recompute_within(graph, 3 * kMatrix).to_string() == graph.to_string());
  BOOST_TEST(recompute_within(graph, 2 * kMatrix).to_string() ==
             R"(x = Placeholder(; dtype=float32, shape=[16,16]) -> float32[16,16]
v = Exp(x) -> float32[16,16]
m = MatMul(x, v) -> float32[16,16]
n = MatMul(m, x) -> float32[16,16]
v/again = Exp(x, ^n; _recomputed=true) -> float32[16,16]
y = MatMul(n, v/again) -> float32[16,16]
)");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
