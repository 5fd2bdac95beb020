// TensorFlow 1's loops and conditionals as While and If: which are raised, that the numbers are those of the dataflow
// executor.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "panto/lib/core/step/step.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/graph/flow/raise.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/runtime/session.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/graph/text_graph.h"
#include "panto/tests/near.h"
#include "panto/tests/runtime/loops.h"
#include "panto/tests/runtime/raised_graphs.h"
#include "panto/trace/graph_gradients.h"

namespace panto::test {
namespace {

BOOST_AUTO_TEST_SUITE(raise)

struct Count {
  int loops, conditionals;
  bool operator==(const Count&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Count& c) { return out << c.loops << " and " << c.conditionals; }

Count raised(Graph graph, const std::vector<int>& kept = {}) {
  const Raised r = raise_control_flow(graph, kept);
  if (r.loops + r.conditionals > 0) Session checks(graph);  // it is in order
  return {r.loops, r.conditionals};
}

// for (i = 0; i < n; ++i) x = i is even ? x * x : x + i;  y = x + x
BOOST_AUTO_TEST_CASE(what_is_raised) {
  BOOST_TEST(raised(text_graph(kCond)) == (Count{0, 1}));
  BOOST_TEST(raised(text_graph(counting_loop(10))) == (Count{1, 0}));
  BOOST_TEST(raised(text_graph(nested_loop(10))) == (Count{2, 0}));
  BOOST_TEST(raised(text_graph(random_loop(10))) == (Count{1, 0}));
  BOOST_TEST(raised(text_graph(kBranchesInLoop)) == (Count{1, 0}));  // the conditional is in the body
  BOOST_TEST(raised(text_graph(kLoopInBranch)) == (Count{1, 1}));
  BOOST_TEST(raised(text_graph(kNestedConditionals)) == (Count{0, 2}));
  for (const std::string& lines : {std::string(kCond), counting_loop(10), nested_loop(1), std::string(kBranchesInLoop),
                                   std::string(kLoopInBranch), std::string(kNestedConditionals)}) {
    Graph graph = text_graph(lines);
    raise_control_flow(graph, {});
    BOOST_TEST(!graph.has_control_flow(), graph.to_string());
    for (const auto& function : functions_of(graph)) {
      BOOST_TEST(!function->graph().has_control_flow(), function->to_string());
    }
  }
}

BOOST_AUTO_TEST_CASE(names_of_results_stay) {
  Graph graph = text_graph(counting_loop(10));
  const NodeOutput before = graph.output("x_out");
  const Raised r = raise_control_flow(graph, {});
  BOOST_TEST((r.find(graph, before) == graph.output("x_out")));
  BOOST_TEST(graph.at("x_out").has(Trait::kIdentity));
  BOOST_TEST((r.find(graph, graph.output("limit")) == graph.output("limit")));
  Graph again = text_graph(counting_loop(10));
  const NodeOutput inside = again.output("new_x");
  BOOST_TEST(!raise_control_flow(again, {}).find(again, inside).valid());
}

BOOST_AUTO_TEST_CASE(what_has_another_form_stays) {
  const auto with = [](std::string lines, const std::string& from, const std::string& to) {
    const size_t at = lines.find(from);
    BOOST_REQUIRE(at != std::string::npos);
    return lines.replace(at, from.size(), to);
  };
  const std::string loop = counting_loop(10);
  BOOST_TEST(raised(text_graph(with(loop, "Exit(i_s)", "Exit(i)"))) == (Count{0, 0}));
  BOOST_TEST(raised(text_graph(with(loop, "Exit(i_s)", "Exit(i_s:1)"))) == (Count{0, 0}));
  // Something reads what is inside.
  Graph kept = text_graph(loop);
  BOOST_TEST(raised(kept, {kept.at("new_x").id()}) == (Count{0, 0}));
  BOOST_TEST(raised(kept, {kept.at("x_out").id()}) == (Count{1, 0}));
  Graph cond = text_graph(kCond);
  BOOST_TEST(raised(cond, {cond.at("yes").id()}) == (Count{0, 0}));
  BOOST_TEST(raised(cond, {cond.at("y").id()}) == (Count{0, 1}));
  // A Merge of what may be there at once.
  BOOST_TEST(raised(text_graph(R"(
    p = Placeholder(; dtype=bool, shape=[])
    x = Placeholder(; dtype=float32, shape=[])
    s = Switch(x, p)
    a = Merge(s, x)
  )")) == (Count{0, 0}));
  // It waits for somebody.
  BOOST_TEST(raised(text_graph(R"(
    p = Placeholder(; dtype=bool, shape=[])
    queue = FIFOQueueV2(; component_types=[float32])
    s = Switch(queue, p)
    pivot = Switch(p, p)
    no = Identity(pivot)
    a = QueueDequeueV2(s:1; component_types=[float32])
    b = Const(^no; value=float32{3})
    y = Merge(b, a)
  )")) == (Count{0, 0}));
}

// The nodes that a branch waits for, and that wait for a branch.
BOOST_AUTO_TEST_CASE(control_edges_hold) {
  const Graph graph = text_graph(R"(
    p = Placeholder(; dtype=bool, shape=[])
    x = Placeholder(; dtype=float32, shape=[])
    v = VarHandleOp(; dtype=float32, shape=[], shared_name="v")
    first = AssignVariableOp(v, x)
    s = Switch(p, p, ^first)
    no = Identity(s)
    yes = Identity(s:1)
    v_s = Switch(v, p)
    two = Const(^yes; value=float32{2})
    three = Const(^no; value=float32{3})
    a = AssignAddVariableOp(v_s:1, two)
    b = AssignAddVariableOp(v_s, three)
    done_a = Identity(two, ^a)
    done_b = Identity(three, ^b)
    m = Merge(done_b, done_a)
    value = ReadVariableOp(v, ^m; dtype=float32)
  )");
  BOOST_TEST(raised(graph) == (Count{0, 1}));
  for (const bool raise : {true, false}) {
    Session session(graph, {.raise_control_flow = raise});
    BOOST_TEST(number(session, "value", {{"x", 10.f}, {"p", tensor(true)}}) == 12);
    BOOST_TEST(number(session, "value", {{"x", 20.f}, {"p", tensor(false)}}) == 23);
    const std::vector<Tensor> both = session.run({"m", "value"}, {{"x", 1.f}, {"p", tensor(true)}});
    BOOST_TEST(both[0].item<float>() == 2);
    BOOST_TEST(both[1].item<float>() == 3);
  }
}

// One conditional by the result of another one, both by one condition: as one they would wait for themselves.
BOOST_AUTO_TEST_CASE(conditionals_one_after_another) {
  const Graph graph = text_graph(R"(
    p = Placeholder(; dtype=bool, shape=[])
    x = Placeholder(; dtype=float32, shape=[])
    s = Switch(x, p)
    a = Neg(s)
    b = Square(s:1)
    m = Merge(a, b)
    t = Switch(m, p)
    c = Exp(t)
    d = Sqrt(t:1)
    y = Merge(c, d)
  )");
  BOOST_TEST(raised(graph) == (Count{0, 2}));
  for (const bool raise : {true, false}) {
    Session session(graph, {.raise_control_flow = raise});
    BOOST_TEST(number(session, "y", {{"x", 3.f}, {"p", tensor(true)}}) == 3);
    BOOST_TEST(number(session, "y", {{"x", 0.f}, {"p", tensor(false)}}) == 1);
  }
}

BOOST_AUTO_TEST_CASE(numbers_are_those_of_dataflow) {
  struct Case {
    std::string lines;
    Fetches fetches;
    std::vector<Feeds> feeds;
  };
  const Tensor x = tensor({0.5f, -1.5f, 2.f});
  const std::vector<Case> cases = {
      {kCond, {"y", "z", "index"}, {{{"x", x}, {"p", tensor(true)}}, {{"x", x}, {"p", tensor(false)}}}},
      {counting_loop(10), {"i_out", "x_out", "y"}, {{{"limit", 0.f}}, {{"limit", 1.f}}, {{"limit", 20.f}}}},
      {nested_loop(10), {"sum_out"}, {{{"n", 0.f}}, {{"n", 1.f}}, {{"n", 9.f}}}},
      {kBranchesInLoop, {"y", "x_out"}, {{{"x0", x}, {"n", 0.f}}, {{"x0", x}, {"n", 4.f}}, {{"x0", x}, {"n", 1.f}}}},
      {kLoopInBranch, {"y", "z"}, {{{"x0", x}, {"p", tensor(true)}}, {{"x0", x}, {"p", tensor(false)}}}},
      {kNestedConditionals,
       {"y", "z", "which"},
       {{{"x", x}, {"p", tensor(true)}, {"q", tensor(true)}},
        {{"x", x}, {"p", tensor(true)}, {"q", tensor(false)}},
        {{"x", x}, {"p", tensor(false)}, {"q", tensor(true)}}}},
  };
  for (const Case& c : cases) {
    BOOST_TEST_CONTEXT(c.lines) {
      const Graph graph = text_graph(c.lines);
      Session dataflow(graph, as_written());
      Session session(graph);
      for (const Feeds& feeds : c.feeds) {
        const std::vector<Tensor> expected = dataflow.run(c.fetches, feeds), got = session.run(c.fetches, feeds);
        for (size_t k = 0; k < got.size(); ++k) {
          BOOST_TEST(cast(got[k], kFloat64).to_vector<double>() == cast(expected[k], kFloat64).to_vector<double>(),
                     boost::test_tools::per_element());
        }
      }
      BOOST_TEST(session.optimized_graph().to_string().find("Merge(") == std::string::npos);
      BOOST_TEST(dataflow.optimized_graph().to_string().find("Merge(") != std::string::npos);
    }
  }
}

// Graphs whose edges lead anywhere: what is raised gives what the dataflow executor gives, or fails where that does.
BOOST_AUTO_TEST_CASE(rewired_graphs_give_the_same) {
  const char* const asked = std::getenv("PANTO_REWIRINGS");
  const int variants = asked == nullptr ? 400 : std::atoi(asked);
  std::mt19937 random(20261126);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const std::string graphs[] = {counting_loop(2),           nested_loop(3),
                                std::string(kCond),         std::string(kBranchesInLoop),
                                std::string(kLoopInBranch), std::string(kNestedConditionals)};
  int compared = 0;
  for (int i = 0; i < variants; ++i) {
    Graph graph = text_graph(graphs[below(std::size(graphs))]);
    const std::vector<int> ids = graph.ids();
    for (size_t edits = 1 + below(3); edits > 0; --edits) {
      const Node& node = graph.at(ids[below(ids.size())]);
      const Node& from = graph.at(ids[below(ids.size())]);
      if (node.num_inputs() == 0 || from.num_outputs() == 0 || below(4) == 0) {
        graph.add_control_input(node.id(), from.id());
      } else {
        graph.set_input(node.id(), static_cast<int>(below(static_cast<size_t>(node.num_inputs()))),
                        {from.id(), static_cast<int>(below(static_cast<size_t>(from.num_outputs())))});
      }
    }
    Feeds feeds;
    for (const int id : ids) {
      const Node& node = graph.at(id);
      if (!node.is(OpKind::kPlaceholder)) continue;
      const bool vector = node.output(0).shape.rank() == 1;
      feeds.emplace_back(node.name(), node.output(0).dtype == kBool ? tensor(i % 2 == 0)
                                      : vector                      ? tensor({0.5f, -1.f})
                                                                    : tensor(3.f));
    }
    Step step = current_step();
    step.deadline = Step::deadline_in(0.05);
    const StepScope scope(step);
    BOOST_TEST_CONTEXT("variant " << i << ":\n" << graph.to_string()) {
      try {
        Session dataflow(graph, as_written("off")), session(graph, {.passes = "cse"});
        Graph copy = graph;
        const Raised r = raise_control_flow(copy, {});
        if (r.loops + r.conditionals == 0) continue;
        for (const int id : ids) {
          const Node& node = graph.at(id);
          if (node.num_outputs() == 0 || !r.find(copy, {id, 0}).valid()) continue;
          Tensor expected;
          try {
            expected = dataflow.run(node.name(), feeds);
          } catch (const Error&) {
            continue;
          }
          Tensor got;
          try {
            got = session.run(node.name(), feeds);
          } catch (const Error& error) {
            BOOST_TEST((error.code() == Code::kDeadlineExceeded), node.name() << ": " << error.what());
            continue;
          }
          BOOST_TEST(cast(got, kFloat64).to_vector<double>() == cast(expected, kFloat64).to_vector<double>(),
                     node.name() << ": " << got.to_string() << ", " << expected.to_string());
          ++compared;
        }
      } catch (const Error& error) {
        const bool refused = error.code() == Code::kInvalidArgument || error.code() == Code::kDeadlineExceeded;
        BOOST_TEST(refused, error.what());
      }
    }
  }
  BOOST_TEST(compared > variants / 4);
}

// What nodes in a loop keep, they keep for all fetches of a session.
BOOST_AUTO_TEST_CASE(random_numbers_go_on) {
  const Graph graph = text_graph(random_loop(1) + "\n z = Neg(x_out)");
  Session dataflow(graph, as_written()), session(graph);
  for (const char* fetch : {"x_out", "z", "x_out", "z"}) {
    const float expected = number(dataflow, fetch, {{"n", 3.f}});
    BOOST_TEST(number(session, fetch, {{"n", 3.f}}) == expected);
  }
}

// A node that is added later may get the number that a While had where the graph was raised before: what one keeps is
// not the other's.
BOOST_AUTO_TEST_CASE(nodes_that_are_added_keep_states_of_their_own) {
  Graph graph = text_graph(random_loop(1) + "\n outside = Const(; value=int32[0]{})");
  Session session(graph);
  BOOST_TEST(number(session, "x_out", {{"n", 3.f}}) > 0);
  for (int i = 0; i < 8; ++i) {
    NodeSpec spec = graph.at("r").spec();
    spec.name = "later_" + std::to_string(i);
    spec.inputs = {graph.output("outside")};
    spec.outputs = {{kFloat32, PartialShape(Shape())}};
    spec.control_inputs.clear();
    graph.add(std::move(spec));
  }
  Session fresh(graph);
  for (int i = 0; i < 8; ++i) {
    const std::string name = "later_" + std::to_string(i);
    BOOST_TEST(number(session, name.c_str()) == number(fresh, name.c_str()));
  }
}

// The index of a Merge that somebody outside reads.
BOOST_AUTO_TEST_CASE(kept_merges_keep_their_index) {
  Graph graph = text_graph(kNestedConditionals);
  const NodeOutput index{graph.at("m").id(), 1};
  const std::vector<int> kept = {index.node};
  const Raised r = raise_control_flow(graph, kept);
  BOOST_TEST(r.conditionals > 0);
  BOOST_TEST(r.find(graph, index).valid());
}

BOOST_AUTO_TEST_CASE(errors_name_the_loop_and_the_round) {
  Session session(text_graph(R"(
    x = Const(; value=float32[5]{1, 2, 3, 4, 5})
    zero = Const(; value=int32{0})
    i_enter = Enter(zero; frame_name="loop/context")
    x_in = Enter(x; frame_name="loop/context", is_constant=true)
    i = Merge(i_enter, i_next)
    size = Const(^i; value=int32{7})
    less = Less(i, size)
    loop/LoopCond = LoopCond(less)
    i_s = Switch(i, loop/LoopCond)
    pivot = Identity(i_s:1)
    two = Const(^pivot; value=int32{2})
    axis = Const(^pivot; value=int32{0})
    at = Mul(i_s:1, two)
    element = GatherV2(x_in, at, axis)
    one = Const(^element; value=int32{1})
    next = AddV2(i_s:1, one)
    i_next = NextIteration(next)
    i_out = Exit(i_s)
  )"));
  const std::string text = error_text([&] { session.run("i_out"); });
  BOOST_TEST(text.find("[node 'element'] [loop 'loop', iteration 3]") != std::string::npos, text);
}

// A loop of constants without an end is no work for the optimizer: the run's deadline ends it.
BOOST_AUTO_TEST_CASE(endless_loops_of_constants_are_stopped) {
  Session session(text_graph(R"(
    zero = Const(; value=float32{0})
    x_enter = Enter(zero; frame_name="loop")
    x = Merge(x_enter, x_next)
    more = Less(x, limit_in)
    limit = Const(; value=float32{2})
    limit_in = Enter(limit; frame_name="loop", is_constant=true)
    go = LoopCond(more)
    x_s = Switch(x, go)
    same = Sin(x_s:1)
    x_next = NextIteration(same)
    y = Exit(x_s)
  )"));
  Step step;
  step.deadline = Step::deadline_in(0.05);
  const StepScope scope(step);
  expect_error_begins([&] { session.run("y"); }, "DeadlineExceeded: ");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
