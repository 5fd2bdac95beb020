// Graph: names, edges, orders, copies, printing.
#include "panto/lib/graph/graph.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>

#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/validate.h"
#include "panto/tests/expect.h"
#include "panto/tests/graph/text_graph.h"

namespace panto::test {
namespace {

constexpr std::string_view kSmall = R"(
  x = Placeholder(; dtype=float32, shape=[?,2])
  w = Const(; value=float32[2,1]{1, -0.5})
  product = MatMul(x, w)
  y = Tanh(product, ^x)
)";

// Every edge is in its producer's list once, and nothing else is.
void check_edges(const Graph& g) {
  size_t edges = 0, uses = 0;
  for (int id : g.ids()) {
    const Node& node = g.at(id);
    edges += node.inputs().size() + node.control_inputs().size();
    uses += node.consumers().size();
    for (const NodeUse& use : node.consumers()) {
      const Node& user = g.at(use.node);
      if (use.slot == NodeUse::kControl) {
        BOOST_TEST(user.control_inputs()[static_cast<size_t>(use.output)] == id);
      } else {
        BOOST_TEST((user.input(use.slot) == NodeOutput{id, use.output}));
      }
    }
  }
  BOOST_TEST(edges == uses);
}

int add(Graph& g, const std::string& name, std::vector<NodeOutput> inputs, std::vector<int> controls = {}) {
  NodeSpec spec;
  spec.name = name;
  spec.op = inputs.empty() ? &get_op("Const") : &get_op("AddN");
  if (inputs.empty()) {
    spec.attrs = {AttrValue(tensor(1.f)), AttrValue(kFloat32)};
  } else {
    spec.attrs = {AttrValue(static_cast<int64_t>(inputs.size())), AttrValue(kFloat32)};
  }
  spec.inputs = std::move(inputs);
  spec.control_inputs = std::move(controls);
  spec.outputs = {{kFloat32, Shape{}}};
  return g.add(std::move(spec));
}

BOOST_AUTO_TEST_SUITE(graph_suite)

BOOST_AUTO_TEST_CASE(prints_one_line_a_node_inputs_first) {
  const Graph g = text_graph(kSmall);
  BOOST_TEST(g.to_string() ==
             "w = Const(; value=[[ 1. ] [-0.5]], dtype=float32) -> float32[2,1]\n"
             "x = Placeholder(; dtype=float32, shape=[?,2]) -> float32[?,2]\n"
             "product = MatMul(x, w) -> float32[?,1]\n"
             "y = Tanh(product, ^x) -> float32[?,1]\n");
  // The order of adding does not show.
  const Graph other = text_graph(R"(
    y = Tanh(product, ^x)
    w = Const(; value=float32[2,1]{1, -0.5})
    product = MatMul(x, w)
    x = Placeholder(; dtype=float32, shape=[?,2])
  )");
  BOOST_TEST(other.to_string() == g.to_string());
  const std::string dot = g.to_dot();
  BOOST_TEST(dot.starts_with("digraph G {\n"));
  BOOST_TEST(dot.find("label=\"y\\nTanh\"") != std::string::npos);
  BOOST_TEST(dot.find("[label=\"float32[?,1]\"]") != std::string::npos);
  BOOST_TEST(dot.find("[style=dotted]") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(is_looked_at_by_name_and_by_edge) {
  const Graph g = text_graph(kSmall);
  const Node& product = g.at("product");
  BOOST_TEST(product.op().name() == "MatMul");
  BOOST_TEST(g.at(product.input(1).node).name() == "w");
  BOOST_TEST(product.consumers().size() == 1u);
  BOOST_TEST(g.at(product.consumers()[0].node).name() == "y");
  BOOST_TEST(product.attr("transpose_a").as<bool>() == false);
  BOOST_TEST((g.output("y:0") == g.output("y")));
  BOOST_TEST(g.output_name(g.output("y:0")) == "y");
  BOOST_TEST((g.find("z") == nullptr));
  expect_error([&] { g.at("produkt"); },
               "NotFound: node: expected a name of the graph, got 'produkt' (closest: 'product')");
  expect_error([&] { g.output("y:1"); }, "OutOfRange: output of node 'y': expected 0 to 0, got 1");
  expect_error([&] { g.output("^y"); },
               "InvalidArgument: tensor name: expected a node's output such as 'x' or 'x:0', got '^y'");
  expect_error([&] { g.output("y:"); }, "InvalidArgument: tensor name: expected 'node' or 'node:output', got 'y:'");
  expect_error([&] { g.output("y:99999999999999"); },
               "InvalidArgument: tensor name: expected 'node' or 'node:output', got 'y:99999999999999'");
  expect_error([&] { product.attr("transpose"); }, "NotFound: attribute: expected one of MatMul, got transpose");
}

BOOST_AUTO_TEST_CASE(names_are_unique_as_in_tensorflow) {
  Graph g;
  BOOST_TEST(g.unique_name("add") == "add");
  add(g, g.unique_name("add"), {});
  BOOST_TEST(g.unique_name("add") == "add_1");
  add(g, g.unique_name("add"), {});
  add(g, g.unique_name("add"), {});
  BOOST_TEST((g.find("add_2") != nullptr));
  BOOST_TEST(g.unique_name("ADD") == "ADD_3");  // names that differ in case only are not given out
  BOOST_TEST(g.unique_name("add_1") == "add_1_1");
  BOOST_TEST(g.unique_name("a/b c") == "a/b_c");
  BOOST_TEST(g.unique_name("_x") == "n_x");
  BOOST_TEST(g.unique_name("") == "n");
  for (const char* good : {"a", "A.b/c-d>e", "1x", ".x", "x\\y"}) BOOST_TEST(Graph::is_valid_name(good), good);
  for (const char* bad : {"", "_x", "-x", "/x", "a b", "a:0", "^a", "\xc3\xa4"}) {
    BOOST_TEST(!Graph::is_valid_name(bad), bad);
  }
  expect_error([&] { add(g, "add", {}); }, "InvalidArgument: node name: expected one that is not taken, got 'add'");
  expect_error([&] { add(g, "a b", {}); },
               "InvalidArgument: node name: expected letters, digits, '.', '_', '-' and '/' after a letter, digit or "
               "'.', got 'a b'");
}

// Of the nodes that wait for nothing any more, the lowest id comes first.
std::vector<int> plain_order(const Graph& g) {
  std::vector<int> order;
  const auto done = [&](int id) { return std::ranges::find(order, id) != order.end(); };
  while (order.size() < static_cast<size_t>(g.num_nodes())) {
    for (int id : g.ids()) {
      const Node& node = g.at(id);
      const bool ready =
          std::ranges::all_of(node.inputs(), [&](const NodeOutput& input) { return done(input.node); }) &&
          std::ranges::all_of(node.control_inputs(), done);
      if (!ready || done(id)) continue;
      order.push_back(id);
      break;
    }
  }
  return order;
}

BOOST_AUTO_TEST_CASE(order_follows_edges_that_lead_to_lower_ids) {
  constexpr int kNodes = 14;
  Graph g;
  std::mt19937 random(11);
  for (int i = 0; i < kNodes; ++i) add(g, "n" + std::to_string(i), {});
  for (int i = 0; i < kNodes; ++i) add(g, "m" + std::to_string(i), {{i, 0}, {i, 0}});
  BOOST_TEST(std::ranges::is_sorted(g.topological_order()));
  // Edges lead from left to right of a shuffled row of nodes: back and forth between ids, never in a circle.
  std::vector<int> row = g.ids();
  std::shuffle(row.begin() + kNodes, row.end(), random);
  int back = 0;
  for (int i = 0; i < 300; ++i) {
    const size_t from = random() % row.size();
    const size_t to = static_cast<size_t>(kNodes) + random() % kNodes;
    if (from >= to) continue;
    const int a = row[from], b = row[to];
    switch (random() % 4) {
      case 0: g.set_input(b, static_cast<int>(random() % 2), {a, 0}); break;
      case 1: g.add_control_input(b, a); break;
      default: g.remove_control_input(b, a); break;
    }
    const std::vector<int> order = g.topological_order();
    back += std::ranges::is_sorted(order) ? 0 : 1;
    BOOST_TEST(order == plain_order(g), boost::test_tools::per_element());
    const Graph copy = g;
    BOOST_TEST(copy.topological_order() == order, boost::test_tools::per_element());
  }
  BOOST_TEST(back > 20);
  for (int i = 0; i < kNodes; ++i) {
    const Node& node = g.at("m" + std::to_string(i));
    for (int control : g.ids()) g.remove_control_input(node.id(), control);
    for (int slot : {0, 1}) g.set_input(node.id(), slot, {i, 0});
  }
  BOOST_TEST(std::ranges::is_sorted(g.topological_order()));
}

BOOST_AUTO_TEST_CASE(keeps_edges_in_order_under_every_change) {
  Graph g;
  std::mt19937 random(7);
  std::vector<int> ids;
  const auto any = [&] { return ids[random() % ids.size()]; };
  for (int i = 0; i < 12; ++i) ids.push_back(add(g, "n" + std::to_string(i), {}));
  for (int i = 12; i < 60; ++i) {
    ids.push_back(add(g, "n" + std::to_string(i), {{any(), 0}, {any(), 0}, {any(), 0}}, {any(), any(), any()}));
  }
  check_edges(g);
  // Only ever from a lower id to a higher one, so that no cycle appears.
  for (int i = 0; i < 400; ++i) {
    const int a = any(), b = any();
    const Node* node = g.find(b);
    if (a >= b || node == nullptr || g.find(a) == nullptr) continue;
    switch (random() % 4) {
      case 0:
        if (node->num_inputs() > 0) g.set_input(b, static_cast<int>(random() % 3), {a, 0});
        break;
      case 1: g.add_control_input(b, a); break;
      case 2: g.remove_control_input(b, a); break;
      case 3:
        g.replace_output({b, 0}, {a, 0});
        g.replace_control(b, a);
        if (node->consumers().empty()) g.remove(b);
        break;
    }
  }
  check_edges(g);
  BOOST_TEST(g.num_nodes() < 60);
  const std::vector<int> order = g.topological_order();
  BOOST_TEST(order.size() == static_cast<size_t>(g.num_nodes()));
  BOOST_TEST(std::ranges::is_sorted(order));
  Graph copy = g;
  check_edges(copy);
  BOOST_TEST(copy.to_string() == g.to_string());
  BOOST_TEST((copy.identity() != g.identity()));
  const void* identity = copy.identity();
  const Graph moved = std::move(copy);
  BOOST_TEST((moved.identity() == identity));
}

BOOST_AUTO_TEST_CASE(says_which_nodes_are_on_a_cycle) {
  Graph g;
  const int a = add(g, "a", {});
  const int b = add(g, "b", {{a, 0}});
  const int c = add(g, "c", {{b, 0}});
  const int d = add(g, "d", {{c, 0}});
  g.set_input(b, 0, {d, 0});
  expect_error([&] { g.topological_order(); },
               "InvalidArgument: graph: expected no cycle, got 'b' -> 'c' -> 'd' -> 'b'");
  BOOST_TEST(std::ranges::count(g.to_string(), '\n') == 4);  // it can still be looked at
  g.set_input(b, 0, {a, 0});
  g.add_control_input(b, d);
  expect_error([&] { validate(g); }, "InvalidArgument: graph: expected no cycle, got 'b' -> 'c' -> 'd' -> 'b'");
}

BOOST_AUTO_TEST_CASE(refuses_changes_that_would_break_it) {
  Graph g = text_graph(kSmall);
  const int w = g.at("w").id(), y = g.at("y").id();
  expect_error([&] { g.remove(w); }, "FailedPrecondition: removed node 'w': expected no consumers, got 'product'");
  expect_error([&] { g.set_input(y, 1, {w, 0}); },
               "InvalidArgument: input of node 'y': expected a slot below 1, got 1");
  expect_error([&] { g.set_input(y, 0, {w, 2}); },
               "InvalidArgument: input of node 'y': expected an output below 1 of node 'w', got 2");
  expect_error([&] { g.set_input(y, 0, {99, 0}); },
               "InvalidArgument: input of node 'y': expected a node of the graph, got id 99");
  expect_error([&] { g.set_attr(y, "alpha", AttrValue(1.f)); }, "NotFound: attribute: expected one of Tanh, got alpha");
  expect_error([&] { g.set_attr(g.at("product").id(), "transpose_a", AttrValue(int64_t{1})); },
               "InvalidArgument: attribute transpose_a: expected a value of kind bool, got int");
  // Types of edges are validate's: a change may go through a state that does not fit yet.
  g.set_outputs(w, {{kFloat64, PartialShape{2, 1}}});
  expect_error([&] { validate(g); }, "InvalidArgument: output 0: expected float32, got float64 [Const of node 'w']");
}

BOOST_AUTO_TEST_CASE(knows_what_symbolic_tensors_stand_for) {
  Graph g = text_graph(kSmall);
  const Tensor t = meta_tensor(kFloat32, PartialShape{-1, 1});
  g.bind(t, g.output("y"));
  const Graph copy = g;
  BOOST_TEST(copy.node(t).name() == "y");
  const Tensor other = meta_tensor(kFloat32, PartialShape{-1, 1});
  BOOST_TEST(!copy.output_of(other).valid());
  expect_error_begins([&] { copy.node(other); }, "InvalidArgument: symbolic tensor: expected one of this graph, got ");
}

BOOST_AUTO_TEST_CASE(a_node_becomes_one_of_another_op) {
  Graph g;
  const int a = add(g, "a", {}), b = add(g, "b", {{a, 0}, {a, 0}}, {a}), c = add(g, "c", {{b, 0}}, {b});
  const uint64_t before = g.edits();
  g.replace_op(b, get_op("Neg"), {{a, 0}}, {AttrValue(kFloat32)});
  check_edges(g);
  BOOST_TEST(g.edits() > before);
  BOOST_TEST(g.at("b").id() == b);
  BOOST_TEST(g.at("b").op().name() == "Neg");
  BOOST_TEST(g.at("b").num_inputs() == 1);
  BOOST_TEST(g.at("b").control_inputs().size() == 1U);
  BOOST_TEST((g.at(c).input(0) == NodeOutput{b, 0}));
  expect_error_begins([&] { g.replace_op(b, get_op("Neg"), {{7, 0}}, {AttrValue(kFloat32)}); },
                      "InvalidArgument: input of node 'b': expected a node of the graph, got id 7");
  expect_error_begins([&] { g.replace_op(b, get_op("Neg"), {{a, 0}}, {AttrValue(true)}); }, "InvalidArgument: ");
  check_edges(g);
}

// Nodes that stand for an earlier one come where it came.
BOOST_AUTO_TEST_CASE(a_place_in_the_order) {
  Graph g;
  const int a = add(g, "a", {}), b = add(g, "b", {{a, 0}}), c = add(g, "c", {{a, 0}}), d = add(g, "d", {{c, 0}});
  NodeSpec spec = g.at(b).spec();
  spec.name = "instead";
  spec.place = g.at(b).place();
  const int instead = g.add(std::move(spec));
  BOOST_TEST(g.at(instead).place() == b);
  BOOST_TEST((g.topological_order() == std::vector<int>{a, b, instead, c, d}));
  BOOST_TEST((Graph(g).topological_order() == g.topological_order()));
  g.set_input(instead, 0, {d, 0});  // it waits, and comes as soon as it may
  const int e = add(g, "e", {{a, 0}});
  BOOST_TEST((g.topological_order() == std::vector<int>{a, b, c, d, instead, e}));
  g.remove(instead);
  BOOST_TEST((g.topological_order() == g.ids()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
