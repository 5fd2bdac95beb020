// Graphs with TensorFlow 1's loops and conditionals, and with kernels that wait, as they run. What loops give is
// computed by plain C++ beside them; that TensorFlow gives the same, tests/interop says.
#include "panto/lib/runtime/dataflow/flow_plan.h"

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "panto/lib/core/step/rendezvous.h"
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

float number(Session& session, const char* fetch, const Feeds& feeds = {}) {
  return session.run(fetch, feeds).item<float>();
}

BOOST_AUTO_TEST_SUITE(dataflow)

// ---- Conditionals ---------------------------------------------------------------------------------------------------

const char* const kCond = R"(
  p = Placeholder(; dtype=bool, shape=[])
  x = Placeholder(; dtype=float32, shape=[?])
  branch = Switch(x, p)
  no = Neg(branch)
  yes = Mul(branch:1, branch:1)
  y = Merge(no, yes)
  index = Identity(y:1)
  z = AddV2(y, x)
)";

BOOST_AUTO_TEST_CASE(a_conditional_takes_one_branch) {
  for (const char* passes : {"", "off"}) {
    Session session(text_graph(kCond), {.passes = passes});
    const Tensor x = tensor({1.f, 2.f, 3.f});
    BOOST_TEST(session.run("y", {{"x", x}, {"p", tensor(true)}}).to_vector<float>() == (std::vector<float>{1, 4, 9}));
    BOOST_TEST(session.run("y", {{"x", x}, {"p", tensor(false)}}).to_vector<float>() ==
               (std::vector<float>{-1, -2, -3}));
    BOOST_TEST(session.run("z", {{"x", x}, {"p", tensor(true)}}).to_vector<float>() == (std::vector<float>{2, 6, 12}));
    BOOST_TEST(session.run("index", {{"x", x}, {"p", tensor(true)}}).item<int32_t>() == 1);
    BOOST_TEST(session.run("index", {{"x", x}, {"p", tensor(false)}}).item<int32_t>() == 0);
    BOOST_TEST(session.run("yes", {{"x", x}, {"p", tensor(true)}}).to_vector<float>() == (std::vector<float>{1, 4, 9}));
    expect_error([&] { session.run("yes", {{"x", x}, {"p", tensor(false)}}); },
                 "InvalidArgument: fetch 'yes': expected a value, got none, as it is in a branch that was not taken");
    // An error leaves the session in order.
    BOOST_TEST(session.run("no", {{"x", x}, {"p", tensor(false)}}).to_vector<float>() ==
               (std::vector<float>{-1, -2, -3}));
  }
}

