// ToBool, and ops of TensorFlow 1's loops and conditionals: what they say when they are called by themselves, what they
// say of shapes, and that graphs with them come back from files. What they do, tests/runtime/dataflow/dataflow_test.cc
// asks.
#include <boost/test/unit_test.hpp>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/graph/text_graph.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/saved.h"
#include "panto/tests/ops/table.h"
#include "panto/tests/runtime/loops.h"

namespace panto::test::control_rows {
namespace {

const std::string kOutside = ": expected a node of a graph that runs, got a call of its own [in ";

template <class Call>
void refused(const char* op, Call call) {
  expect_error_begins(call, "FailedPrecondition: " + (op + kOutside) + op + "(");
}

void switch_alone() {
  refused("Switch", [] { switch_op(tensor(1.f), tensor(true)); });
}
void merge_alone() {
  refused("Merge", [] { merge_op({tensor(1.f), tensor(2.f)}); });
}
void enter_alone() {
  refused("Enter", [] { enter_op(tensor(1.f), "loop"); });
}
void exit_alone() {
  refused("Exit", [] { exit_op(tensor(1.f)); });
}
void next_alone() {
  refused("NextIteration", [] { next_iteration(tensor(1.f)); });
}
void condition_alone() {
  refused("LoopCond", [] { loop_cond(tensor(true)); });
}

void shapes_of_switch_and_merge() {
  Graph graph;
  {
    const GraphScope scope(graph);
    const auto [no, yes] = switch_op(placeholder(kFloat32, {2, 3}, "x"), placeholder(kBool, {}, "p"));
    named("same", merge_op({no, yes}).output);
    named("one dimension", merge_op({no, placeholder(kFloat32, {2, 4}, "y")}).output);
    named("nothing", merge_op({no, placeholder(kFloat32, {2}, "z")}).output);
    expect_error_begins([&] { switch_op(no, placeholder(kBool, {2}, "q")); },
                        "InvalidArgument: pred: expected a scalar, got shape [2]");
  }
  BOOST_TEST(graph.info(graph.output("same")).shape == (PartialShape{2, 3}));
  BOOST_TEST(graph.info(graph.output("one_dimension")).shape == (PartialShape{2, -1}));
  BOOST_TEST(!graph.info(graph.output("nothing")).shape.known_rank());
}

// A conditional and a loop that were built op by op.
void conditional_saved() {
  const auto build = [] {
    const auto [no, yes] = switch_op(placeholder(kFloat32, {}, "x"), placeholder(kBool, {}, "p"));
    const auto merged = merge_op({neg(no), square(yes)});
    named("y", identity(merged.output));
    named("index", identity(merged.value_index));
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    BOOST_TEST(session.run("y", {{"x", 3.f}, {"p", tensor(true)}}).item<float>() == 9);
    BOOST_TEST(session.run("y", {{"x", 3.f}, {"p", tensor(false)}}).item<float>() == -3);
    BOOST_TEST(session.run("index", {{"x", 3.f}, {"p", tensor(true)}}).item<int32_t>() == 1);
  }
}

void loop_saved() {
  Graph graph;
  {
    const GraphScope scope(graph);
    const Tensor begin = enter_op(placeholder(kFloat32, {}, "x"), "loop");
    const Tensor x = named("round", merge_op({begin, begin}).output);
    const Tensor limit = enter_op(constant(tensor(100.f), kFloat32), "loop", {.is_constant = true});
    const auto [out, in] = switch_op(x, loop_cond(less(x, limit)));
    named("next", next_iteration(add(in, in)));
    named("y", exit_op(out));
  }
  graph.set_input(graph.at("round").id(), 1, graph.output("next"));
  for (const Graph& read : {parse_graph(to_graph_def(graph)), parse_graph(to_graph_def_text(graph))}) {
    Session session(read);
    BOOST_TEST(session.run("y", {{"x", 3.f}}).item<float>() == 192);
    BOOST_TEST(session.run("y", {{"x", 500.f}}).item<float>() == 500);
  }
}

void trigger_saved() {
  const auto build = [] {
    control_trigger();
    named("y", square(placeholder(kFloat32, {}, "x")));
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    session.run(Fetches{"^ControlTrigger"});
    BOOST_TEST(session.run("y", {{"x", 3.f}}).item<float>() == 9);
  }
  control_trigger();  // by itself it does nothing
}

void abort_saved() {
  for (const Graph& graph : saved_and_loaded([] { abort_op({.error_msg = "enough"}); })) {
    Session session(graph);
    expect_error_begins([&] { session.run(Fetches{"^Abort"}); },
                        "Aborted: abort: expected not to be reached, got there: enough [in Abort(");
  }
  expect_error_begins([] { abort_op({.exit_without_error = true}); },
                      "Aborted: abort: expected not to be reached, got there [in Abort(");
}

void truth_of_any_type() {
  const auto truth = [](const Tensor& t) { return to_bool(t).item<bool>(); };
  BOOST_TEST(truth(tensor("no")));
  BOOST_TEST(!truth(tensor("")));
  BOOST_TEST(truth(tensor({0.f})));  // it has an element
  BOOST_TEST(truth(tensor({"", ""})));
  BOOST_TEST(!truth(zeros({2, 0})));
  for (const DType t : {kBool, kUint16, kInt64, kFloat16, kBFloat16, kFloat64, kComplex64, kComplex128}) {
    BOOST_TEST(truth(cast(tensor(1), t)), dtype_name(t));
    BOOST_TEST(!truth(cast(tensor(0), t)), dtype_name(t));
  }
  BOOST_TEST(truth(sqrt(cast(tensor(-1), kComplex64))));
  expect_error_begins([] { to_bool(fifo_queue({kFloat32})); },
                      "InvalidArgument: condition: expected a bool, a number or a string, got resource");
}

void truth_saved() {
  for (const Graph& graph : saved_and_loaded([] { named("y", to_bool(placeholder(kFloat32, PartialShape(), "x"))); })) {
    Session session(graph);
    BOOST_TEST(session.run("y", {{"x", 3.f}}).item<bool>());
    BOOST_TEST(!session.run("y", {{"x", 0.f}}).item<bool>());
    BOOST_TEST(session.run("y", {{"x", tensor({0.f, 0.f})}}).item<bool>());
  }
}

const Family control(
    "control",
    {
        {"Switch",
         {.own = {{"alone", switch_alone}, {"shapes", shapes_of_switch_and_merge}, {"saved", conditional_saved}}}},
        {"Merge", {.own = {{"alone", merge_alone}, {"saved", conditional_saved}}}},
        {"Enter", {.own = {{"alone", enter_alone}, {"saved", loop_saved}}}},
        {"Exit", {.own = {{"alone", exit_alone}, {"saved", loop_saved}}}},
        {"NextIteration", {.own = {{"alone", next_alone}, {"saved", loop_saved}}}},
        {"LoopCond", {.own = {{"alone", condition_alone}, {"saved", loop_saved}}}},
        {"ControlTrigger", {.own = {{"saved", trigger_saved}}}},
        {"Abort", {.own = {{"saved", abort_saved}}}},
        {"ToBool", {.own = {{"types", truth_of_any_type}, {"saved", truth_saved}}}},
    });

}  // namespace
}  // namespace panto::test::control_rows
