// The arithmetic pass: what gives back its input goes, and what undoes each other.
#include <boost/test/unit_test.hpp>

#include "panto/lib/runtime/optimizer.h"
#include "panto/tests/graph/text_graph.h"
#include "panto/tests/runtime/pass_case.h"

namespace panto::test {
namespace {

BOOST_AUTO_TEST_SUITE(arithmetic)

BOOST_AUTO_TEST_CASE(what_gives_back_its_input_goes) {
  constexpr const char* kConstants = R"(
    one = Const(; value=float32{1})
    zero = Const(; value=float32{0})
    minus_zero = Const(; value=float32{-0.0})
    ones = Const(; value=float32[2,3]{1})
    x = Placeholder(; dtype=float32, shape=[2,3])
    u = Placeholder(; dtype=float32, shape=?)
    i = Placeholder(; dtype=int32, shape=[2])
    int_zero = Const(; value=int32{0})
    shape = Const(; value=int32[2]{2, 3})
    s = Placeholder(; dtype=float32, shape=[])
    flag = Placeholder(; dtype=bool, shape=[2,3])
  )";
  const std::pair<const char*, const char*> rules[] = {
      {"a = Mul(x, one)\n b = Mul(one, a)\n c = Mul(b, ones)\n d = RealDiv(c, one)\n y = Neg(d)", "y = Neg(x)"},
      {"a = Sub(x, zero)\n b = AddV2(a, minus_zero)\n c = AddV2(minus_zero, b)\n y = Neg(c)", "y = Neg(x)"},
      {"a = AddV2(i, int_zero)\n y = Neg(a)", "y = Neg(i)"},
      {"a = Mul(u, one)\n y = Neg(a)", "y = Neg(u)"},
      // Not exact: -0 + 0 is 0. Not the shape: [2,3] of a broadcast scalar.
      {"a = AddV2(x, zero)\n y = Neg(a)", "a = AddV2(x, zero)\n y = Neg(a)"},
      {"a = Sub(zero, x)\n y = Neg(a)", "a = Sub(zero, x)\n y = Neg(a)"},
      {"a = Mul(u, ones)\n y = Neg(a)", "a = Mul(u, ones)\n y = Neg(a)"},
      {"a = Neg(x)\n b = Neg(a)\n y = Tanh(b)", "y = Tanh(x)"},
      {"a = Relu(x)\n b = Relu(a)\n y = Tanh(b)", "a = Relu(x)\n y = Tanh(a)"},
      {"a = Identity(x)\n b = StopGradient(a)\n y = Tanh(b)", "y = Tanh(x)"},
      {"a = AddN(x)\n y = Tanh(a)", "y = Tanh(x)"},
      // A number rather than a tensor of it, and then what follows from that, if something else gives the shape.
      {"a = BroadcastTo(one, shape)\n b = Mul(a, x)\n y = Neg(b)", "y = Neg(x)"},
      {"a = Fill(shape, s)\n b = Mul(x, a)\n y = Neg(b)", "b_1 = Mul(x, s)\n y = Neg(b_1)"},
      {"a = OnesLike(x)\n b = Mul(a, x)\n y = Neg(b)", "y = Neg(x)"},
      {"a = ZerosLike(x)\n b = Sub(x, a)\n y = Neg(b)", "y = Neg(x)"},
      {"a = OnesLike(u)\n b = Mul(u, a)\n y = Neg(b)", "a = OnesLike(u)\n b = Mul(u, a)\n y = Neg(b)"},
      {"a = BroadcastTo(s, shape)\n b = SelectV2(flag, a, x)\n y = Neg(b)",
       "b_1 = SelectV2(flag, s, x)\n y = Neg(b_1)"},
      {"a = BroadcastTo(s, shape)\n b = Mul(a, s)\n y = Neg(b)",
       "a = BroadcastTo(s, shape)\n b = Mul(a, s)\n y = Neg(b)"},
      {"a = BroadcastTo(s, shape)\n b = Mul(a, u)\n y = Neg(b)",
       "a = BroadcastTo(s, shape)\n b = Mul(a, u)\n y = Neg(b)"},
      {"a = BroadcastTo(s, shape)\n b = Mul(a, a)\n y = Neg(b)",
       "a = BroadcastTo(s, shape)\n b_1 = Mul(s, a)\n y = Neg(b_1)"},
      // What is fetched keeps its name.
      {"a = Neg(x)\n y = Neg(a)", "y = Identity(x)"},
  };
  for (const auto& [before, after] : rules) {
    const std::string b = std::string(kConstants) + before, a = std::string(kConstants) + after;
    BOOST_TEST_CONTEXT(before) {
      const Graph graph = text_graph(b);
      const NodeOutput fetches[] = {graph.output("y")};
      const Graph expected = text_graph(a);
      const NodeOutput same[] = {expected.output("y")};
      BOOST_TEST(optimize(graph, fetches, {}, "arithmetic").to_string() ==
                 optimize(expected, same, {}, "prune").to_string());
    }
  }
}

// What a gradient begins with needs nothing of what was computed before it.
BOOST_AUTO_TEST_CASE(gradients_of_sums_need_no_sums) {
  const Graph graph = text_graph(R"(
    x = Placeholder(; dtype=float32, shape=[200,1000])
    e = Exp(x)
    axes = Const(; value=int32[2]{0, 1})
    sum = Sum(e, axes)
    one = OnesLike(sum)
    shape = Const(; value=int32[2]{200, 1000})
    ones = BroadcastTo(one, shape)
    product = Mul(ones, e)
    y = Neg(product)
  )");
  const NodeOutput fetches[] = {graph.output("y")};
  BOOST_TEST(optimize(graph, fetches, {}, "prune,constant_folding,arithmetic").to_string() ==
             "x = Placeholder(; dtype=float32, shape=[200,1000]) -> float32[200,1000]\n"
             "e = Exp(x) -> float32[200,1000]\n"
             "y = Neg(e) -> float32[200,1000]\n");
}

BOOST_AUTO_TEST_CASE(moves_and_casts_are_merged) {
  const PassCase cases[] = {
      {"arithmetic",
       R"(
         x = Placeholder(; dtype=float32, shape=[2,3,4])
         p = Const(; value=int32[3]{1, 2, 0})
         q = Const(; value=int32[3]{2, 0, 1})
         a = Transpose(x, p)
         b = Transpose(a, q)
         y = Neg(b)
       )",
       R"(
         x = Placeholder(; dtype=float32, shape=[2,3,4])
         y = Neg(x)
       )"},
      {"arithmetic",
       R"(
         x = Placeholder(; dtype=float32, shape=[2,3,4])
         p = Const(; value=int32[3]{1, 2, 0})
         a = Transpose(x, p)
         b = Transpose(a, p)
         y = Neg(b)
       )",
       R"(
         x = Placeholder(; dtype=float32, shape=[2,3,4])
         b/perm = Const(; value=int32[3]{2, 0, 1})
         b_1 = Transpose(x, b/perm)
         y = Neg(b_1)
       )"},
      {"arithmetic",
       R"(
         x = Placeholder(; dtype=float32, shape=[2,3,4])
         s = Const(; value=int32[2]{6, 4})
         t = Const(; value=int32[2]{4, 6})
         u = Const(; value=int32[3]{2, 3, 4})
         a = Reshape(x, s)
         b = Reshape(a, t)
         y = Neg(b)
         c = Reshape(b, u)
         z = Neg(c)
       )",
       R"(
         x = Placeholder(; dtype=float32, shape=[2,3,4])
         t = Const(; value=int32[2]{4, 6})
         b_1 = Reshape(x, t)
         y = Neg(b_1)
         z = Neg(x)
       )"},
      {"arithmetic",
       R"(
         x = Placeholder(; dtype=int16, shape=[2])
         a = Cast(x; DstT=float32)
         b = Cast(a; DstT=float64)
         y = Neg(b)
         c = Cast(a; DstT=int16)
         z = Neg(c)
       )",
       R"(
         x = Placeholder(; dtype=int16, shape=[2])
         b_1 = Cast(x; DstT=float64)
         y = Neg(b_1)
         z = Neg(x)
       )"},
      // float32 does not hold every int32.
      {"arithmetic",
       R"(
         x = Placeholder(; dtype=int32, shape=[2])
         a = Cast(x; DstT=float32)
         b = Cast(a; DstT=int32)
         y = Neg(b)
       )"},
  };
  for (const PassCase& c : cases) check(c);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
