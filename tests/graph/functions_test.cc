// Functions of files: read, called, written.
#include <string>

#include "panto/autograd/tape.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/graph/graph_function.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/trace/control/control_flow.h"
#include "panto/trace/function.h"
#include "panto/trace/graph_gradients.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(graph)
BOOST_AUTO_TEST_SUITE(functions)

// Text of a GraphDef, of which protobuf's own says everything at length.
std::string type_attr(const std::string& name, const std::string& type) {
  return "attr { key: \"" + name + "\" value { type: " + type + " } } ";
}
std::string types_attr(const std::string& name, const std::string& types) {
  return "attr { key: \"" + name + "\" value { list { " + types + " } } } ";
}
std::string function_attr(const std::string& name, const std::string& function, const std::string& attrs = "") {
  return "attr { key: \"" + name + "\" value { func { name: \"" + function + "\" " + attrs + "} } } ";
}
std::string node(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                 const std::string& attrs, const char* what = "node") {
  std::string text = std::string(what) + " { name: \"" + name + "\" op: \"" + op + "\" ";
  for (const std::string& in : inputs) text += "input: \"" + in + "\" ";
  return text + attrs + "}\n";
}
std::string inner(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                  const std::string& attrs) {
  return node(name, op, inputs, attrs, "node_def");
}
std::string one(const char* what = "node_def") {
  return node("one", "Const", {},
              type_attr("dtype", "DT_INT32") +
                  "attr { key: \"value\" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 1 } } } ",
              what);
}
std::string placeholder(const std::string& name, const std::string& type) {
  return node(name, "Placeholder", {},
              type_attr("dtype", type) + "attr { key: \"shape\" value { shape { unknown_rank: true } } } ");
}
std::string function(const std::string& name, const std::string& arguments, const std::string& body,
                     const std::string& result) {
  return "function { signature { name: \"" + name + "\" " + arguments + "} " + body + "ret { key: \"r\" value: \"" +
         result + "\" } }\n";
}
std::string library(const std::string& functions) { return "library { " + functions + "}\n"; }
const std::string kIntegers = "input_arg { name: \"n\" type: DT_INT32 } output_arg { name: \"r\" type: DT_INT32 } ";
const std::string kInt = "type: DT_INT32";
std::string call_attrs(const std::string& callee) {
  return types_attr("Tin", kInt) + types_attr("Tout", kInt) + function_attr("f", callee);
}

std::string factorial() {
  const std::string integer = type_attr("T", "DT_INT32");
  return placeholder("n", "DT_INT32") + node("y", "PartitionedCall", {"n"}, call_attrs("factorial")) +
         library(function("factorial", kIntegers,
                          one() + inner("less", "Less", {"n", "one:output:0"}, integer) +
                              inner("choice", "StatelessIf", {"less:z:0", "n"},
                                    type_attr("Tcond", "DT_BOOL") + types_attr("Tin", kInt) + types_attr("Tout", kInt) +
                                        function_attr("then_branch", "end") + function_attr("else_branch", "further")),
                          "choice:output:0") +
                 function("end", kIntegers, one(), "one:output:0") +
                 function("further", kIntegers,
                          one() + inner("less", "Sub", {"n", "one:output:0"}, integer) +
                              inner("rest", "PartitionedCall", {"less:z:0"}, call_attrs("factorial")) +
                              inner("product", "Mul", {"n", "rest:output:0"}, integer),
                          "product:z:0"));
}

BOOST_AUTO_TEST_CASE(a_function_that_calls_itself) {
  Session session(parse_graph(factorial()));
  for (const auto& [n, expected] : {std::pair(0, 1), std::pair(1, 1), std::pair(5, 120)}) {
    expect_near(session.run("y", {{"n", tensor(n)}}), expected);
  }
  expect_error_begins([&] { session.run("y", {{"n", tensor(100000)}}); },
                      "ResourceExhausted: functions: expected calls inside one another to a depth of at most 200, got");
  expect_near(session.run("y", {{"n", tensor(6)}}), 720);
  // Written, and read again.
  Session again(parse_graph(to_graph_def(parse_graph(factorial()))));
  expect_near(again.run("y", {{"n", tensor(7)}}), 5040);
}