BOOST_AUTO_TEST_CASE(what_decides_is_a_scalar) {
  Session session(text_graph(R"(
    p = Placeholder(; dtype=bool, shape=?)
    x = Placeholder(; dtype=float32, shape=[])
    s = Switch(x, p)
    y = Merge(s, s:1)
  )"));
  expect_error_begins([&] { session.run("y", {{"x", 1.f}, {"p", tensor({true, true})}}); },
                      "InvalidArgument: pred: expected a scalar, got shape [2]");
}

// A branch that nothing in it leads to but a control edge, as constants are in TensorFlow's.
BOOST_AUTO_TEST_CASE(control_edges_carry_deadness) {
  const Graph graph = text_graph(R"(
    p = Placeholder(; dtype=bool, shape=[])
    s = Switch(p, p)
    f = Identity(s)
    t = Identity(s:1)
    a = Const(^f; value=float32{2})
    b = Const(^t; value=float32{3})
    y = Merge(a, b)
    after_a = NoOp(^a)
    dead_too = Const(^after_a; value=float32{5})
    always = ControlTrigger(^after_a, ^b)
    c = Const(^always; value=float32{7})
    either = Merge(dead_too, c)
  )");
  for (const char* passes : {"", "off"}) {
    Session session(graph, {.passes = passes});
    BOOST_TEST(number(session, "y", {{"p", tensor(true)}}) == 3);
    BOOST_TEST(number(session, "y", {{"p", tensor(false)}}) == 2);
    BOOST_TEST(number(session, "c", {{"p", tensor(true)}}) == 7);
    expect_error_begins([&] { session.run("dead_too", {{"p", tensor(true)}}); }, "InvalidArgument: fetch 'dead_too'");
    BOOST_TEST(number(session, "dead_too", {{"p", tensor(false)}}) == 5);
    BOOST_TEST(number(session, "either", {{"p", tensor(true)}}) == 7);
    session.run(Fetches{"^after_a"}, {{"p", tensor(true)}});  // to wait for what is dead is no error
  }
}

BOOST_AUTO_TEST_CASE(conditionals_in_conditionals) {
  const Graph graph = text_graph(R"(
    p = Placeholder(; dtype=bool, shape=[])
    q = Placeholder(; dtype=bool, shape=[])
    x = Placeholder(; dtype=float32, shape=[])
    outer = Switch(x, p)
    q_in = Switch(q, p)
    inner = Switch(outer:1, q_in:1)
    a = Square(inner)
    b = Exp(inner:1)
    m = Merge(a, b)
    y = Merge(outer, m)
    z = Neg(y)
  )");
  for (const char* passes : {"", "off"}) {
    Session session(graph, {.passes = passes});
    const auto run = [&](bool p, bool q) {
      return number(session, "z", {{"x", 3.f}, {"p", tensor(p)}, {"q", tensor(q)}});
    };
    BOOST_TEST(run(false, false) == -3);
    BOOST_TEST(run(false, true) == -3);
    BOOST_TEST(run(true, false) == -9);
    BOOST_TEST(run(true, true) == -std::exp(3.f));
  }
}

// A Merge of what is there before the run, and of more than two.
BOOST_AUTO_TEST_CASE(merges_of_anything) {
  Session session(text_graph(R"(
    p = Placeholder(; dtype=bool, shape=[])
    x = Placeholder(; dtype=float32, shape=[])
    one = Const(; value=float32{1})
    same = Identity(one)
    s = Switch(x, p)
    a = Merge(s, same)
    b = Merge(x)
    c = Merge(s:1, s, x)
  )"));
  for (const bool p : {true, false}) {
    const Feeds feeds{{"x", 5.f}, {"p", tensor(p)}};
    BOOST_TEST((number(session, "a", feeds) == 1 || number(session, "a", feeds) == 5));
    BOOST_TEST(number(session, "b", feeds) == 5);
    BOOST_TEST(number(session, "c", feeds) == 5);
  }
}

// Passes move nothing into a branch or out of it, and merge no branches.
BOOST_AUTO_TEST_CASE(passes_keep_branches_apart) {
  const Graph graph = text_graph(R"(
    p = Placeholder(; dtype=bool, shape=[])
    x = Placeholder(; dtype=float32, shape=[2])
    s = Switch(x, p)
    a = ZerosLike(s)
    b = ZerosLike(s:1)
    one = OnesLike(s:1)
    a1 = Exp(x)
    a2 = Exp(x)
    b2 = AddV2(b, one)
    same_s = Switch(x, p)
    c = Neg(same_s)
    d = Neg(s)
    first = Merge(a, b2)
    second = Merge(c, one)
    third = Merge(d, one)
    sum = AddN(first, second, third, a1, a2)
  )");
  std::vector<std::vector<float>> results;
  for (const char* passes : {"", "off"}) {
    Session session(graph, {.passes = passes});
    for (const bool p : {true, false}) {
      results.push_back(session.run("sum", {{"x", tensor({0.f, 0.5f})}, {"p", tensor(p)}}).to_vector<float>());
    }
    if (*passes == '\0') {
      const std::string text = session.optimized_graph().to_string();
      BOOST_TEST(text.find("a2") == std::string::npos);  // outside they do what they do
    }
  }
  BOOST_TEST(results[0] == results[2], boost::test_tools::per_element());
  BOOST_TEST(results[1] == results[3], boost::test_tools::per_element());
  BOOST_TEST(results[0][0] == 1 + 1 + 1 + 2);
}

// ---- Loops ----------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_loop_counts_to_ten) {
  for (const int parallel : {1, 2, 10}) {
    for (const char* passes : {"", "off"}) {
      Session session(text_graph(counting_loop(parallel)), {.passes = passes});
      for (int run = 0; run < 3; ++run) {
        BOOST_TEST(number(session, "i_out", {{"limit", 10.f}}) == 10);
        BOOST_TEST(number(session, "x_out", {{"limit", 10.f}}) == 45);
      }
      BOOST_TEST(number(session, "x_out", {{"limit", 0.f}}) == 0);
      BOOST_TEST(number(session, "y", {{"limit", 4.f}}) == 6 + 4);
      const std::vector<Tensor> both = session.run({"i_out", "x_out"}, {{"limit", 1000.f}});
      BOOST_TEST(both[0].item<float>() == 1000);
      BOOST_TEST(both[1].item<float>() == 499500);
    }
  }
}

// What is brought into every round is seen in all of them, though it comes late.
BOOST_AUTO_TEST_CASE(an_invariant_is_seen_in_all_rounds) {
  for (const int parallel : {1, 3}) {
    Session session(text_graph(counting_loop(parallel)));
    BOOST_TEST(session.run({"i_out"}, {{"limit", 17.f}})[0].item<float>() == 17);
  }
}

BOOST_AUTO_TEST_CASE(loops_in_loops) {
  for (const int parallel : {1, 10}) {
    Session session(text_graph(nested_loop(parallel)));
    for (const int n : {0, 1, 5, 12}) {
      float expected = 0;
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < i; ++j) expected += static_cast<float>(i * j + 1);
      }
      BOOST_TEST(number(session, "sum_out", {{"n", static_cast<float>(n)}}) == expected);
    }
  }
}

