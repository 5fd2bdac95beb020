#include "panto/lib/core/tensor/shape.h"

#include <limits>
#include <sstream>

#include "panto/tests/expect.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(shape)

BOOST_AUTO_TEST_CASE(scalars_vectors_and_the_unknown) {
  BOOST_TEST(Shape{}.rank() == 0);
  BOOST_TEST(Shape{}.numel() == 1);
  BOOST_TEST(Shape{}.to_string() == "[]");
  BOOST_TEST((Shape{2, 3}.to_string()) == "[2,3]");
  BOOST_TEST((Shape{2, 0, 3}.numel()) == 0);
  BOOST_TEST(PartialShape().to_string() == "?");
  BOOST_TEST(PartialShape().rank() == -1);
  BOOST_TEST(PartialShape().numel() == -1);
  BOOST_TEST((PartialShape{2, -1}.to_string()) == "[2,?]");
  BOOST_TEST((PartialShape{0, -1}.numel()) == -1);
  BOOST_TEST(PartialShape::of_rank(2).to_string() == "[?,?]");
}

BOOST_AUTO_TEST_CASE(dimensions_by_index) {
  const Shape s{4, 5, 6};
  BOOST_TEST(s[0] == 4);
  BOOST_TEST(s[-1] == 6);
  expect_error([&] { s[3]; }, "OutOfRange: dimension: expected one in [-3, 3), got 3");
  expect_error([&] { s[-4]; }, "OutOfRange: dimension: expected one in [-3, 3), got -4");
  expect_error([] { Shape{}[0]; }, "OutOfRange: dimension: expected one in [0, 0), got 0");
}

// The same by dim(i), of what is not fully known, too.
BOOST_AUTO_TEST_CASE(dimensions_of_any_shape) {
  const PartialShape p{4, -1, 6};
  BOOST_TEST(p.dim(0) == 4);
  BOOST_TEST(p.dim(1) == kUnknownDim);
  BOOST_TEST(p.dim(-1) == 6);
  BOOST_TEST(p.dim(-3) == 4);
  BOOST_TEST((Shape{2, 3}.dim(-1)) == 3);
  const PartialShape of_many(std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8});  // which do not lie inside
  BOOST_TEST(of_many.dim(7) == 8);
  BOOST_TEST(of_many.dim(-8) == 1);
  expect_error([&] { (void)p.dim(3); }, "OutOfRange: dimension: expected one in [-3, 3), got 3");
  expect_error([&] { (void)p.dim(-4); }, "OutOfRange: dimension: expected one in [-3, 3), got -4");
  expect_error([] { (void)Shape{}.dim(-1); }, "OutOfRange: dimension: expected one in [0, 0), got -1");
  for (const int i : {0, -1}) {
    expect_error([&] { (void)PartialShape().dim(i); },
                 "OutOfRange: dimension: expected one of a shape of known rank, got " + std::to_string(i) + " of ?");
  }
}

BOOST_AUTO_TEST_CASE(sizes_that_overflow) {
  constexpr int64_t k32 = int64_t{1} << 32;
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  expect_error([] { Shape({k32, k32}); },
               "InvalidArgument: shape: expected fewer than 2^63 elements, got the dimensions [4294967296,4294967296]");
  // A zero hides nothing, wherever it stands.
  expect_error(
      [] { Shape({0, k32, k32}); },
      "InvalidArgument: shape: expected fewer than 2^63 elements, got the dimensions [0,4294967296,4294967296]");
  expect_error_begins([] { Shape({k32, 0, k32}); }, "InvalidArgument: shape: expected fewer than 2^63 elements");
  expect_error_begins([] { PartialShape({-1, k32, k32}); },
                      "InvalidArgument: shape: expected fewer than 2^63 elements");
  expect_error_begins([] { Shape({kMax, 2}); }, "InvalidArgument: shape: expected fewer than 2^63 elements");
  BOOST_TEST((Shape{kMax}.numel()) == kMax);
  BOOST_TEST((Shape{kMax, 0}.numel()) == 0);
}

BOOST_AUTO_TEST_CASE(faulty_dimensions) {
  expect_error([] { Shape({2, -1}); }, "InvalidArgument: shape: expected dimension 1 to be at least 0, got -1");
  expect_error([] { PartialShape({-2}); }, "InvalidArgument: shape: expected dimension 0 to be at least -1, got -2");
  BOOST_TEST(Shape(std::vector<int64_t>(254, 1)).rank() == 254);
  expect_error([] { Shape(std::vector<int64_t>(255, 1)); },
               "InvalidArgument: shape: expected a rank of at most 254, got 255");
  expect_error([] { Shape(PartialShape{2, -1}); }, "InvalidArgument: shape: expected a fully known one, got [2,?]");
  expect_error([] { Shape{PartialShape()}; }, "InvalidArgument: shape: expected a fully known one, got ?");
}

BOOST_AUTO_TEST_CASE(compatible_and_merged) {
  const PartialShape unknown;
  const PartialShape a{2, -1, 3};
  const PartialShape b{-1, 5, 3};
  BOOST_TEST(a.compatible_with(b));
  BOOST_TEST(unknown.compatible_with(a));
  BOOST_TEST(!a.compatible_with(PartialShape{2, -1}));
  BOOST_TEST(!a.compatible_with(PartialShape{1, -1, 3}));
  BOOST_TEST((a.merged_with(b) == PartialShape{2, 5, 3}));
  BOOST_TEST((a.merged_with(unknown) == a));
  BOOST_TEST((unknown.merged_with(a) == a));
  expect_error([&] { (void)a.merged_with(PartialShape{3, 1, 3}); },
               "InvalidArgument: shape: expected one compatible with [2,?,3], got [3,1,3]");
  // Equal as descriptions: what is unknown is not "anything".
  BOOST_TEST(!(a == PartialShape{2, 5, 3}));
  BOOST_TEST((unknown == PartialShape()));
  BOOST_TEST(!(unknown == PartialShape{}) == false);
}

// Up to six dimensions live inside a shape, more on the heap: copies and moves of each into each.
BOOST_AUTO_TEST_CASE(copies_and_moves) {
  const auto of_rank = [](int n) {
    std::vector<int64_t> dims;
    for (int i = 0; i < n; ++i) dims.push_back(i + 1);
    return Shape(dims);
  };
  for (int from : {0, 1, 6, 7, 12}) {
    for (int to : {0, 6, 7, 12}) {
      Shape source = of_rank(from);
      Shape target = of_rank(to);
      target = source;
      BOOST_TEST((target == of_rank(from)));
      Shape moved = of_rank(to);
      moved = std::move(source);
      BOOST_TEST((moved == of_rank(from)));
      const Shape constructed(std::move(moved));
      BOOST_TEST((constructed == of_rank(from)));
      const Shape& self = target;
      target = self;
      BOOST_TEST((target == of_rank(from)));
    }
  }
}

BOOST_AUTO_TEST_CASE(goes_to_a_stream) {
  std::ostringstream out;
  out << Shape{2, 3} << PartialShape{-1, 3} << PartialShape();
  BOOST_TEST(out.str() == "[2,3][?,3]" + PartialShape().to_string());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
