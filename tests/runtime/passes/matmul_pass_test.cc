// The pass "matmul": transposed operands are read as they lie, and of a product that is sliced the slice is made, and
// what adds nothing up is elementwise.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/ops/reductions.h"
#include "panto/lib/runtime/session.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"
#include "panto/tests/runtime/passes/pass_case.h"

namespace panto::test {
namespace {

// Small integers: sums of their products are exact.
Tensor integers(const PartialShape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.numel()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 7);
  return tensor(values, Shape(shape.dims()));
}

// `y`, a Slice of matmul(x, w) with these attributes; `begin` and `size` as graphs' text has them.
std::string slice_of_product(const char* attrs, const char* begin, const char* size, const char* rest = "") {
  const std::string a = attrs;
  const bool turned = a.find("transpose_a") != std::string::npos, other = a.find("transpose_b") != std::string::npos;
  return std::string("x = Placeholder(; dtype=float32, shape=") + (turned ? "[48,64]" : "[64,48]") +
         ")\n w = Placeholder(; dtype=float32, shape=" + (other ? "[80,48]" : "[48,80]") + ")\n p = MatMul(x, w" + a +
         ")\n begin = Const(; value=int32[2]{" + begin + "})\n size = Const(; value=int64[2]{" + size +
         "})\n from = Cast(begin; SrcT=int32, DstT=int64)\n y = Slice(p, from, size)\n" + rest;
}

constexpr const char* kPasses = "constant_folding,matmul,cse";

// The shapes of what `y` multiplies, which must be what the Slice gives; "" where it is a Slice still.
std::string multiplied(const std::string& text) {
  const Graph graph = text_graph(text);
  const Graph optimized = optimize(graph, {}, {}, kPasses);
  const Node& y = optimized.at("y");
  if (&y.op() == &kSlice) return "";
  BOOST_TEST((&y.op() == &kMatMul));
  const auto shape = [&](int side) { return optimized.info(y.input(side)).shape; };
  const Feeds feeds = {{"x", integers(optimized.at("x").output(0).shape)},
                       {"w", integers(optimized.at("w").output(0).shape)}};
  Session narrow(graph, {.passes = kPasses}), whole(graph, {.passes = "off"});
  const Tensor made = narrow.run("y", feeds), expected = whole.run("y", feeds);
  BOOST_TEST((made.shape() == expected.shape()));
  BOOST_TEST((made.to_vector<float>() == expected.to_vector<float>()));
  return shape(0).to_string() + shape(1).to_string();
}

BOOST_AUTO_TEST_SUITE(matmul_pass)

BOOST_AUTO_TEST_CASE(transposed_operands_are_read_as_they_lie) {
  check({.passes = "matmul",
         .before = R"(
           x = Placeholder(; dtype=float32, shape=[2,5])
           w = Placeholder(; dtype=float32, shape=[2,3])
           p = Const(; value=int32[2]{1, 0})
           xt = Transpose(x, p)
           y = MatMul(xt, w)
         )",
         .after = R"(
           x = Placeholder(; dtype=float32, shape=[2,5])
           w = Placeholder(; dtype=float32, shape=[2,3])
           y = MatMul(x, w; transpose_a=true)
         )"});
}

BOOST_AUTO_TEST_CASE(what_is_sliced_is_made) {
  const char* both = "; transpose_a=true, transpose_b=true";
  BOOST_TEST(multiplied(slice_of_product("", "0, 32", "64, 40")) == "[64,48][48,40]");
  BOOST_TEST(multiplied(slice_of_product("", "32, 0", "-1, -1")) == "[32,48][48,80]");
  BOOST_TEST(multiplied(slice_of_product("", "3, 5", "7, 9")) == "[7,48][48,9]");
  BOOST_TEST(multiplied(slice_of_product("; transpose_b=true", "0, 32", "64, 40")) == "[64,48][40,48]");
  BOOST_TEST(multiplied(slice_of_product("; transpose_a=true", "16, 0", "32, 80")) == "[48,32][48,80]");
  BOOST_TEST(multiplied(slice_of_product(both, "3, 5", "7, 9")) == "[48,7][9,48]");
}

// Slices of the same operand are one: a recurrent network's weights are cut once for all steps.
BOOST_AUTO_TEST_CASE(operands_are_cut_once) {
  const std::string again = "q = MatMul(v, w)\n z = Slice(q, from, size)\n";
  const Graph optimized = optimize(
      text_graph(slice_of_product("", "0, 32", "64, 40", "v = Placeholder(; dtype=float32, shape=[64,48])\n") + again),
      {}, {}, kPasses);
  BOOST_TEST((optimized.at("y").input(1) == optimized.at("z").input(1)));
}

BOOST_AUTO_TEST_CASE(what_is_read_otherwise_or_costs_more_to_cut_stays) {
  BOOST_TEST(multiplied(slice_of_product("", "0, 0", "64, 79")) == "");  // an operand is copied for one column
  BOOST_TEST(multiplied(slice_of_product("", "0, 0", "64, 80")) == "");
  BOOST_TEST(multiplied(slice_of_product("", "0, 32", "64, 40", "z = Neg(p)\n")) == "");
  check({"matmul", R"(
           x = Placeholder(; dtype=float32, shape=[?,48])
           w = Placeholder(; dtype=float32, shape=[48,80])
           begin = Const(; value=int32[2]{0, 32})
           size = Const(; value=int32[2]{-1, 40})
           p = MatMul(x, w)
           y = Slice(p, begin, size)
         )"});
  check({"matmul", R"(
           x = Placeholder(; dtype=float32, shape=[64,48])
           w = Placeholder(; dtype=float32, shape=[48,80])
           begin = Placeholder(; dtype=int32, shape=[2])
           size = Const(; value=int32[2]{64, 40})
           p = MatMul(x, w)
           y = Slice(p, begin, size)
         )"});
}

// The op of `g` where `y` reads it, whose values must be what they are without passes.
const Op& product_op(const std::string& text) {
  const Graph graph = text_graph(text);
  const Graph optimized = optimize(graph, {}, {}, "matmul");
  Feeds feeds;
  for (const char* name : {"a", "b"}) {
    const PartialShape& shape = optimized.at(name).output(0).shape;
    if (!shape.fully_known()) return optimized.at("g").op();
    feeds.emplace_back(name, cast(integers(shape), optimized.at(name).output(0).dtype));
  }
  Session changed(graph, {.passes = "matmul"}), whole(graph), plain(graph, {.passes = "off"});
  const Tensor expected = plain.run("y", feeds);
  BOOST_TEST(all(equal(changed.run("y", feeds), expected)).item<bool>());
  BOOST_TEST(all(equal(whole.run("y", feeds), expected)).item<bool>());
  return optimized.at("g").op();
}

std::string product_of(const std::string& op, const std::string& a, const std::string& b, const char* reader,
                       const char* type = "float32") {
  const std::string dtype = std::string("; dtype=") + type + ", shape=";
  return "a = Placeholder(" + dtype + a + ")\n b = Placeholder(" + dtype + b + ")\n g = " + op + "\n y = " + reader +
         "\n";
}

BOOST_AUTO_TEST_CASE(products_of_columns_by_rows_are_elementwise) {
  const auto is_mul = [](const std::string& text) { return &product_op(text) == &kMul; };
  const char *square = "Square(g)", *same = "Identity(g)";
  BOOST_TEST(is_mul(product_of("MatMul(a, b)", "[5,1]", "[1,3]", square)));
  BOOST_TEST(is_mul(product_of("MatMul(a, b; transpose_a=true)", "[1,5]", "[1,3]", square)));
  BOOST_TEST(is_mul(product_of("MatMul(a, b; transpose_a=true, transpose_b=true)", "[1,5]", "[3,1]", square)));
  BOOST_TEST(is_mul(product_of("BatchMatMulV2(a, b; adj_x=true)", "[8,1,5]", "[8,1,3]", square)));
  BOOST_TEST(is_mul(product_of("BatchMatMulV2(a, b; adj_y=true)", "[2,1,5,1]", "[4,3,1]", square)));
  BOOST_TEST(is_mul(product_of("BatchMatMulV2(a, b)", "[2,5,1]", "[2,1,3]", square, "complex64")));
  // What conjugates, adds up, is not known or gains nothing stays.
  BOOST_TEST(!is_mul(product_of("BatchMatMulV2(a, b; adj_x=true)", "[2,1,5]", "[2,1,3]", square, "complex64")));
  BOOST_TEST(!is_mul(product_of("MatMul(a, b)", "[5,2]", "[2,3]", square)));
  BOOST_TEST(!is_mul(product_of("MatMul(a, b)", "[5,?]", "[?,3]", square)));
  BOOST_TEST(!is_mul(product_of("MatMul(a, b)", "[5,1]", "[1,3]", same)));
}

// The squared length of each of a batch of such products is one op, which makes none of them.
BOOST_AUTO_TEST_CASE(products_of_columns_by_rows_are_reduced_as_they_are_made) {
  const Graph graph = text_graph(R"(
    x = Placeholder(; dtype=float32, shape=[8,1,50])
    d = Placeholder(; dtype=float32, shape=[8,1,30])
    axes = Const(; value=int32[2]{1, 2})
    g = BatchMatMulV2(x, d; adj_x=true)
    s = Square(g)
    y = Sum(s, axes)
  )");
  const Graph optimized = optimize(graph, {}, {}, "");
  BOOST_TEST((&optimized.at("y").op() == &kFusedReduction));
  const Feeds feeds = {{"x", integers(Shape{8, 1, 50})}, {"d", integers(Shape{8, 1, 30})}};
  BOOST_TEST((Session(graph).run("y", feeds).to_vector<float>() ==
              Session(graph, {.passes = "off"}).run("y", feeds).to_vector<float>()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto::test
