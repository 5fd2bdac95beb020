// Which graphs with loops and conditionals are refused and how their errors are told; that others are written, read,
// optimized and called as functions.
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstdlib>
#include <future>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "panto/lib/core/step/step.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/runtime/optimizer.h"
#include "panto/lib/runtime/session.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/graph/text_graph.h"
#include "panto/tests/runtime/loops.h"
#include "panto/trace/graph_gradients.h"

namespace panto::test {
namespace {

BOOST_AUTO_TEST_SUITE(dataflow)

// ---- What may not be ------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(what_is_in_a_loop_is_neither_fed_nor_fetched) {
  Session session(text_graph(counting_loop(10)), as_written());
  const Feeds feeds{{"limit", 10.f}};
  expect_error([&] { session.run("new_i", feeds); },
               "InvalidArgument: fetch 'new_i': expected one outside of loops, got one in loop 'loop'");
  expect_error([&] { session.run(Fetches{"^new_i"}, feeds); },
               "InvalidArgument: target 'new_i': expected one outside of loops, got one in loop 'loop'");
  expect_error([&] { session.run("i_out", {{"limit", 10.f}, {"new_i", 1.f}}); },
               "InvalidArgument: feed 'new_i': expected one outside of loops, got one in loop 'loop'");
  expect_error([&] { session.run("i_out", {{"limit", 10.f}, {"i_enter", 1.f}}); },
               "InvalidArgument: feed 'i_enter': expected one outside of loops, got one in loop 'loop'");
  BOOST_TEST(number(session, "x_out", {{"limit", 10.f}, {"zero", 8.f}}) == 8 + 8 + 9);  // before the loop
  BOOST_TEST(number(session, "y", {{"limit", 10.f}, {"i_out", 1.f}}) == 46);            // behind it
}

BOOST_AUTO_TEST_CASE(bad_loops_are_named) {
  const auto refused = [](const std::string& lines, const std::string& text) {
    BOOST_TEST_CONTEXT(lines) {
      expect_error([&] { Session session(text_graph("x = Placeholder(; dtype=float32, shape=[])\n" + lines)); },
                   "InvalidArgument: " + text);
    }
  };
  refused("a = Enter(x; frame_name=\"f\")\n y = AddV2(a, x)",
          "inputs: expected all in one loop, got 'a' in loop 'f' and 'x' in no loop [node 'y']");
  refused("a = Enter(x; frame_name=\"f\")\n b = Enter(x; frame_name=\"g\")\n y = Neg(a, ^b)",
          "inputs: expected all in one loop, got 'a' in loop 'f' and 'b' in loop 'g' [node 'y']");
  refused("y = Enter(x; frame_name=\"\")", "frame_name: expected a name, got none [node 'y']");
  refused("y = Enter(x; frame_name=\"f\", parallel_iterations=0)",
          "parallel_iterations: expected at least 1, got 0 [node 'y']");
  refused("y = NextIteration(x)", "NextIteration: expected it in a loop, got it in none [node 'y']");
  refused("y = Exit(x)", "Exit: expected it in a loop, got it in none [node 'y']");
  refused("a = Enter(x; frame_name=\"f\")\n y = Enter(a; frame_name=\"f\")",
          "frame_name: expected loop 'f' to be entered from no loop only, got an Enter from loop 'f' [node 'y']");
  refused("a = Enter(x; frame_name=\"f\")\n n = NextIteration(a)\n y = Merge(x, n)",
          "input 1: expected 'n' in no loop, got it in loop 'f' [node 'y']");
  refused("t = Const(; value=bool{true})\n a = Enter(t; frame_name=\"f\")\n b = LoopCond(a)\n c = LoopCond(a)",
          "loop 'f': expected one condition, got 'b' and 'c'");
  // Nothing comes out of it, and nobody asks.
  Session without_exit(
      text_graph("x = Placeholder(; dtype=float32, shape=[])\n a = Enter(x; frame_name=\"f\")\n"
                 "m = Merge(a, n)\n n = NextIteration(m)\n y = Neg(x)"));
  BOOST_TEST(number(without_exit, "y", {{"x", 2.f}}) == -2);
}

// No TensorFlow program writes it, a file may.
BOOST_AUTO_TEST_CASE(what_is_behind_a_loop_runs_once) {
  std::string lines = counting_loop(10);
  lines.replace(lines.find("Exit(i_s)"), 9, "Exit(i)");
  Session session(text_graph(lines), as_written());
  expect_error([&] { session.run("y", {{"limit", 3.f}}); },
               "InvalidArgument: Exit: expected one value that is not dead, got another [node 'i_out'] [loop 'loop', "
               "iteration 1]");
  BOOST_TEST(number(session, "x_out", {{"limit", 3.f}}) == 3);
  BOOST_TEST(number(session, "y", {{"limit", 0.f}}) == 0);
}

BOOST_AUTO_TEST_CASE(an_error_names_loop_and_round) {
  Session session(text_graph(R"(
    x = Const(; value=float32[5]{1, 2, 3, 4, 5})
    zero = Const(; value=int32{0})
    i_enter = Enter(zero; frame_name="loop/context")
    x_in = Enter(x; frame_name="loop/context", is_constant=true)
    i = Merge(i_enter, i_next)
    size = Const(^i; value=int32{7})
    less = Less(i, size)
    go = LoopCond(less)
    i_s = Switch(i, go)
    pivot = Identity(i_s:1)
    two = Const(^pivot; value=int32{2})
    axis = Const(^pivot; value=int32{0})
    at = Mul(i_s:1, two)
    element = GatherV2(x_in, at, axis)
    one = Const(^element; value=int32{1})
    next = AddV2(i_s:1, one)
    i_next = NextIteration(next)
    i_out = Exit(i_s)
  )"),
                  as_written());
  const std::string text = error_text([&] { session.run("i_out"); });
  BOOST_TEST(text.find("[node 'element'] [loop 'loop/context', iteration 3]") != std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(an_endless_loop_is_stopped) {
  Session session(text_graph(counting_loop(10)), as_written());
  const Feeds feeds{{"limit", std::numeric_limits<float>::infinity()}};
  Step step;
  step.deadline = Step::deadline_in(0.05);
  {
    const StepScope scope(step);
    expect_error_begins([&] { session.run("i_out", feeds); }, "DeadlineExceeded: ");
  }
  step.deadline = Step::kNoDeadline;
  step.cancellation = std::make_shared<Cancellation>();
  std::future<std::string> running = std::async(std::launch::async, [&] {
    const StepScope scope(step);
    return error_text([&] { session.run("i_out", feeds); });
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  step.cancellation->request();
  BOOST_TEST(running.get().starts_with("Cancelled: "));
  BOOST_TEST(number(session, "i_out", {{"limit", 3.f}}) == 3);
}

// Loops and branches whose edges lead anywhere: they are refused, or run, or end with an error or by the deadline.
BOOST_AUTO_TEST_CASE(rewired_graphs_do_no_harm) {
  const char* const asked = std::getenv("PANTO_REWIRINGS");
  const int variants = asked == nullptr ? 300 : std::atoi(asked);
  std::mt19937 random(20261125);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  const std::string graphs[] = {counting_loop(2), nested_loop(3), random_loop(2), kCond};
  int refused = 0, failed = 0, ran = 0;
  for (int i = 0; i < variants; ++i) {
    Graph graph = text_graph(graphs[below(std::size(graphs))]);
    const std::vector<int> ids = graph.ids();
    for (size_t edits = 1 + below(3); edits > 0; --edits) {
      const Node& node = graph.at(ids[below(ids.size())]);
      const int from = ids[below(ids.size())];
      if (node.num_inputs() == 0 || below(4) == 0) {
        graph.add_control_input(node.id(), from);
      } else if (const Node& source = graph.at(from); source.num_outputs() > 0) {
        const auto slot = static_cast<int>(below(static_cast<size_t>(node.num_inputs())));
        graph.set_input(node.id(), slot, {from, static_cast<int>(below(static_cast<size_t>(source.num_outputs())))});
      }
    }
    Step step = current_step();
    step.deadline = Step::deadline_in(0.02);
    const StepScope scope(step);
    BOOST_TEST_CONTEXT("variant " << i << ":\n" << graph.to_string()) {
      for (const char* passes : {"", "off"}) {
        try {
          Session session(graph, as_written(passes));
          Feeds feeds;
          Fetches fetches;
          for (const int id : ids) {
            const Node& node = graph.at(id);
            const bool decides = node.num_outputs() > 0 && node.output(0).dtype == kBool;
            if (node.is(OpKind::kPlaceholder))
              feeds.emplace_back(node.name(), decides ? tensor(i % 2 == 0) : tensor(3.f));
            if (node.is(OpKind::kExit) || node.name() == "y" || node.name() == "z") fetches.emplace_back(node.name());
          }
          if (graph.find("branch") != nullptr) feeds[1].second = tensor({3.f});
          session.run(fetches, feeds);
          ++ran;
        } catch (const Error& error) {
          BOOST_TEST((error.code() != Code::kInternal), error.what());
          ++(error.code() == Code::kInvalidArgument ? refused : failed);
        }
      }
    }
  }
  BOOST_TEST(ran > variants / 20);
  BOOST_TEST(refused > variants / 20);
  BOOST_TEST_MESSAGE("refused " << refused << ", failed " << failed << ", ran " << ran);
}

// ---- Composites, files, functions -----------------------------------------------------------------------------------

// The nodes of a body belong to the round and the branch that the composite is in.
BOOST_AUTO_TEST_CASE(bodies_are_in_the_loop) {
  const Graph graph = text_graph(R"(
    x0 = Placeholder(; dtype=float32, shape=[2])
    n = Const(; value=int32{4})
    zero = Const(; value=int32{0})
    i_enter = Enter(zero; frame_name="loop")
    x_enter = Enter(x0; frame_name="loop")
    n_in = Enter(n; frame_name="loop", is_constant=true)
    i = Merge(i_enter, i_next)
    x = Merge(x_enter, x_next)
    less = Less(i, n_in)
    go = LoopCond(less)
    i_s = Switch(i, go)
    x_s = Switch(x, go)
    pivot = Identity(i_s:1)
    one = Const(^pivot; value=int32{1})
    gelu = Gelu(x_s:1)
    new_i = AddV2(i_s:1, one)
    i_next = NextIteration(new_i)
    x_next = NextIteration(gelu)
    x_out = Exit(x_s)
  )");
  Tensor expected = tensor({1.f, -2.f});
  for (int i = 0; i < 4; ++i) expected = gelu(expected);
  for (const char* passes : {"", "off"}) {
    Session session(graph, as_written(passes));
    BOOST_TEST(session.run("x_out", {{"x0", tensor({1.f, -2.f})}}).to_vector<float>() == expected.to_vector<float>(),
               boost::test_tools::per_element());
  }
  // In a file it is the ops of its body.
  Session session(parse_graph(to_graph_def(graph)), as_written());
  BOOST_TEST(session.run("x_out", {{"x0", tensor({1.f, -2.f})}}).to_vector<float>() == expected.to_vector<float>(),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_loop_comes_back_from_a_file) {
  const Graph graph = text_graph(counting_loop(10));
  for (const Graph& read : {parse_graph(to_graph_def(graph)), parse_graph(to_graph_def_text(graph))}) {
    BOOST_TEST(read.to_string() == graph.to_string());
    Session session(read, as_written());
    BOOST_TEST(number(session, "x_out", {{"limit", 6.f}}) == 15);
  }
}

// A foreign graph's function gives what always is there, and nobody reads.
BOOST_AUTO_TEST_CASE(functions_have_loops) {
  const TestFolder folder;
  write_graph(text_graph(counting_loop(10)), folder / "loop.pb");
  const Function loop = load(folder / "loop.pb");
  BOOST_TEST(loop(tensor(7.f)).item<float>() == 28);
  // One that cannot be raised is called as a whole only.
  std::string lines = counting_loop(10);
  lines.replace(lines.find("Exit(i_s)"), 9, "Exit(i)");
  write_graph(text_graph(lines), folder / "odd.pb");
  const Function odd = load(folder / "odd.pb", {"limit"}, {"y"});
  BOOST_TEST(odd(tensor(0.f)).item<float>() == 0);
  const std::string error =
      "Unimplemented: graph: expected one without TensorFlow 1's loops and conditionals where it is ";
  const Tensor x = tensor(7.f);
  {
    GradientTape tape;
    tape.watch(x);
    expect_error_begins([&] { odd(x); }, error);
  }
  expect_error_begins([&] { vmap([&](const Tensor& t) { return odd(t); })(tensor({1.f, 2.f})); }, error);
  expect_error_begins([&] { trace([&](const Tensor& t) { return odd(t); }, {TensorSpec(kFloat32, {})}); }, error);

  write_graph(text_graph(kCond), folder / "cond.pb");
  const Function cond = load(folder / "cond.pb");
  const auto given = cond.call<2>(tensor(true), tensor({3.f}));
  BOOST_TEST(given[0].item<int32_t>() == 1);
  BOOST_TEST(given[1].to_vector<float>() == (std::vector<float>{12}));
}

BOOST_AUTO_TEST_CASE(a_graph_with_loops_is_optimized) {
  const Graph graph = text_graph(counting_loop(10));
  std::vector<PassRun> runs;
  const Graph after = optimize(graph, {}, {}, "", &runs);
  for (const PassRun& run : runs) BOOST_TEST(run.error == "");
  Session session(after, as_written());
  BOOST_TEST(number(session, "y", {{"limit", 5.f}}) == 15);
}

BOOST_AUTO_TEST_CASE(a_loop_is_no_sequence_of_calls) {
  std::string lines = counting_loop(10);
  lines.replace(lines.find("Exit(i_s)"), 9, "Exit(i)");
  Graph graph = text_graph(lines);
  const NodeOutput x = graph.output("limit"), y = graph.output("y");
  expect_error_begins([&] { gradients(graph, {&y, 1}, {&x, 1}); },
                      "Unimplemented: graph: expected one without TensorFlow 1's loops and conditionals where it is ");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