// A loop on a branch that was not taken does not run, and what comes out of it is dead.
BOOST_AUTO_TEST_CASE(loops_in_branches) {
  const Graph graph = text_graph(std::string(R"(
    p = Placeholder(; dtype=bool, shape=[])
    start = Placeholder(; dtype=float32, shape=[])
    s = Switch(start, p)
    other = Neg(s)
    x_enter = Enter(s:1; frame_name="loop")
    ten = Const(; value=float32{10})
    ten_s = Switch(ten, p)
    ten_in = Enter(ten_s:1; frame_name="loop", is_constant=true)
    x = Merge(x_enter, x_next)
    less = Less(x, ten_in)
    go = LoopCond(less)
    x_s = Switch(x, go)
    twice = AddV2(x_s:1, x_s:1)
    x_next = NextIteration(twice)
    x_out = Exit(x_s)
    waits = NoOp(^x_out)
    after = Const(^waits; value=float32{100})
    y = Merge(other, x_out)
    z = Merge(other, after)
  )"));
  for (const char* passes : {"", "off"}) {
    Session session(graph, {.passes = passes});
    BOOST_TEST(number(session, "y", {{"start", 3.f}, {"p", tensor(true)}}) == 12);
    BOOST_TEST(number(session, "y", {{"start", 3.f}, {"p", tensor(false)}}) == -3);
    BOOST_TEST(number(session, "z", {{"start", 3.f}, {"p", tensor(true)}}) == 100);
    BOOST_TEST(number(session, "z", {{"start", 3.f}, {"p", tensor(false)}}) == -3);
  }
}

// A conditional in every round.
BOOST_AUTO_TEST_CASE(branches_in_loops) {
  const Graph graph = text_graph(R"(
    n = Placeholder(; dtype=float32, shape=[])
    zero = Const(; value=float32{0})
    i_enter = Enter(zero; frame_name="loop", parallel_iterations=4)
    x_enter = Enter(zero; frame_name="loop", parallel_iterations=4)
    n_in = Enter(n; frame_name="loop", is_constant=true)
    i = Merge(i_enter, i_next)
    x = Merge(x_enter, x_next)
    less = Less(i, n_in)
    go = LoopCond(less)
    i_s = Switch(i, go)
    x_s = Switch(x, go)
    pivot = Identity(i_s:1)
    one = Const(^pivot; value=float32{1})
    two = Const(^pivot; value=float32{2})
    rest = FloorMod(i_s:1, two)
    even = Less(rest, one)
    x_even = Switch(x_s:1, even)
    i_even = Switch(i_s:1, even)
    added = AddV2(x_even:1, i_even:1)
    taken = Sub(x_even, i_even)
    new_x = Merge(taken, added)
    new_i = AddV2(i_s:1, one)
    i_next = NextIteration(new_i)
    x_next = NextIteration(new_x)
    x_out = Exit(x_s)
  )");
  for (const char* passes : {"", "off"}) {
    Session session(graph, {.passes = passes});
    for (const int n : {0, 1, 2, 7, 30}) {
      float expected = 0;
      for (int i = 0; i < n; ++i) expected += static_cast<float>(i % 2 == 0 ? i : -i);
      BOOST_TEST(number(session, "x_out", {{"n", static_cast<float>(n)}}) == expected);
    }
  }
}

// What a loop begins with says nothing of what it goes on with.
BOOST_AUTO_TEST_CASE(shapes_are_those_of_every_round) {
  const Graph graph = text_graph(R"(
    x0 = Placeholder(; dtype=float32, shape=[1])
    keep0 = Placeholder(; dtype=float32, shape=[2,3])
    n = Const(; value=int32{9})
    x_enter = Enter(x0; frame_name="loop")
    keep_enter = Enter(keep0; frame_name="loop")
    n_in = Enter(n; frame_name="loop", is_constant=true)
    x = Merge(x_enter, x_next)
    keep = Merge(keep_enter, keep_next)
    size = Size(x)
    less = Less(size, n_in)
    go = LoopCond(less)
    x_s = Switch(x, go)
    keep_s = Switch(keep, go)
    pivot = Identity(x_s:1)
    axis = Const(^pivot; value=int32{0})
    grown = ConcatV2(x_s:1, x_s:1, axis)
    negated = Neg(keep_s:1)
    x_next = NextIteration(grown)
    keep_next = NextIteration(negated)
    x_out = Exit(x_s)
    keep_out = Exit(keep_s)
    total = Sum(x_out, axis_0)
    axis_0 = Const(; value=int32[1]{0})
  )");
  BOOST_TEST(graph.info(graph.output("x")).shape == (PartialShape{-1}));
  BOOST_TEST(graph.info(graph.output("x_out")).shape == (PartialShape{-1}));
  BOOST_TEST(graph.info(graph.output("keep_out")).shape == (PartialShape{2, 3}));
  Session session(graph);
  const Feeds feeds{{"x0", tensor({2.f})}, {"keep0", ones({2, 3})}};
  BOOST_TEST(session.run("x_out", feeds).shape() == (Shape{16}));
  BOOST_TEST(number(session, "total", feeds) == 32);
  BOOST_TEST(session.run("keep_out", feeds).to_vector<float>()[0] == 1);
}

// What runs together in every round is one loop over elements there, and a product takes what follows it.
BOOST_AUTO_TEST_CASE(bodies_are_fused) {
  const Graph graph = text_graph(R"(
    p = Placeholder(; dtype=bool, shape=[])
    x0 = Placeholder(; dtype=float32, shape=[4,4])
    n = Const(; value=int32{5})
    zero = Const(; value=int32{0})
    i_enter = Enter(zero; frame_name="loop")
    x_enter = Enter(x0; frame_name="loop")
    y_enter = Enter(x0; frame_name="loop")
    n_in = Enter(n; frame_name="loop", is_constant=true)
    x_in = Enter(x0; frame_name="loop", is_constant=true)
    p_in = Enter(p; frame_name="loop", is_constant=true)
    i = Merge(i_enter, i_next)
    x = Merge(x_enter, x_next)
    y = Merge(y_enter, y_next)
    less = Less(i, n_in)
    go = LoopCond(less)
    i_s = Switch(i, go)
    x_s = Switch(x, go)
    y_s = Switch(y, go)
    pivot = Identity(i_s:1)
    one = Const(^pivot; value=int32{1})
    new_i = AddV2(i_s:1, one)
    product = MatMul(x_s:1, x_in)
    active = Tanh(product)
    a1 = Mul(active, y_s:1)
    a2 = AddV2(a1, x_in)
    a3 = Neg(a2)
    branch = Switch(a3, p_in)
    b1 = Exp(branch)
    b2 = Square(b1)
    c1 = Square(branch:1)
    c2 = Neg(c1)
    joined = Merge(b2, c2)
    d1 = Tanh(joined)
    d2 = Mul(d1, active)
    twice = Exp(y_s:1)
    same = Exp(y_s:1)
    e1 = AddV2(twice, same)
    e2 = Tanh(e1)
    i_next = NextIteration(new_i)
    x_next = NextIteration(d2)
    y_next = NextIteration(e2)
    x_out = Exit(x_s)
    y_out = Exit(y_s)
    sum = AddV2(x_out, y_out)
  )");
  const Tensor x0 = random_uniform({4, 4}, {.seed = 5, .min = -1, .max = 1});
  for (const bool p : {true, false}) {
    Tensor x = x0, y = x0;
    for (int i = 0; i < 5; ++i) {
      const Tensor active = tanh(matmul(x, x0));
      const Tensor a3 = neg(active * y + x0);
      x = tanh(p ? neg(square(a3)) : square(exp(a3))) * active;
      y = tanh(exp(y) + exp(y));
    }
    const std::vector<float> expected = (x + y).to_vector<float>();
    for (const char* passes : {"", "off", "cse", "fusion", "elementwise"}) {
      Session session(graph, {.passes = passes});
      BOOST_TEST(session.run("sum", {{"x0", x0}, {"p", tensor(p)}}).to_vector<float>() == expected,
                 boost::test_tools::per_element());
      if (*passes != '\0') continue;
      const std::string text = session.optimized_graph().to_string();
      const auto count = [&](const std::string& op) {
        int found = 0;
        for (size_t at = text.find(" = " + op + "("); at != std::string::npos;
             at = text.find(" = " + op + "(", at + 1)) {
          ++found;
        }
        return found;
      };
      BOOST_TEST(count("_FusedMatMul") == 1);
      BOOST_TEST(count("_FusedElementwise") == 5, text);
      BOOST_TEST(count("Tanh") == 0);
      BOOST_TEST(count("Exp") == 0);
    }
  }
}

// ---- What may not be ------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(what_is_in_a_loop_is_neither_fed_nor_fetched) {
  Session session(text_graph(counting_loop(10)));
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
  )"));
  const std::string text = error_text([&] { session.run("i_out"); });
  BOOST_TEST(text.find("[node 'element'] [loop 'loop/context', iteration 3]") != std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(an_endless_loop_is_stopped) {
  Session session(text_graph(counting_loop(10)));
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

// ---- Kernels that wait ----------------------------------------------------------------------------------------------

std::string receives(int count) {
  std::string text = "first = Const(; value=float32{0})\n";
  std::string sum = "y = AddN(first";
  for (int i = 0; i < count; ++i) {
    text += "r" + std::to_string(i) + " = _Recv(; tensor_type=float32, tensor_name=\"t" + std::to_string(i) +
            "\", send_device=\"/cpu:0\", send_device_incarnation=1, recv_device=\"/cpu:0\")\n";
    sum += ", r" + std::to_string(i);
  }
  return text + sum + ")\n";
}

void send(const std::string& name, float value) { send_tensor(tensor(value), name, "/cpu:0", 1, "/cpu:0"); }

// Nobody waits for one after the other: none of the values is sent before all are waited for.
BOOST_AUTO_TEST_CASE(a_hundred_waits_are_one) {
  constexpr int kMany = 100;
  Session session(text_graph(receives(kMany)));
  for (int run = 0; run < 2; ++run) {
    Step step;
    step.rendezvous = std::make_shared<Rendezvous>();
    std::future<float> sum = std::async(std::launch::async, [&] {
      const StepScope scope(step);
      return session.run("y").item<float>();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const StepScope scope(step);
    for (int i = kMany; i-- > 0;) send("t" + std::to_string(i), static_cast<float>(i));
    BOOST_TEST(sum.get() == kMany * (kMany - 1) / 2);
  }
}

BOOST_AUTO_TEST_CASE(waits_end_with_the_step) {
  Session session(text_graph(receives(5)));
  Step step;
  step.rendezvous = std::make_shared<Rendezvous>();
  step.deadline = Step::deadline_in(0.02);
  {
    const StepScope scope(step);
    expect_error_begins([&] { session.run("y"); }, "DeadlineExceeded: ");
  }
  step.deadline = Step::kNoDeadline;
  step.cancellation = std::make_shared<Cancellation>();
  std::future<std::string> running = std::async(std::launch::async, [&] {
    const StepScope scope(step);
    return error_text([&] { session.run("y"); });
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  step.cancellation->request();
  BOOST_TEST(running.get().starts_with("Cancelled: "));
}

// The first error ends the run, and the others need not come.
BOOST_AUTO_TEST_CASE(an_error_ends_all_waits) {
  Session session(text_graph(receives(3)));
  Step step;
  step.rendezvous = std::make_shared<Rendezvous>();
  std::future<std::string> running = std::async(std::launch::async, [&] {
    const StepScope scope(step);
    return error_text([&] { session.run("y"); });
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  {
    const StepScope scope(step);
    send_tensor(tensor(1), "t1", "/cpu:0", 1, "/cpu:0");  // an int32
  }
  const std::string text = running.get();
  BOOST_TEST(text.starts_with("InvalidArgument: tensor '/cpu:0;0000000000000001;/cpu:0;t1;0:0': expected float32, got "
                              "int32 sent [in _Recv("),
             text);
  BOOST_TEST(text.ends_with("[node 'r1']"), text);
}

// Rounds of a loop that run at once do not take one another's values.
BOOST_AUTO_TEST_CASE(rounds_meet_by_themselves) {
  Session session(text_graph(R"(
    zero = Const(; value=float32{0})
    n = Placeholder(; dtype=float32, shape=[])
    i_enter = Enter(zero; frame_name="loop", parallel_iterations=5)
    x_enter = Enter(zero; frame_name="loop", parallel_iterations=5)
    n_in = Enter(n; frame_name="loop", is_constant=true)
    i = Merge(i_enter, i_next)
    x = Merge(x_enter, x_next)
    less = Less(i, n_in)
    go = LoopCond(less)
    i_s = Switch(i, go)
    x_s = Switch(x, go)
    pivot = Identity(i_s:1)
    one = Const(^pivot; value=float32{1})
    new_i = AddV2(i_s:1, one)
    sent = _Send(new_i; tensor_name="t", send_device="a", send_device_incarnation=1, recv_device="b")
    got = _Recv(^pivot; tensor_type=float32, tensor_name="t", send_device="a", send_device_incarnation=1, recv_device="b")
    new_x = AddV2(x_s:1, got)
    kept_x = Identity(new_x, ^sent)
    i_next = NextIteration(new_i)
    x_next = NextIteration(kept_x)
    x_out = Exit(x_s)
  )"));
  BOOST_TEST(number(session, "x_out", {{"n", 10.f}}) == 55);
  BOOST_TEST(number(session, "x_out", {{"n", 3.f}}) == 6);
}

// ---- State and effects ----------------------------------------------------------------------------------------------

// A generator of a node in a loop goes on from round to round and from run to run, with any number of rounds at once.
BOOST_AUTO_TEST_CASE(generators_go_on_from_round_to_round) {
  std::vector<std::vector<float>> all;
  for (const int parallel : {1, 10}) {
    Session session(text_graph(random_loop(parallel)));
    std::vector<float> sums;
    for (int run = 0; run < 3; ++run) sums.push_back(number(session, "x_out", {{"n", 4.f}}));
    BOOST_TEST(sums[0] != sums[1]);
    all.push_back(sums);
  }
  BOOST_TEST(all[0] == all[1], boost::test_tools::per_element());
  Session straight(text_graph(R"(
    shape = Const(; value=int32[0]{})
    r = RandomUniform(shape; dtype=float32, seed=3, seed2=4)
  )"));
  for (const float sum : all[0]) {
    float expected = 0;
    for (int i = 0; i < 4; ++i) expected += number(straight, "r");
    BOOST_TEST(sum == expected);
  }
}

BOOST_AUTO_TEST_CASE(variables_change_in_loops) {
  Session session(text_graph(R"(
    v = VarHandleOp(; dtype=float32, shape=[], shared_name="v")
    start = Const(; value=float32{1})
    set = AssignVariableOp(v, start; dtype=float32)
    zero = Const(; value=float32{0})
    n = Const(; value=float32{5})
    i_enter = Enter(zero, ^set; frame_name="loop", parallel_iterations=1)
    v_in = Enter(v; frame_name="loop", is_constant=true)
    n_in = Enter(n; frame_name="loop", is_constant=true)
    i = Merge(i_enter, i_next)
    less = Less(i, n_in)
    go = LoopCond(less)
    i_s = Switch(i, go)
    pivot = Identity(i_s:1)
    one = Const(^pivot; value=float32{1})
    two = Const(^pivot; value=float32{2})
    now = ReadVariableOp(v_in, ^pivot; dtype=float32)
    more = Mul(now, two)
    put = AssignVariableOp(v_in, more; dtype=float32)
    new_i = AddV2(i_s:1, one, ^put)
    i_next = NextIteration(new_i)
    i_out = Exit(i_s)
    result = ReadVariableOp(v, ^i_out; dtype=float32)
  )"));
  BOOST_TEST(number(session, "result") == 32);
  BOOST_TEST(number(session, "result") == 32);
}

BOOST_AUTO_TEST_CASE(an_abort_is_an_error) {
  Session session(text_graph(R"(
    p = Placeholder(; dtype=bool, shape=[])
    s = Switch(p, p)
    bad = Identity(s:1)
    stop = Abort(^bad; error_msg="too late")
  )"));
  session.run(Fetches{"^stop"}, {{"p", tensor(false)}});
  expect_error_begins([&] { session.run(Fetches{"^stop"}, {{"p", tensor(true)}}); },
                      "Aborted: abort: expected not to be reached, got there: too late [in Abort(");
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
    Session session(graph, {.passes = passes});
    BOOST_TEST(session.run("x_out", {{"x0", tensor({1.f, -2.f})}}).to_vector<float>() == expected.to_vector<float>(),
               boost::test_tools::per_element());
  }
  // In a file it is the ops of its body.
  Session session(parse_graph(to_graph_def(graph)));
  BOOST_TEST(session.run("x_out", {{"x0", tensor({1.f, -2.f})}}).to_vector<float>() == expected.to_vector<float>(),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_loop_comes_back_from_a_file) {
  const Graph graph = text_graph(counting_loop(10));
  for (const Graph& read : {parse_graph(to_graph_def(graph)), parse_graph(to_graph_def_text(graph))}) {
    BOOST_TEST(read.to_string() == graph.to_string());
    Session session(read);
    BOOST_TEST(number(session, "x_out", {{"limit", 6.f}}) == 15);
  }
}

// A foreign graph's function gives what always is there, and nobody reads.
BOOST_AUTO_TEST_CASE(functions_have_loops) {
  const TestFolder folder;
  write_graph(text_graph(counting_loop(10)), folder / "loop.pb");
  const Function loop = load(folder / "loop.pb");
  BOOST_TEST(loop(tensor(7.f)).item<float>() == 28);
  const std::string error =
      "Unimplemented: graph: expected one without TensorFlow 1's loops and conditionals where it is ";
  const Tensor x = tensor(7.f);
  {
    GradientTape tape;
    tape.watch(x);
    expect_error_begins([&] { loop(x); }, error);
  }
  expect_error_begins([&] { vmap([&](const Tensor& t) { return loop(t); })(tensor({1.f, 2.f})); }, error);
  expect_error_begins([&] { trace([&](const Tensor& t) { return loop(t); }, {TensorSpec(kFloat32, {})}); }, error);

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
  Session session(after);
  BOOST_TEST(number(session, "y", {{"limit", 5.f}}) == 15);
}

BOOST_AUTO_TEST_CASE(a_loop_is_no_sequence_of_calls) {
  Graph graph = text_graph(counting_loop(10));
  const NodeOutput x = graph.output("limit"), y = graph.output("x_out");
  expect_error_begins([&] { gradients(graph, {&y, 1}, {&x, 1}); },
                      "Unimplemented: graph: expected one without TensorFlow 1's loops and conditionals where it is ");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
