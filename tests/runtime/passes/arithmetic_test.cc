// The arithmetic pass: what gives back its input goes, and what undoes each other.
#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/optimizer.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/graph/text_graph.h"
#include "panto/tests/ops/array_value.h"
#include "panto/tests/runtime/passes/pass_case.h"

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
      {"a = IdentityN(x, i; _gradient_op_type=\"Custom\")\n b = Tanh(a)\n y = Tanh(b)", "b = Tanh(x)\n y = Tanh(b)"},
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

// Numbers at the limits of a type, and others.
Tensor limits_of(DType t) {
  std::vector<double> floats = {0,
                                -0.0,
                                1,
                                -1,
                                0.5,
                                -2.5,
                                255,
                                256,
                                65504,
                                65536,
                                2147483647,
                                2147483648.0,
                                -2147483648.0,
                                4294967295.0,
                                4294967296.0,
                                9.2e18,
                                1.8e19,
                                -9.3e18,
                                1e20,
                                1e300,
                                5e-324,
                                std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity(),
                                std::nan("")};
  if (dtypes::kFloating.contains(t) || dtypes::kComplex.contains(t)) return cast(tensor(floats), t);
  if (t == kBool) return tensor(std::vector<bool>{true, false});
  std::vector<int64_t> values = {
      0,         1,          -1,           2,           127,        128,        -128,
      255,       256,        32767,        32768,       -32768,     65535,      65536,
      16777217,  2147483647, 2147483648,   -2147483648, 4294967295, 4294967296, 9007199254740993,
      INT64_MAX, INT64_MIN,  INT64_MIN + 1};
  return cast(tensor(values), t);
}

bool same_bits_or_nan(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  return difference(a, b).empty();
}

// The pass is exact: whatever it makes of two casts gives what they give.
BOOST_AUTO_TEST_CASE(all_chains_of_two_casts_stay_what_they_are) {
  std::vector<DType> types;
  for (int t = 0; t < kDTypeSlots; ++t) {
    if (dtypes::kPlain.contains(static_cast<DType>(t))) types.push_back(static_cast<DType>(t));
  }
  BOOST_TEST(types.size() == 15u);
  int merged = 0;
  for (const DType a : types) {
    const Tensor x = limits_of(a);
    for (const DType b : types) {
      for (const DType c : types) {
        const std::string text = fmt::format(
            "x = Placeholder(; dtype={}, shape=?)\n m = Cast(x; DstT={})\n y = Cast(m; DstT={})\n"
            " z = Identity(y)",
            dtype_name(a), dtype_name(b), dtype_name(c));
        const Graph graph = text_graph(text);
        Session session(graph, {.passes = "arithmetic"});
        const Tensor got = session.run("z", {{"x", x}});
        if (session.optimized_graph().find("m") == nullptr) ++merged;
        BOOST_CHECK_MESSAGE(same_bits_or_nan(cast(cast(x, b), c), got),
                            text << ": expected " << cast(cast(x, b), c).to_string() << ", got " << got.to_string());
      }
    }
  }
  BOOST_TEST(merged > 500);
}

// Graphs that are in order, of which each made the pass fail.
BOOST_AUTO_TEST_CASE(shape_vectors_are_no_operands) {
  const char* const graphs[] = {
      "x = Placeholder(; dtype=float32, shape=[4])\n s = Const(; value=int32[2]{1, 4})\n"
      " t = Const(; value=int32[2]{3, 4})\n a = BroadcastTo(x, s)\n y = BroadcastTo(a, t)",
      "x = Placeholder(; dtype=float32, shape=[4])\n s = Const(; value=int32[2]{4, 4})\n a = BroadcastTo(x, s)\n"
      " w = Const(; value=float32[5,4,3]{1})\n y = BatchMatMulV2(a, w)",
      "x = Placeholder(; dtype=float32, shape=[4])\n s = Const(; value=int32[2]{5, 4})\n a = BroadcastTo(x, s)\n"
      " l = Const(; value=float32[5,4]{0.25})\n y = SoftmaxCrossEntropyWithLogits(a, l)",
  };
  const Tensor x = tensor({1.f, 2.f, 3.f, 4.f});
  for (const char* text : graphs) {
    BOOST_TEST_CONTEXT(text) {
      Session plain(text_graph(text), {.passes = "off"});
      for (const char* passes : {"arithmetic", ""}) {
        Session session(text_graph(text), {.passes = passes});
        BOOST_TEST(difference(plain.run("y", {{"x", x}}), session.run("y", {{"x", x}})) == "");
        BOOST_TEST(session.plan_stats().passes_undone == 0);
      }
    }
  }
  check({"arithmetic",
         "x = Placeholder(; dtype=float32, shape=[4])\n s = Const(; value=int32[2]{1, 4})\n"
         " t = Const(; value=int32[2]{3, 4})\n a = BroadcastTo(x, s)\n b = BroadcastTo(a, t)\n y = Neg(b)",
         "x = Placeholder(; dtype=float32, shape=[4])\n t = Const(; value=int32[2]{3, 4})\n b_1 = BroadcastTo(x, t)\n"
         " y = Neg(b_1)"});
}

BOOST_AUTO_TEST_CASE(permutations_may_count_from_the_end) {
  check({"arithmetic",
         "x = Placeholder(; dtype=float32, shape=[2,3,4])\n p = Const(; value=int32[3]{-2, -1, 0})\n"
         " q = Const(; value=int32[3]{-1, 0, 1})\n a = Transpose(x, p)\n b = Transpose(a, q)\n y = Neg(b)",
         "x = Placeholder(; dtype=float32, shape=[2,3,4])\n y = Neg(x)"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
