// What the tests of transforms share.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "panto/panto.h"

namespace panto::test {

inline bool near(const Tensor& a, const Tensor& b, double tolerance = 1e-5) {
  BOOST_REQUIRE_MESSAGE(a.shape() == b.shape(), a.shape().to_string() << " and " << b.shape().to_string());
  const std::vector<double> x = cast(a, kFloat64).to_vector<double>(), y = cast(b, kFloat64).to_vector<double>();
  for (size_t i = 0; i < x.size(); ++i) {
    if (!(std::abs(x[i] - y[i]) <= tolerance * (1 + std::abs(y[i])))) {
      BOOST_TEST_MESSAGE(a << "\nand\n" << b);
      return false;
    }
  }
  return true;
}

// Values that differ from one another.
inline Tensor numbers(const Shape& shape, double first = 0, DType dtype = kFloat32) {
  std::vector<double> values(static_cast<size_t>(shape.numel()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(first + 1.7 * static_cast<double>(i));
  return cast(tensor(values, shape), dtype);
}

struct HasText {
  std::string text;
  bool operator()(const Error& error) const {
    const bool found = std::string(error.what()).find(text) != std::string::npos;
    if (!found) BOOST_TEST_MESSAGE(error.what());
    return found;
  }
};

}  // namespace panto::test
