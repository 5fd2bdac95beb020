// Reference variables as TensorFlow 1 runs them: what takes a reference changes the variable; what takes a value reads
// it when all that it waits for has run.
#include <boost/test/unit_test.hpp>

#include "panto/lib/graph/files/io.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/runtime/session.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/graph/graph_def_text.h"

namespace panto::test {
namespace {

std::string variable(const std::string& name, const std::string& shape = dims({2}),
                     const std::string& op = "VariableV2") {
  return node(name, op, {}, type_attr("dtype", "DT_FLOAT") + attr("shape", "shape { " + shape + " }"));
}
std::string pair(const std::string& name, float a, float b) {
  return constant(name, "DT_FLOAT", dims({2}), "float_val: " + std::to_string(a) + " float_val: " + std::to_string(b));
}
std::string scalar(const std::string& name, float a) {
  return constant(name, "DT_FLOAT", "", "float_val: " + std::to_string(a));
}

using Floats = std::vector<float>;
Floats run(Session& session, const GraphElement& fetch) { return session.run(fetch).to_vector<float>(); }

BOOST_AUTO_TEST_SUITE(references_suite)

BOOST_AUTO_TEST_CASE(values_are_kept_between_runs) {
  Session session(parse_graph(variable("w") + pair("one", 1, 2) + node("init", "Assign", {"w", "one"}, kFloatT) +
                              node("w/read", "Identity", {"w"}, kFloatT) +
                              node("more", "AssignAdd", {"w", "one"}, kFloatT) +
                              node("less", "AssignSub", {"w", "one"}, kFloatT) +
                              node("has", "IsVariableInitialized", {"w"}, type_attr("dtype", "DT_FLOAT"))));
  BOOST_TEST(error_text([&] { run(session, "w/read"); }).starts_with("FailedPrecondition: "));
  BOOST_TEST(!session.run("has").item<bool>());
  BOOST_TEST(run(session, "init") == (Floats{1, 2}));  // a reference is fetched as its value
  BOOST_TEST(session.run("has").item<bool>());
  BOOST_TEST(run(session, "w/read") == (Floats{1, 2}));
  BOOST_TEST(run(session, "more") == (Floats{2, 4}));
  BOOST_TEST(run(session, "w") == (Floats{2, 4}));
  session.run(Fetches{"^more"});
  BOOST_TEST(run(session, "less:0") == (Floats{2, 4}));
  BOOST_TEST(run(session, "w/read") == (Floats{2, 4}));
}

// What reads the output of an update sees it, through a chain of them, and through what waits for them.
BOOST_AUTO_TEST_CASE(an_updates_output_is_the_new_value) {
  const std::string start = variable("w") + pair("one", 1, 2) + node("init", "Assign", {"w", "one"}, kFloatT);
  Session session(parse_graph(start + node("more", "AssignAdd", {"init", "one"}, kFloatT) +
                              node("again", "AssignAdd", {"more", "one"}, kFloatT) +
                              node("y", "Neg", {"again"}, kFloatT) +
                              // Waits for all three, and then reads the variable itself.
                              node("z", "Neg", {"w", "^again"}, kFloatT) +
                              // The value of one input comes after the update: so does the read of the other.
                              node("u", "Sub", {"w", "y"}, kFloatT) +
                              // Both are read when both are there.
                              node("v", "Mul", {"init", "again"}, kFloatT)));
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(run(session, "y") == (Floats{-3, -6}));
    BOOST_TEST(run(session, "z") == (Floats{-3, -6}));
    BOOST_TEST(run(session, "u") == (Floats{6, 12}));
    BOOST_TEST(run(session, "v") == (Floats{9, 36}));
    for (const char* passes : {"", "off"}) {
      Session other(session.graph(), {.passes = passes});
      BOOST_TEST(run(other, "v") == (Floats{9, 36}));
    }
  }
}

BOOST_AUTO_TEST_CASE(optimizers) {
  const std::string start =
      variable("w") + variable("m") + pair("one", 1, 2) + pair("zero", 0, 0) + scalar("rate", 0.5f) +
      scalar("momentum", 0.25f) + node("w/Assign", "Assign", {"w", "one"}, kFloatT) +
      node("m/Assign", "Assign", {"m", "zero"}, kFloatT) + node("init", "NoOp", {"^w/Assign", "^m/Assign"}, "") +
      node("w/read", "Identity", {"w"}, kFloatT);
  // With the value as its gradient: w -= w / 2.
  Session descent(parse_graph(start + node("step", "ApplyGradientDescent", {"w", "rate", "w/read"}, kFloatT)));
  descent.run(Fetches{"^init"});
  BOOST_TEST(run(descent, "step") == (Floats{0.5, 1}));
  BOOST_TEST(run(descent, "step") == (Floats{0.25, 0.5}));
  // m = m / 4 + w; w -= m / 2.
  Session heavy(parse_graph(start + node("step", "ApplyMomentum", {"w", "m", "rate", "w/read", "momentum"}, kFloatT)));
  heavy.run(Fetches{"^init"});
  BOOST_TEST(run(heavy, "step") == (Floats{0.5, 1}));       // m = [1, 2]
  BOOST_TEST(run(heavy, "step") == (Floats{0.125, 0.25}));  // m = [0.75, 1.5]
  BOOST_TEST(run(heavy, "m") == (Floats{0.75, 1.5}));
  // Without regularization: w -= w / 2.
  const std::string none = scalar("none", 0.f);
  Session proximal(parse_graph(
      start + none + node("step", "ApplyProximalGradientDescent", {"w", "rate", "none", "none", "w/read"}, kFloatT)));
  proximal.run(Fetches{"^init"});
  BOOST_TEST(run(proximal, "step") == (Floats{0.5, 1}));
  const std::string rows =
      node("i", "Const", {},
           type_attr("dtype", "DT_INT32") +
               attr("value", "tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 1 }"));
  const std::string indexed = kFloatT + type_attr("Tindices", "DT_INT32");
  for (const auto& [op, expected] : std::vector<std::pair<const char*, float>>{
           {"ScatterAdd", 2.5f}, {"ScatterSub", 1.5f}, {"ScatterUpdate", 0.5f}}) {
    Session scatter(parse_graph(start + rows +
                                node("half", "Reshape", {"rate", "i"}, kFloatT + type_attr("Tshape", "DT_INT32")) +
                                node("step", op, {"w", "i", "half"}, indexed)));
    scatter.run(Fetches{"^init"});
    BOOST_TEST(run(scatter, "step") == (Floats{1, expected}));
  }
  Session row(parse_graph(
      start + rows + none + node("half", "Reshape", {"rate", "i"}, kFloatT + type_attr("Tshape", "DT_INT32")) +
      node("step", "SparseApplyProximalGradientDescent", {"w", "rate", "none", "none", "half", "i"}, indexed)));
  row.run(Fetches{"^init"});
  BOOST_TEST(run(row, "step") == (Floats{1, 1.75}));
}

std::string temporary(const std::string& name, const std::string& var_name) {
  return node(name, "TemporaryVariable", {},
              type_attr("dtype", "DT_FLOAT") + attr("shape", "shape { " + dims({2}) + " }") +
                  attr("var_name", "s: '" + var_name + "'"));
}
std::string destroy(const std::string& name, const std::string& ref, const std::string& var_name) {
  return node(name, "DestroyTemporaryVariable", {ref}, kFloatT + attr("var_name", "s: '" + var_name + "'"));
}

// A sum that a step makes for itself: the same in every run.
BOOST_AUTO_TEST_CASE(temporary_variables) {
  const std::string sum = temporary("t", "sum") + pair("zero", 0, 0) + placeholder("x", "DT_FLOAT", dims({2})) +
                          node("begin", "Assign", {"t", "zero"}, kFloatT) +
                          node("once", "AssignAdd", {"begin", "x"}, kFloatT) +
                          node("twice", "AssignAdd", {"once", "x"}, kFloatT);
  Session session(parse_graph(sum + destroy("y", "twice", "sum") + node("z", "Neg", {"y"}, kFloatT)));
  for (const float v : {1.f, 2.f, 1.f}) {
    const Tensor x = tensor({v, 10 * v});
    BOOST_TEST(session.run("z", {{"x", x}}).to_vector<float>() == (Floats{-2 * v, -20 * v}));
    BOOST_TEST(session.run("y", {{"x", x}}).to_vector<float>() == (Floats{2 * v, 20 * v}));
  }
  // What waits for all that changed it.
  Session waits(parse_graph(
      sum + node("y", "DestroyTemporaryVariable", {"t", "^twice"}, kFloatT + attr("var_name", "s: 'sum'"))));
  BOOST_TEST(waits.run("y", {{"x", tensor({1.f, 2.f})}}).to_vector<float>() == (Floats{2, 4}));
  // Without a name it has the node's.
  Session unnamed(parse_graph(temporary("t", "") + pair("one", 1, 2) + node("begin", "Assign", {"t", "one"}, kFloatT) +
                              destroy("y", "begin", "t")));
  BOOST_TEST(run(unnamed, "y") == (Floats{1, 2}));
  Session wrong(parse_graph(temporary("t", "sum") + pair("one", 1, 2) + node("begin", "Assign", {"t", "one"}, kFloatT) +
                            destroy("y", "begin", "other")));
  expect_error([&] { run(wrong, "y"); },
               "Unimplemented: var_name: expected 'sum', as the TemporaryVariable has it, got 'other' [node 'y']");
  Session lasting(parse_graph(variable("w") + pair("one", 1, 2) + node("begin", "Assign", {"w", "one"}, kFloatT) +
                              destroy("y", "begin", "w")));
  expect_error([&] { run(lasting, "y"); },
               "Unimplemented: ref: expected a reference to a TemporaryVariable, got none [node 'y']");
}

BOOST_AUTO_TEST_CASE(one_of_several_references) {
  const auto graph = [](const std::string& index) {
    return variable("v") + variable("w") + pair("one", 1, 2) + pair("ten", 10, 20) + index +
           node("v/init", "Assign", {"v", "one"}, kFloatT) + node("w/init", "Assign", {"w", "ten"}, kFloatT) +
           node("chosen", "RefSelect", {"i", "v", "w", "^w/init"}, kFloatT + attr("N", "i: 2")) +
           node("more", "AssignAdd", {"chosen", "one"}, kFloatT);
  };
  Session session(parse_graph(graph(constant("i", "DT_INT32", "", "int_val: 1"))));
  session.run(Fetches{"^v/init"});
  BOOST_TEST(run(session, "more") == (Floats{11, 22}));  // after w/init
  BOOST_TEST(run(session, "more") == (Floats{11, 22}));
  BOOST_TEST(run(session, "w") == (Floats{11, 22}));
  BOOST_TEST(run(session, "v") == (Floats{1, 2}));
  BOOST_TEST(run(session, "chosen") == (Floats{10, 20}));
  Session outside(parse_graph(graph(constant("i", "DT_INT32", "", "int_val: 2"))));
  expect_error([&] { run(outside, "chosen"); }, "Unimplemented: index: expected one in [0, 2), got 2 [node 'chosen']");
  Session unknown(parse_graph(graph(placeholder("i", "DT_INT32", ""))));
  expect_error_begins([&] { run(unknown, "chosen"); }, "Unimplemented: index: expected a constant scalar, got one ");
}

BOOST_AUTO_TEST_CASE(a_variable_counts) {
  const std::string type = type_attr("T", "DT_INT64");
  Session session(parse_graph(
      node("n", "VariableV2", {}, type_attr("dtype", "DT_INT64") + attr("shape", "shape { }")) +
      node("zero", "Const", {},
           type_attr("dtype", "DT_INT64") + attr("value", "tensor { dtype: DT_INT64 tensor_shape { } int64_val: 0 }")) +
      node("init", "Assign", {"n", "zero"}, type) + node("next", "CountUpTo", {"n"}, type + attr("limit", "i: 2"))));
  session.run("init");
  BOOST_TEST(session.run("next").item<int64_t>() == 0);
  BOOST_TEST(session.run("next").item<int64_t>() == 1);
  expect_error_begins([&] { session.run("next"); }, "OutOfRange: limit: expected a count below 2, got 2 ");
  BOOST_TEST(session.run("n").item<int64_t>() == 2);
}

// A variable is the one that its name says: shared_name, or the node's.
BOOST_AUTO_TEST_CASE(names_are_the_variables) {
  const std::string handle = node("h", "VarHandleOp", {},
                                  type_attr("dtype", "DT_FLOAT") + attr("shape", "shape { " + dims({2}) + " }") +
                                      attr("shared_name", "s: 'w'")) +
                             node("h/read", "ReadVariableOp", {"h"}, type_attr("dtype", "DT_FLOAT"));
  Session session(parse_graph(variable("w") + handle + pair("one", 1, 2) +
                              node("init", "Assign", {"w", "one"}, kFloatT) +
                              // Names that what is made would have had are the file's.
                              node("w/handle", "NoOp", {}, "") + node("init/AssignVariableOp", "NoOp", {}, "") +
                              node("y", "Neg", {"w"}, kFloatT) + node("y/w/read", "NoOp", {}, "")));
  session.run(Fetches{"^init"});
  BOOST_TEST(run(session, "h/read") == (Floats{1, 2}));
  BOOST_TEST(run(session, "y") == (Floats{-1, -2}));
}

BOOST_AUTO_TEST_CASE(old_forms) {
  // `Variable` of a scalar shape: the shape is not known.
  Session session(parse_graph(variable("w", "", "Variable") + pair("one", 1, 2) +
                              node("init", "Assign", {"w", "one"}, kFloatT + attr("validate_shape", "b: false"))));
  BOOST_TEST(run(session, "init") == (Floats{1, 2}));
  // A variable keeps its declared shape.
  const std::string wide = variable("w", dims({3})) + pair("one", 1, 2);
  Session other(parse_graph(wide + node("init", "Assign", {"w", "one"}, kFloatT + attr("validate_shape", "b: false"))));
  expect_error([&] { run(other, "init"); },
               "Unimplemented: value: expected the variable's shape [3], got [2] [node 'init']");
  expect_error([&] { parse_graph(wide + node("init", "Assign", {"w", "one"}, kFloatT)); },
               "InvalidArgument: value: expected the variable's shape [3], got [2] [in AssignVariableOp(resource: "
               "resource[], value: "
               "float32[2]; validate_shape=true)] [node 'init']");
}

// What changes variables in a way that is not here, and what is no reference, fails when it is reached.
BOOST_AUTO_TEST_CASE(the_rest_fails_when_it_is_reached) {
  Session session(parse_graph(variable("w") + pair("one", 1, 2) + node("init", "Assign", {"w", "one"}, kFloatT) +
                              node("to", "ApplyUnheardOf", {"w"}, kFloatT) +
                              node("bad", "AssignAdd", {"one", "one"}, kFloatT)));
  BOOST_TEST(run(session, "init") == (Floats{1, 2}));
  expect_error([&] { session.run(Fetches{"^to"}); },
               "Unimplemented: op: expected one that this build has, got 'ApplyUnheardOf' [node 'to']");
  expect_error([&] { session.run(Fetches{"^bad"}); },
               "Unimplemented: input 0: expected a reference to a variable, got 'one' [node 'bad']");
  for (const char* op : {"Assign", "AssignAdd", "ApplyMomentum"}) {
    expect_error_begins([&] { parse_graph(variable("w") + node("a", op, {"w"}, kFloatT)); },
                        "InvalidArgument: inputs: expected ");
    expect_error_begins([&] { parse_graph(node("a", op, {}, kFloatT)); }, "InvalidArgument: inputs: expected ");
  }
  expect_error_begins([&] { parse_graph(node("a", "IsVariableInitialized")); },
                      "InvalidArgument: inputs: expected 1, got 0");
}

// What is written is a graph of resource variables that means the same.
BOOST_AUTO_TEST_CASE(they_are_written_as_resources) {
  const Graph g = parse_graph(variable("w") + pair("one", 1, 2) + node("init", "Assign", {"w", "one"}, kFloatT) +
                              node("more", "AssignAdd", {"init", "one"}, kFloatT));
  Session session(parse_graph(to_graph_def(g)));
  BOOST_TEST(run(session, "more") == (Floats{2, 4}));
  BOOST_TEST(run(session, "w") == (Floats{2, 4}));
  BOOST_TEST(to_graph_def(session.graph()) == to_graph_def(g));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
