// Graphs as people look at them: what differs between two, and what Graphviz is given.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>

#include "panto/lib/graph/show/difference.h"
#include "panto/lib/graph/show/dot.h"
#include "panto/tests/expect.h"
#include "panto/tests/graph/text_graph.h"

namespace panto::test {
namespace {

struct DifferenceCase {
  const char* what;
  const char* before;
  const char* after;
  const char* text;
};

const DifferenceCase kDifferences[] = {
    {"nothing", "x = Placeholder(; dtype=float32, shape=[2])\n y = Neg(x)",
     "x = Placeholder(; dtype=float32, shape=[2])\n y = Neg(x)", ""},
    {"an op", "x = Placeholder(; dtype=float32, shape=[2])\n y = Neg(x)",
     "x = Placeholder(; dtype=float32, shape=[2])\n y = Exp(x)",
     "- y = Neg(x) -> float32[2]\n+ y = Exp(x) -> float32[2]\n"},
    {"names only, one of them of another node before",
     "x = Placeholder(; dtype=float32, shape=[2])\n a = Neg(x)\n b = Exp(a)",
     "x = Placeholder(; dtype=float32, shape=[2])\n b = Neg(x)\n c = Exp(b)", "  a is called b\n  b is called c\n"},
    {"a node in between", "x = Placeholder(; dtype=float32, shape=[2])\n y = Exp(x)\n z = Tanh(y)",
     "x = Placeholder(; dtype=float32, shape=[2])\n n = Neg(x)\n y = Exp(n)\n z = Tanh(y)",
     "- y = Exp(x) -> float32[2]\n+ y = Exp(n) -> float32[2]\n"
     "- z = Tanh(y) -> float32[2]\n+ z = Tanh(y) -> float32[2]\n+ n = Neg(x) -> float32[2]\n"},
    {"two of one computation, one of which goes",
     "x = Placeholder(; dtype=float32, shape=[2])\n a = Neg(x)\n b = Neg(x)\n y = AddV2(a, b)",
     "x = Placeholder(; dtype=float32, shape=[2])\n a = Neg(x)\n y = AddV2(a, a)",
     "- b = Neg(x) -> float32[2]\n- y = AddV2(a, b) -> float32[2]\n+ y = AddV2(a, a) -> float32[2]\n"},
    {"order of control inputs", "a = NoOp()\n b = NoOp()\n c = NoOp(^a, ^b)",
     "a = NoOp()\n b = NoOp()\n c = NoOp(^b, ^a)", ""},
    {"a device", "a = NoOp()", "a = NoOp() @/device:CPU:0", "- a = NoOp()\n+ a = NoOp() @/device:CPU:0\n"},
};

BOOST_AUTO_TEST_SUITE(graph)
BOOST_AUTO_TEST_SUITE(show)

BOOST_AUTO_TEST_CASE(differences) {
  for (const DifferenceCase& c : kDifferences) {
    BOOST_TEST_CONTEXT(c.what) {
      const GraphDifference found = graph_difference(text_graph(c.before), text_graph(c.after));
      BOOST_TEST(found.to_string() == c.text);
      BOOST_TEST(found.empty() == (std::string_view(c.text) == ""));
    }
  }
}

// Of a large constant the text shows the ends only.
BOOST_AUTO_TEST_CASE(a_constant_that_differs_in_its_middle) {
  const auto with = [](const char* middle) {
    std::string values;
    for (int i = 0; i < 5000; ++i) values += (i > 0 ? ", " : "") + std::string(i == 2500 ? middle : "0");
    return text_graph("w = Const(; value=float32[5000]{" + values + "})\n y = Neg(w)");
  };
  BOOST_TEST(graph_difference(with("1"), with("1")).empty());
  const GraphDifference found = graph_difference(with("1"), with("2"));
  BOOST_TEST_REQUIRE(found.changed.size() == 2u);
  BOOST_TEST(found.changed[0].second.starts_with("w = Const"));
}

BOOST_AUTO_TEST_CASE(loops_have_differences) {
  const std::string loop = R"(
    zero = Const(; value=int32{0})
    enter = Enter(zero; frame_name="f")
    merge = Merge(enter, next)
    n = Const(; value=int32{4})
    limit = Enter(n; frame_name="f", is_constant=true)
    less = Less(merge, limit)
    go = LoopCond(less)
    switch = Switch(merge, go)
    one = Const(^switch; value=int32{1})
    add = AddV2(switch:1, one)
    next = NextIteration(add)
    exit = Exit(switch)
  )";
  BOOST_TEST(graph_difference(text_graph(loop), text_graph(loop)).empty());
  std::string other = loop;
  other.replace(other.find("int32{4}"), 8, "int32{5}");
  BOOST_TEST(graph_difference(text_graph(loop), text_graph(other)).changed.size() >= 1u);
}

// A graph and itself with all names changed differ in names alone.
BOOST_AUTO_TEST_CASE(renamed_random_graphs) {
  std::mt19937 random(20260101);
  for (int round = 0; round < 200; ++round) {
    std::string before = "n0 = Placeholder(; dtype=float32, shape=[2])\n", after = before;
    const int nodes = 2 + static_cast<int>(random() % 20);
    for (int i = 1; i < nodes; ++i) {
      const auto a = static_cast<int>(random() % static_cast<unsigned>(i));
      const auto b = static_cast<int>(random() % static_cast<unsigned>(i));
      const char* op = random() % 2 == 0 ? "AddV2" : "Mul";
      const auto name = [](const char* letter, int k) { return (k == 0 ? "n" : letter) + std::to_string(k); };
      before += name("n", i) + " = " + op + "(" + name("n", a) + ", " + name("n", b) + ")\n";
      after += name("m", i) + " = " + op + "(" + name("m", a) + ", " + name("m", b) + ")\n";
    }
    const GraphDifference found = graph_difference(text_graph(before), text_graph(after));
    BOOST_TEST_CONTEXT(before) {
      BOOST_TEST(found.renamed.size() == static_cast<size_t>(nodes - 1));
      BOOST_TEST((found.changed.empty() && found.added.empty() && found.removed.empty()));
    }
  }
}

constexpr std::string_view kScopes = R"(
  x = Placeholder(; dtype=float32, shape=[2])
  a/b/n = Neg(x)
  a/b/e = Exp(a/b/n)
  a/t = Tanh(a/b/e)
  c/m = Mul(a/t, a/b/e)
  y = AddV2(c/m, x)
)";

