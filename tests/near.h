// What tests say about values: a tensor's shape and elements, within a tolerance.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/ops/ops.h"

namespace panto {

inline std::vector<double> values_of(const Tensor& t) {
  return (t.dtype() == kFloat64 ? t : cast(t, kFloat64)).to_vector<double>();
}

// `t` has this shape and these elements, each within `tolerance` of its own size. `floor`: of that for smaller ones,
// where they are what is left of larger ones; without it zeros are zero.
inline void expect_near(const Tensor& t, const Shape& shape, const std::vector<double>& expected,
                        double tolerance = 1e-6, double floor = 0) {
  BOOST_REQUIRE(t.defined());
  BOOST_TEST(t.shape().to_string() == shape.to_string());
  const std::vector<double> got = values_of(t);
  BOOST_REQUIRE_EQUAL(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::fabs(got[i] - expected[i]) <= tolerance * std::max(floor, std::fabs(expected[i]))) continue;
    BOOST_ERROR("element " << i << ": expected " << expected[i] << ", got " << got[i]);
  }
}

// A template, so that braces mean a shape.
template <class Number>
  requires std::is_arithmetic_v<Number>
void expect_near(const Tensor& t, Number expected, double tolerance = 1e-6) {
  expect_near(t, Shape(), {static_cast<double>(expected)}, tolerance);
}

}  // namespace panto
