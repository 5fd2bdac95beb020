// Files whose functions do not fit together: one clear error each, and nothing hangs.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "panto/lib/graph/files/io.h"
#include "panto/lib/runtime/session.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/graph/function_text.h"
#include "panto/tests/within_a_minute.h"

namespace panto::test {
namespace {

const std::string kN = placeholder("n", "DT_INT32", ""), kX = placeholder("x", "DT_FLOAT", "");
const std::string kTwoInts = kInt + kInt;

// A function of int32 n whose output is what `result` says.
std::string of_n(const std::string& name, const std::string& body, const std::string& result) {
  return function(name, kIntToInt, body, result);
}
std::string next() { return of_n("next", kOne + inner("sum", "AddV2", {"n", "one:output:0"}, kIntT), "sum:z:0"); }
std::string positive() {
  return function("positive", input_arg("n", kInt) + output_arg("r", "type: DT_BOOL"),
                  kOne + inner("less", "Less", {"one:output:0", "n"}, kIntT), "less:z:0");
}
// Two int32 into `outputs` of them.
std::string of_two(const std::string& name, const std::vector<std::string>& outputs) {
  std::string signature = input_arg("a", kInt) + input_arg("b", kInt), ret;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const std::string r = "r" + std::to_string(i);
    signature += output_arg(r, kInt);
    ret += "ret { key: '" + r + "' value: '" + outputs[i] + "' } ";
  }
  return "function { signature { name: '" + name + "' " + signature + "} " + ret + "}\n";
}
// To int32 and back, as float32 and back.
std::string cast_node(const std::string& name, const std::string& input, const std::string& from,
                      const std::string& to) {
  return inner(name, "Cast", {input}, type_attr("SrcT", from) + type_attr("DstT", to));
}

// With `name` for each #.
std::string with_name(std::string text, const std::string& name) {
  for (size_t at = text.find('#'); at != std::string::npos; at = text.find('#')) text.replace(at, 1, name);
  return text;
}

// Reading the file or running its node "y" ends with this error.
void refused(const std::string& nodes, const std::string& functions, const std::string& begins,
             const std::string& gradients = "") {
  const std::string text = nodes + library(functions + gradients);
  BOOST_TEST_CONTEXT(text) {
    within_a_minute([&] {
      expect_error_begins(
          [&] {
            Session session(parse_graph(text));
            session.run("y", nodes.starts_with(kN) ? Feeds{{"n", 3}} : Feeds{{"x", 3}});
          },
          begins);
    });
  }
}

BOOST_AUTO_TEST_SUITE(bad_functions)

BOOST_AUTO_TEST_CASE(calls_that_expect_other_outputs) {
  const auto call = [](const std::string& gives) {
    return kN + node("y", "PartitionedCall", {"n"},
                     types_attr("Tin", kInt) + types_attr("Tout", gives) + function_attr("f", "next"));
  };
  refused(call(kTwoInts), next(), "InvalidArgument: outputs of function 'next': expected (int32, int32), got (int32)");
  refused(call(kFloat), next(), "InvalidArgument: outputs of function 'next': expected (float32), got (int32)");
  refused(call(""), next(), "InvalidArgument: outputs of function 'next': expected (), got (int32)");
  refused(kN + constant("p", "DT_BOOL", "", "bool_val: true") +
              node("y", "StatelessIf", {"p", "n"}, if_attrs("next", "positive")),
          next() + positive(), "InvalidArgument: outputs of function 'positive': expected (int32), got (bool)");
}

BOOST_AUTO_TEST_CASE(loops_whose_functions_do_not_fit) {
  const auto loop = [](const std::string& condition, const std::string& body, const std::string& types = kInt) {
    const std::vector<std::string> inputs =
        types == kInt ? std::vector<std::string>{"n"} : std::vector<std::string>{"n", "n"};
    return kN + node("y", "StatelessWhile", inputs, while_attrs(condition, body, types));
  };
  refused(loop("positive", "positive"), positive(),
          "InvalidArgument: outputs of function 'positive': expected (int32), got (bool)");
  refused(loop("positive", "two"), positive() + of_two("two", {"a", "b"}),
          "InvalidArgument: outputs of function 'two': expected (int32), got (int32, int32)");
  refused(loop("positive", "two", kTwoInts), positive() + of_two("two", {"a", "b"}),
          "InvalidArgument: inputs of function 'positive': expected 1, got 2");
  refused(loop("two", "same", kTwoInts), of_two("two", {"a", "b"}) + of_two("same", {"b", "a"}),
          "InvalidArgument: outputs of the condition 'two': expected one, got 2");
  refused(loop("none", "same", kTwoInts), of_two("none", {}) + of_two("same", {"b", "a"}),
          "InvalidArgument: outputs of the condition 'none': expected one, got 0");
}

// Of a function that calls itself nobody knows the types while it is read.
BOOST_AUTO_TEST_CASE(recursive_calls_that_expect_other_types) {
  const std::string less = kOne + inner("less", "Less", {"n", "one:output:0"}, kIntT);
  const std::string is_float = function("half", input_arg("n", kInt) + output_arg("r", kFloat),
                                        cast_node("as", "n", "DT_INT32", "DT_FLOAT"), "as:y:0");
  const std::string call = kN + node("y", "PartitionedCall", {"n"}, call_attrs("f"));
  const auto choice = [&](const std::string& otherwise, const std::string& gives) {
    return inner("choice", "StatelessIf", {"less:z:0", "n"},
                 type_attr("Tcond", "DT_BOOL") + types_attr("Tin", kInt) + types_attr("Tout", gives) +
                     function_attr("then_branch", "half") + function_attr("else_branch", otherwise));
  };
  const std::string back = cast_node("back", "choice:output:0", "DT_FLOAT", "DT_INT32");
  refused(call, is_float + of_n("f", less + choice("f", kFloat) + back, "back:y:0"),
          "InvalidArgument: outputs of function 'f': expected (float32), got (int32)");
  // By a call in a branch.
  const std::string further =
      function("further", input_arg("n", kInt) + output_arg("r", kFloat),
               inner("call", "PartitionedCall", {"n"},
                     types_attr("Tin", kInt) + types_attr("Tout", kFloat) + function_attr("f", "f")),
               "call:output:0");
  refused(call, is_float + further + of_n("f", less + choice("further", kFloat) + back, "back:y:0"),
          "InvalidArgument: outputs of function 'f': expected (float32), got (int32)");
  // As the body and as the condition of a loop.
  const auto two = [&](const std::string& loop) {
    return "function { signature { name: 'f' " + input_arg("a", kInt) + input_arg("b", kInt) + output_arg("r", kInt) +
           "} " + loop + "ret { key: 'r' value: 'loop:output:0' } }\n";
  };
  const std::string call_two =
      kN + node("y", "PartitionedCall", {"n", "n"},
                types_attr("Tin", kTwoInts) + types_attr("Tout", kInt) + function_attr("f", "f"));
  const std::string both =
      function("both", input_arg("a", kInt) + input_arg("b", kInt) + output_arg("r", "type: DT_BOOL"),
               inner("less", "Less", {"a", "b"}, kIntT), "less:z:0");
  refused(call_two, both + two(inner("loop", "StatelessWhile", {"a", "b"}, while_attrs("both", "f", kTwoInts))),
          "InvalidArgument: outputs of function 'f': expected (int32, int32), got (int32)");
  const std::string three = types_attr("T", kInt + kTwoInts);
  refused(call_two,
          both + two(inner("loop", "StatelessWhile", {"a", "b", "a"},
                           three + function_attr("cond", "f") + function_attr("body", "both"))),
          "InvalidArgument: inputs of function 'both': expected 2, got 3");
}

BOOST_AUTO_TEST_CASE(functions_that_always_call_themselves) {
  const auto calls = [](const std::string& name, const std::vector<std::string>& callees) {
    std::string body;
    for (size_t i = 0; i < callees.size(); ++i) {
      body += inner("c" + std::to_string(i), "PartitionedCall",
                    {i == 0 ? "n" : "c" + std::to_string(i - 1) + ":output:0"}, call_attrs(callees[i]));
    }
    return of_n(name, body, "c" + std::to_string(callees.size() - 1) + ":output:0");
  };
  const std::string call = kN + node("y", "PartitionedCall", {"n"}, call_attrs("f"));
  const std::string endless = "InvalidArgument: function 'f': expected one that ends, got one that always calls itself";
  refused(call, calls("f", {"f"}), endless);
  refused(call, calls("f", {"f", "f"}), endless);
  refused(call, calls("f", {"g"}) + calls("g", {"h", "f"}) + calls("h", {"g"}), "InvalidArgument: function '");
  // Where gradients are asked for.
  Graph graph =
      parse_graph(kX + node("y", "PartitionedCall", {"x"}, call_attrs("f", kFloat)) +
                  library(function("f", kFloatToFloat, inner("c", "PartitionedCall", {"x"}, call_attrs("f", kFloat)),
                                   "c:output:0")));
  const NodeOutput x = graph.output("x"), y = graph.output("y");
  within_a_minute([&] { expect_error_begins([&] { gradients(graph, {&y, 1}, {&x, 1}); }, endless); });
}

// Few functions may be many nodes.
BOOST_AUTO_TEST_CASE(functions_that_double) {
  const std::string two_calls = inner("a", "PartitionedCall", {"n"}, call_attrs("#")) +
                                inner("b", "PartitionedCall", {"a:output:0"}, call_attrs("#"));
  std::string functions = of_n("f0", inner("y", "Neg", {"n"}, kIntT), "y:y:0");
  for (int i = 1; i <= 60; ++i) {
    functions += of_n("f" + std::to_string(i), with_name(two_calls, "f" + std::to_string(i - 1)), "b:output:0");
  }
  const auto calls = [&](int i) {
    return kN + node("y", "PartitionedCall", {"n"}, call_attrs("f" + std::to_string(i))) + library(functions);
  };
  ImportOptions few;
  few.max_nodes = 10000;
  within_a_minute([&] {
    expect_error_begins([&] { parse_graph(calls(60), few); },
                        "ResourceExhausted: functions: expected at most 10000 nodes in all, got more");
    Session session(parse_graph(calls(8), few));
    BOOST_TEST(session.run("y", {{"n", 3}}).item<int>() == 3);
  });
}

BOOST_AUTO_TEST_CASE(gradient_functions_that_do_not_fit) {
  const std::string gradient =
      kX + node("y", "SymbolicGradient", {"x", "x"},
                types_attr("Tin", kFloat + kFloat) + types_attr("Tout", kFloat) + function_attr("f", "square"));
  const std::string square = function("square", kFloatToFloat, inner("p", "Mul", {"x", "x"}, kFloatT), "p:z:0");
  const auto named = [](const std::string& name) {
    return "gradient { function_name: 'square' gradient_func: '" + name + "' } ";
  };
  const std::string two = input_arg("x", kFloat) + input_arg("dy", kFloat);
  refused(gradient, square, "Unimplemented: expected a function of the file, got 'nobody'", named("nobody"));
  refused(gradient, square, "InvalidArgument: inputs of function 'square': expected 1, got 2", named("square"));
  refused(gradient,
          square + function("g", two + output_arg("r", kInt), cast_node("r", "dy", "DT_FLOAT", "DT_INT32"), "r:y:0"),
          "InvalidArgument: outputs of the gradient function 'g': expected (float32), got (int32)", named("g"));
  refused(gradient,
          square + "function { signature { name: 'g' " + two + output_arg("r", kFloat) + output_arg("s", kFloat) +
              "} ret { key: 'r' value: 'x' } ret { key: 's' value: 'dy' } }\n",
          "InvalidArgument: outputs of the gradient function 'g': expected (float32), got (float32, float32)",
          named("g"));
  // A gradient that asks for itself.
  refused(gradient,
          square + function("g", two + output_arg("r", kFloat),
                            inner("again", "SymbolicGradient", {"x", "dy"},
                                  types_attr("Tin", kFloat + kFloat) + types_attr("Tout", kFloat) +
                                      function_attr("f", "square")),
                            "again:output:0"),
          "InvalidArgument: function 'square': expected one that ends, got one that always calls itself", named("g"));
  refused(kX + node("y", "SymbolicGradient", {"x"},
                    types_attr("Tin", kFloat) + types_attr("Tout", kFloat) + function_attr("f", "square")),
          square, "InvalidArgument: function 'square': expected 1 inputs and 1 gradients of outputs, got 1 and 0");
}

BOOST_AUTO_TEST_CASE(bodies_that_are_no_graphs) {
  const std::string call = kN + node("y", "PartitionedCall", {"n"}, call_attrs("f"));
  refused(call, of_n("f", kOne, "one:output:1"), "OutOfRange: output of node 'one': expected 0 to 0, got 1");
  refused(call, "function { signature { name: 'f' " + kIntToInt + "} }\n",
          "InvalidArgument: ret: expected where output 'r' comes from, got nothing");
  refused(call, of_n("f", inner("a", "Neg", {"b:y:0"}, kIntT) + inner("b", "Neg", {"a:y:0"}, kIntT), "b:y:0"),
          "InvalidArgument: ");
  refused(call, of_n("f", inner("n", "Neg", {"n"}, kIntT), "n"), "InvalidArgument: ");
  refused(call, of_n("f", inner("a", "Enter", {"n"}, kIntT + attr("frame_name", "s: 'loop'")), "a:output:0"),
          "Unimplemented: graph: expected one without TensorFlow 1's loops and conditionals");
}

BOOST_AUTO_TEST_CASE(a_loop_that_never_ends_is_stopped) {
  const std::string text = kN + node("y", "StatelessWhile", {"n"}, while_attrs("positive", "same", kInt)) +
                           library(positive() + of_n("same", inner("i", "Identity", {"n"}, kIntT), "i:output:0"));
  within_a_minute([&] {
    for (const char* passes : {"", "off"}) {
      Session session(parse_graph(text), {.passes = passes});
      expect_error_begins([&] { session.run({"y"}, {{"n", 2}}, {.timeout = 0.05}); }, "DeadlineExceeded: ");
      BOOST_TEST(session.run("y", {{"n", 1}}).item<int>() == 1);
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