BOOST_AUTO_TEST_CASE(scopes_are_frames) {
  const std::string dot = graph_dot(text_graph(kScopes), {.most_boxes = 6});
  BOOST_TEST(dot.find("subgraph \"cluster_a\" {") != std::string::npos);
  BOOST_TEST(dot.find("subgraph \"cluster_a/b\" {") != std::string::npos);
  BOOST_TEST(dot.find("shape=folder") == std::string::npos);
  BOOST_TEST(std::ranges::count(dot, '{') == std::ranges::count(dot, '}'));
}

BOOST_AUTO_TEST_CASE(inner_scopes_are_closed_until_there_are_few_boxes) {
  const std::string dot = graph_dot(text_graph(kScopes), {.most_boxes = 5});
  BOOST_TEST(dot.find("\"scope a/b\" [label=\"a/b\\n2 nodes\"") != std::string::npos);
  BOOST_TEST(dot.find("subgraph \"cluster_a\" {") != std::string::npos);
  BOOST_TEST(dot.find("cluster_a/b") == std::string::npos);
  BOOST_TEST(dot.find("\"scope a/b\" -> n") != std::string::npos);
  const std::string fewer = graph_dot(text_graph(kScopes), {.most_boxes = 4});
  BOOST_TEST(fewer.find("\"scope a\" [label=\"a\\n3 nodes\"") != std::string::npos);
  // Two tensors go from one box to the other.
  BOOST_TEST(fewer.find("\"scope a\" -> \"scope c\" [class=\"edge\", edgetooltip=\"a/b/e, a/t\", label=\"2\"]") !=
             std::string::npos);
  expect_error([] { graph_dot(text_graph(kScopes), {.most_boxes = 3}); },
               "ResourceExhausted: picture: expected at most 3 boxes, got 4 where every name scope is one");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
