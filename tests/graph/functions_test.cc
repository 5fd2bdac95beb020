// Functions of files: read, called, written.
#include <cmath>
#include <string>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/expect.h"
#include "panto/tests/graph/function_text.h"
#include "panto/tests/near.h"
#include "panto/trace/control/control_flow.h"
#include "panto/trace/function.h"
#include "panto/trace/graph_gradients.h"
#include "panto/trace/trace.h"

namespace panto::test {
namespace {

BOOST_AUTO_TEST_SUITE(graph)
BOOST_AUTO_TEST_SUITE(functions)

// As a node of a graph.
const std::string kOneNode = constant("one", "DT_INT32", "", "int_val: 1");
std::string argument(const std::string& name, const std::string& dtype) {
  return placeholder(name, dtype, kUnknownRank);
}

BOOST_AUTO_TEST_CASE(a_function_that_calls_itself) {
  Session session(parse_graph(factorial()));
  for (const auto& [n, expected] : {std::pair(0, 1), std::pair(1, 1), std::pair(5, 120)}) {
    expect_near(session.run("y", {{"n", tensor(n)}}), expected);
  }
  expect_error_begins([&] { session.run("y", {{"n", tensor(100000)}}); },
                      "ResourceExhausted: calls of functions: expected at most 200 inside one another, got");
  expect_near(session.run("y", {{"n", tensor(6)}}), 720);
  // Written, and read again.
  Session again(parse_graph(to_graph_def(parse_graph(factorial()))));
  expect_near(again.run("y", {{"n", tensor(7)}}), 5040);
}

BOOST_AUTO_TEST_CASE(a_function_of_several_types) {
  const std::string polymorphic = library(function(
      "twice",
      input_arg("x", "type_attr: 'T'") + output_arg("r", "type_attr: 'T'") + "attr { name: 'T' type: 'type' } ",
      inner("sum", "AddV2", {"x", "x"}, attr("T", "placeholder: 'T'")), "sum:z:0"));
  const auto calls = [&](const std::string& type) {
    return types_attr("Tin", "type: " + type) + types_attr("Tout", "type: " + type) +
           function_attr("f", "twice", attr("T", "type: " + type));
  };
  const Graph g = parse_graph(argument("i", "DT_INT32") + argument("x", "DT_DOUBLE") +
                              node("a", "PartitionedCall", {"i"}, calls("DT_INT32")) +
                              node("b", "PartitionedCall", {"x"}, calls("DT_DOUBLE")) + polymorphic);
  for (const Graph& graph : {g, parse_graph(to_graph_def(g))}) {
    Session session(graph);
    expect_near(session.run("a", {{"i", tensor(3)}}), 6);
    expect_near(session.run("b", {{"x", tensor(1.25)}}), 2.5);
  }
}

BOOST_AUTO_TEST_CASE(a_call_by_the_functions_own_name) {
  Session session(parse_graph(
      argument("n", "DT_INT32") + node("y", "next", {"n"}, "") +
      library(function("next", kIntToInt, kOne + inner("sum", "AddV2", {"n", "one:output:0"}, kIntT), "sum:z:0"))));
  expect_near(session.run("y", {{"n", tensor(3)}}), 4);
}

// A node that nothing reads runs where `control_ret` says so, or where another one waits for it, also one without
// effects; wherever the function is called. In TensorFlow 2.21 all of these are InvalidArgumentError.
BOOST_AUTO_TEST_CASE(nodes_that_nothing_reads) {
  const auto checked = [](const std::string& waits, const std::string& control_ret) {
    const std::string arguments = kFloatToFloat + (control_ret.empty() ? "" : "control_output: 'done' ");
    return library("function { signature { name: 'checked' " + arguments + "} " +
                   inner("check", "CheckNumerics", {"x"}, kFloatT + attr("message", "s: 'checked'")) +
                   inner("square", "Square",
                         waits.empty() ? std::vector<std::string>{"x"} : std::vector<std::string>{"x", waits},
                         kFloatT) +
                   "ret { key: 'r' value: 'square:y:0' } " + control_ret + "}\n");
  };
  const std::string x = placeholder("x", "DT_FLOAT", "");
  const std::string call = x + node("y", "PartitionedCall", {"x"}, call_attrs("checked", kFloat));
  const std::string branch = x + placeholder("p", "DT_BOOL", "") +
                             node("y", "StatelessIf", {"p", "x"}, if_attrs("checked", "checked", kFloat));
  const std::string done = "control_ret { key: 'done' value: 'check' } ";
  for (const std::string& text : {call + checked("^check", ""), call + checked("", done),
                                  branch + checked("^check", ""), branch + checked("", done)}) {
    const Graph read = parse_graph(text);
    const Graph again = parse_graph(to_graph_def(read));
    for (const Graph* graph : {&read, &again}) {
      Feeds good{{"x", 3}}, bad{{"x", tensor(INFINITY)}};
      std::vector<std::string> names{"x"};
      std::vector<Tensor> inputs{tensor(3.f)}, wrong{tensor(INFINITY)};
      if (graph->find("p") != nullptr) {
        for (Feeds* feeds : {&good, &bad}) feeds->emplace_back("p", true);
        for (std::vector<Tensor>* values : {&inputs, &wrong}) values->push_back(tensor(true));
        names.emplace_back("p");
      }
      for (const char* passes : {"", "off"}) {
        Session session(*graph, {.passes = passes});
        BOOST_TEST(session.run("y", good).item<float>() == 9);
        const std::string error = error_text([&] { session.run("y", bad); });
        BOOST_TEST(error.starts_with("InvalidArgument: checked"), error);
      }
      const Function f = function_of(*graph, {names.begin(), names.end()}, {"y"});
      const auto outer = trace([&](const std::vector<Tensor>& in) { return f.call(in)[0] + 1.f; });
      BOOST_TEST(f.call(inputs)[0].item<float>() == 9);
      BOOST_TEST(outer(inputs).item<float>() == 10);
      BOOST_CHECK_THROW(f.call(wrong), Error);
      BOOST_CHECK_THROW(outer(wrong), Error);
    }
  }
}

BOOST_AUTO_TEST_CASE(symbolic_gradients) {
  const std::string attrs = types_attr("Tin", kFloat + kFloat) + types_attr("Tout", kFloat);
  const Feeds feeds{{"x", tensor({3.f, -1.f})}, {"dy", tensor({1.f, 2.f})}};
  const std::string own =
      with_own_gradient(node("g", "SymbolicGradient", {"x", "dy"}, attrs + function_attr("f", "square")));
  std::string without = own;
  without.erase(without.find("gradient { function_name"));
  without += "}\n";
  for (const auto& [text, expected] :
       {std::pair(own, std::vector<float>{10, 20}), std::pair(without, std::vector<float>{6, -4})}) {
    const Graph graph = parse_graph(text);
    for (const Graph& read : {graph, parse_graph(to_graph_def(graph))}) {
      Session session(read);
      BOOST_TEST(session.run("g", feeds).to_vector<float>() == expected, boost::test_tools::per_element());
    }
  }
}

// A gradient that a library names for a function is that of calls under tapes, in traces and in graphs.
BOOST_AUTO_TEST_CASE(a_librarys_own_gradient) {
  const std::string call = node("y", "PartitionedCall", {"x"}, call_attrs("square", kFloat));
  Graph graph = parse_graph(with_own_gradient(call));
  const Function f = function_of(graph, {"x"}, {"y"});
  const Tensor x = tensor({3.f, -1.f});
  BOOST_TEST(f(x).to_vector<float>() == (std::vector<float>{9, 1}));
  {
    GradientTape tape;
    tape.watch(x);
    BOOST_TEST(tape.gradient(sum(f(x)), x).to_vector<float>() == (std::vector<float>{10, 10}));
  }
  const auto traced = trace(
      [&](const Tensor& t) {
        GradientTape tape;
        tape.watch(t);
        return tape.gradient(sum(f(t)), t);
      },
      {TensorSpec(kFloat32, {-1})});
  BOOST_TEST(traced(x).to_vector<float>() == (std::vector<float>{10, 10}));
  const NodeOutput at = graph.output("x"), y = graph.output("y");
  const NodeOutput dx = gradients(graph, {&y, 1}, {&at, 1})[0];
  Session session(graph);
  BOOST_TEST(session.run(graph.output_name(dx), {{"x", x}}).to_vector<float>() == (std::vector<float>{10, 10}));
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_said_once) {
  const auto read = [](const std::string& text) { return [text] { Session(parse_graph(text)).run("y"); }; };
  expect_error_begins(
      read(kOneNode + node("y", "PartitionedCall", {"one"}, call_attrs("nobody"))),
      "Unimplemented: expected a function of the file, got 'nobody', which it does not have [attribute f] "
      "[node 'y']");
  const std::string next =
      function("next", kIntToInt, kOne + inner("sum", "AddV2", {"n", "one:output:0"}, kIntT), "sum:z:0");
  expect_error_begins(
      read(kOneNode +
           node("y", "PartitionedCall", {"one", "one"},
                types_attr("Tin", kInt + kInt) + types_attr("Tout", kInt) + function_attr("f", "next")) +
           library(next)),
      "InvalidArgument: inputs of function 'next': expected 1, got 2");
  expect_error_begins(read(library(function("next", kIntToInt, kOne, "two:output:0")) + kOneNode +
                           node("y", "PartitionedCall", {"one"}, call_attrs("next"))),
                      "InvalidArgument: input: expected an argument or a node of the function, got 'two:output:0'");
  expect_error_begins(read(library(function("next", kIntToInt, kOne, "one:value:0")) + kOneNode +
                           node("y", "PartitionedCall", {"one"}, call_attrs("next"))),
                      "InvalidArgument: input: expected an output of Const, got 'value'");
  expect_error_begins(read(library(next + next)),
                      "InvalidArgument: function library: expected each name once, got 'next' twice");
}

// A branch that cannot run does no harm until it is taken.
BOOST_AUTO_TEST_CASE(an_unknown_op_in_a_branch) {
  const std::string text = argument("n", "DT_INT32") + argument("p", "DT_BOOL") +
                           node("y", "StatelessIf", {"p", "n"}, if_attrs("known", "odd")) +
                           library(function("known", kIntToInt, kOne, "one:output:0") +
                                   function("odd", kIntToInt,
                                            inner("strange", "NobodyKnowsThis", {"n"}, "") +
                                                inner("same", "Identity", {"strange:out:0"}, kIntT),
                                            "same:output:0"));
  const Graph g = parse_graph(text);
  for (const Graph& graph : {g, parse_graph(to_graph_def(g))}) {
    Session session(graph);
    expect_near(session.run("y", {{"n", tensor(3)}, {"p", tensor(true)}}), 1);
    expect_error_begins([&] { session.run("y", {{"n", tensor(3)}, {"p", tensor(false)}}); },
                        "Unimplemented: op: expected one that this build has, got 'NobodyKnowsThis'");
  }
}

BOOST_AUTO_TEST_CASE(traced_control_flow_in_files) {
  const auto f = trace(
      [](const Tensor& x, const Tensor& n) {
        auto [i, y] = while_loop([&](const Tensor& i, const Tensor&) { return i < n; },
                                 [&](const Tensor& i, const Tensor& y) { return std::tuple(i + 1, y * x); },
                                 std::tuple(tensor(0), x));
        return cond(n > 2, [&, y = y] { return y + 1.F; }, [&, y = y] { return y; });
      },
      {TensorSpec(kFloat32, {-1}, "x"), TensorSpec(kInt32, {}, "n")});
  const Tensor x = tensor({2.F, 3.F});
  const Function g = function_of(parse_graph(to_graph_def_text(f.frozen_graph())));
  expect_near(g(x, tensor(3)), {2}, {17, 82});
  expect_near(g(x, tensor(1)), {2}, {4, 9});
  const Function h = function_of(parse_graph(to_graph_def(g.frozen_graph())));
  expect_near(h(x, tensor(3)), {2}, {17, 82});
  BOOST_TEST(to_graph_def_text(g.frozen_graph()) == to_graph_def_text(h.frozen_graph()));
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
