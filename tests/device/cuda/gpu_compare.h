// The same function on the GPU and on the CPU.
#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "panto/lib/ops/ops.h"
#include "panto/tests/gpu.h"

namespace panto::test {

using Tensors = std::vector<Tensor>;

// from, from + step, ...; beginning again after a thousand.
inline Tensor ramp(const Shape& shape, float from, float step) {
  std::vector<float> values(static_cast<size_t>(shape.numel()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = from + step * static_cast<float>(i % 1000);
  return tensor(values, shape);
}

// Fails where `got` has another shape or type than `expected`, or an element that differs by more than `tolerance`,
// relative to what is above 1.
inline void expect_same(const Tensor& expected, const Tensor& got, double tolerance, const std::string& what) {
  BOOST_REQUIRE(got.shape() == expected.shape());
  BOOST_REQUIRE(got.dtype() == expected.dtype());
  const std::vector<double> a = cast(expected.cpu(), kFloat64).to_vector<double>();
  const std::vector<double> b = cast(got.cpu(), kFloat64).to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    const bool same = a[i] == b[i] || std::abs(a[i] - b[i]) <= tolerance * std::max(1., std::abs(a[i]));
    BOOST_REQUIRE_MESSAGE(same, what << ": element " << i << ": expected " << a[i] << ", got " << b[i]);
  }
}

// Fails where an output of `f`, a function of and to Tensors, is not on the GPU or differs by more than `tolerance`,
// relative to what is above 1. `hosted`: the inputs that stay on the host.
template <class Function>
void compare_on_gpu(const Function& f, const Tensors& inputs, double tolerance, const std::string& what,
                    const std::vector<size_t>& hosted = {}) {
  Tensors there;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool stays = std::find(hosted.begin(), hosted.end(), i) != hosted.end();
    there.push_back(stays ? inputs[i] : inputs[i].to(*gpu()));
  }
  const Tensors expected = f(inputs);
  const Tensors got = f(there);
  BOOST_REQUIRE(got.size() == expected.size());
  for (size_t k = 0; k < got.size(); ++k) {
    BOOST_TEST(&got[k].device() == gpu(), what << ": output " << k << " is on " << got[k].device().name());
    expect_same(expected[k], got[k], tolerance, what + ", output " + std::to_string(k));
  }
}

}  // namespace panto::test
