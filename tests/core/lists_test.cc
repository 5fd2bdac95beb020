// Lists of integers in braces: any integer types, and scalar tensors, whose numbers a trace records.
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <limits>
#include <vector>

#include "panto/panto.h"
#include "panto/tests/expect.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(lists)

BOOST_AUTO_TEST_CASE(integers_of_every_type_are_dimensions) {
  const std::vector<int> v(6);
  const Shape s{v.size(), int8_t{2}, short{3}, 4U, 5L, 6ULL};
  BOOST_TEST(s.to_string() == "[6,2,3,4,5,6]");
  BOOST_TEST(PartialShape({v.size(), -1}).to_string() == "[6,?]");
  BOOST_TEST(TensorSpec(kFloat32, {v.size(), -1}).shape.to_string() == "[6,?]");
  // Above 2^63 - 1: not wrapped around to -1, which would mean an unknown dimension.
  expect_error_begins([] { PartialShape({std::numeric_limits<uint64_t>::max(), 2}); },
                      "InvalidArgument: shape: expected fewer than 2^63 elements");
}

BOOST_AUTO_TEST_CASE(a_list_takes_the_type_that_its_numbers_need) {
  const Tensor small = pack({tensor(1), 2}), large = pack({tensor(int64_t{1}), 2});
  BOOST_TEST((small.dtype() == kInt32 && large.dtype() == kInt64));
  const Tensor x = reshape(arange(6.f), {2, 3});
  BOOST_TEST(reshape(x, {cast(tensor(3), kUint8), tensor(int64_t{2})}).shape() == Shape({3, 2}));
  BOOST_TEST(broadcast_to(tensor(1.f), {tensor(0), int64_t{1} << 40}).shape() == Shape({0, int64_t{1} << 40}));
  expect_error_begins([&] { reshape(x, {3, tensor({2})}); },
                      "InvalidArgument: list of integers: expected element 1 to be an integer, got int32[1]");
  expect_error_begins([&] { reshape(x, {tensor(3.f), 2}); },
                      "InvalidArgument: list of integers: expected element 0 to be an integer, got float32[]");
}

BOOST_AUTO_TEST_CASE(numbers_in_a_list_of_tensors_take_their_type) {
  const Tensor half = pack({cast(tensor(1.f), kFloat16), 0.5});
  BOOST_TEST((half.dtype() == kFloat16));
  BOOST_TEST((pack({tensor(1), 0.5}).dtype() == kFloat32));
  BOOST_TEST((pack({tensor(true), 2}).dtype() == kInt32));
  BOOST_TEST((pack({1, 2}).dtype() == kInt32));
  expect_error_begins([] { pack({cast(tensor(1), kUint8), 300}); },
                      "InvalidArgument: list of tensors: expected a value that fits uint8, got 300");
}

// What was known when the trace was made is not baked in, with symbolic and with real arguments.
BOOST_AUTO_TEST_CASE(a_trace_records_where_the_numbers_come_from) {
  const auto fn = [](const Tensor& a) {
    return reshape(broadcast_to(sum(a, {.axis = {1}, .keep_dims = true}), {shape(a)[0], 2}), {-1, shape(a)[0]});
  };
  const auto symbolic = trace(fn, {TensorSpec(kFloat32, {-1, -1})});
  const auto real = trace_with(fn, {ones({2, 4})});
  BOOST_TEST(real.baked().empty());
  for (const int64_t n : {1, 2, 5}) {
    const Tensor x = reshape(range(0.f, static_cast<float>(n * 4), 1.f), {n, 4});
    const std::vector<float> expected = fn(x).to_vector<float>();
    BOOST_TEST(symbolic(x).to_vector<float>() == expected, boost::test_tools::per_element());
    if (n == 2) BOOST_TEST(real(x).to_vector<float>() == expected, boost::test_tools::per_element());
    BOOST_TEST(symbolic(x).shape() == Shape({2, n}));
  }
}

BOOST_AUTO_TEST_CASE(one_dimension_of_a_tensor_may_be_left_open) {
  const std::vector<float> v(12);
  BOOST_TEST(tensor(v, {3, -1}).shape() == Shape({3, 4}));
  BOOST_TEST(tensor(std::vector<float>(), {3, -1}).shape() == Shape({3, 0}));
  expect_error([&] { tensor(v, {5, -1}); },
               "InvalidArgument: shape: expected dimensions that divide 12 elements, got [5,?]");
  expect_error([&] { tensor(v, {-1, -1}); },
               "InvalidArgument: shape: expected at most one unknown dimension, got [?,?]");
  expect_error([&] { tensor(std::vector<float>(), {0, -1}); },
               "InvalidArgument: shape: expected dimensions that divide 0 elements, got [0,?]");
  expect_error([&] { tensor(v, PartialShape()); }, "InvalidArgument: shape: expected a known rank, got ?");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