BOOST_AUTO_TEST_CASE(a_function_of_several_types) {
  const std::string polymorphic =
      "library { function { signature { name: \"twice\" input_arg { name: \"x\" type_attr: \"T\" } "
      "output_arg { name: \"r\" type_attr: \"T\" } attr { name: \"T\" type: \"type\" } } " +
      inner("sum", "AddV2", {"x", "x"}, "attr { key: \"T\" value { placeholder: \"T\" } } ") +
      "ret { key: \"r\" value: \"sum:z:0\" } } }\n";
  const auto calls = [&](const std::string& type) {
    return types_attr("Tin", "type: " + type) + types_attr("Tout", "type: " + type) +
           function_attr("f", "twice", "attr { key: \"T\" value { type: " + type + " } } ");
  };
  const Graph g = parse_graph(placeholder("i", "DT_INT32") + placeholder("x", "DT_DOUBLE") +
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
      placeholder("n", "DT_INT32") + node("y", "next", {"n"}, "") +
      library(function("next", kIntegers,
                       one() + inner("sum", "AddV2", {"n", "one:output:0"}, type_attr("T", "DT_INT32")), "sum:z:0"))));
  expect_near(session.run("y", {{"n", tensor(3)}}), 4);
}

// y = x * x, of which a library says that the gradient is 10 dy: not what it is, so that one sees who made it.
std::string with_own_gradient(const std::string& nodes) {
  const std::string type = "type: DT_FLOAT", real = type_attr("T", "DT_FLOAT");
  const std::string one_x = "input_arg { name: \"x\" type: DT_FLOAT } ",
                    r = "output_arg { name: \"r\" type: DT_FLOAT } ";
  const std::string ten = inner("ten", "Const", {},
                                type_attr("dtype", "DT_FLOAT") +
                                    "attr { key: \"value\" value { tensor { dtype: DT_FLOAT tensor_shape { } "
                                    "float_val: 10 } } } ");
  return placeholder("x", "DT_FLOAT") + placeholder("dy", "DT_FLOAT") + nodes +
         library(function("square", one_x + r, inner("p", "Mul", {"x", "x"}, real), "p:z:0") +
                 function("ten_times", one_x + "input_arg { name: \"dy\" type: DT_FLOAT } " + r,
                          ten + inner("p", "Mul", {"dy", "ten:output:0"}, real), "p:z:0") +
                 "gradient { function_name: \"square\" gradient_func: \"ten_times\" } ");
}

BOOST_AUTO_TEST_CASE(symbolic_gradients) {
  const std::string attrs = types_attr("Tin", "type: DT_FLOAT type: DT_FLOAT") + types_attr("Tout", "type: DT_FLOAT");
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
  const std::string call =
      node("y", "PartitionedCall", {"x"},
           types_attr("Tin", "type: DT_FLOAT") + types_attr("Tout", "type: DT_FLOAT") + function_attr("f", "square"));
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
      read(one("node") + node("y", "PartitionedCall", {"one"}, call_attrs("nobody"))),
      "Unimplemented: expected a function of the file, got 'nobody', which it does not have [attribute f] "
      "[node 'y']");
  const std::string next = function(
      "next", kIntegers, one() + inner("sum", "AddV2", {"n", "one:output:0"}, type_attr("T", "DT_INT32")), "sum:z:0");
  expect_error_begins(
      read(one("node") +
           node("y", "PartitionedCall", {"one", "one"},
                types_attr("Tin", kInt + " " + kInt) + types_attr("Tout", kInt) + function_attr("f", "next")) +
           library(next)),
      "InvalidArgument: inputs of function 'next': expected 1, got 2");
  expect_error_begins(read(library(function("next", kIntegers, one(), "two:output:0")) + one("node") +
                           node("y", "PartitionedCall", {"one"}, call_attrs("next"))),
                      "InvalidArgument: input: expected an argument or a node of the function, got 'two:output:0'");
  expect_error_begins(read(library(function("next", kIntegers, one(), "one:value:0")) + one("node") +
                           node("y", "PartitionedCall", {"one"}, call_attrs("next"))),
                      "InvalidArgument: input: expected an output of Const, got 'value'");
  expect_error_begins(read(library(next + next)),
                      "InvalidArgument: function library: expected each name once, got 'next' twice");
}

// A branch that cannot run does no harm until it is taken.
BOOST_AUTO_TEST_CASE(an_unknown_op_in_a_branch) {
  const std::string text =
      placeholder("n", "DT_INT32") + placeholder("p", "DT_BOOL") +
      node("y", "StatelessIf", {"p", "n"},
           type_attr("Tcond", "DT_BOOL") + types_attr("Tin", kInt) + types_attr("Tout", kInt) +
               function_attr("then_branch", "known") + function_attr("else_branch", "odd")) +
      library(function("known", kIntegers, one(), "one:output:0") +
              function("odd", kIntegers,
                       inner("strange", "NobodyKnowsThis", {"n"}, "") +
                           inner("same", "Identity", {"strange:out:0"}, type_attr("T", "DT_INT32")),
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
}  // namespace panto
