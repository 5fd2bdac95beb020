// Graphs with TensorFlow 1's loops and conditionals as they run. What loops give is computed by plain C++ beside them;
// that TensorFlow gives the same, tests/interop says.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "panto/lib/runtime/session.h"
#include "panto/panto.h"
#include "panto/tests/expect.h"
#include "panto/tests/graph/text_graph.h"
#include "panto/tests/runtime/loops.h"

namespace panto::test {
namespace {

BOOST_AUTO_TEST_SUITE(dataflow)

// ---- Conditionals ---------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_conditional_takes_one_branch) {
  for (const char* passes : {"", "off"}) {
    Session session(text_graph(kCond), as_written(passes));
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
  )"),
                  as_written());
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
    Session session(graph, as_written(passes));
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
    Session session(graph, as_written(passes));
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
  )"),
                  as_written());
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
    Session session(graph, as_written(passes));
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
      Session session(text_graph(counting_loop(parallel)), as_written(passes));
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
    Session session(text_graph(counting_loop(parallel)), as_written());
    BOOST_TEST(session.run({"i_out"}, {{"limit", 17.f}})[0].item<float>() == 17);
  }
}

BOOST_AUTO_TEST_CASE(loops_in_loops) {
  for (const int parallel : {1, 10}) {
    Session session(text_graph(nested_loop(parallel)), as_written());
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
    Session session(graph, as_written(passes));
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
    Session session(graph, as_written(passes));
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
  Session session(graph, as_written());
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
      Session session(graph, as_written(passes));
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
