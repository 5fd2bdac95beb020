// What the tests of kernels share.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "panto/device/math/convert.h"
#include "panto/lib/core/step/threads.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto::test {

// The number of threads until the end of a test.
class ThreadCount {
 public:
  explicit ThreadCount(int count) : previous_(num_threads()) { set_num_threads(count); }
  ~ThreadCount() { set_num_threads(previous_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int previous_;
};

inline bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.impl()->data, b.impl()->data, a.nbytes()) == 0;
}

// Uniform in [-1, 1); integers in [-100, 100].
template <class T>
std::vector<T> random_values(int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> values(static_cast<size_t>(n));
  for (T& v : values) {
    if constexpr (std::is_integral_v<T>) {
      v = static_cast<T>(static_cast<int>(random() % 201) - 100);
    } else if constexpr (is_half_type<T>) {
      v = T(static_cast<float>(random()) * 0x1p-31f - 1);
    } else {
      v = static_cast<T>(static_cast<double>(random()) * 0x1p-31 - 1);
    }
  }
  return values;
}

template <class T>
Tensor random_tensor(const Shape& shape, unsigned seed = 1) {
  return tensor(random_values<T>(shape.numel(), seed), shape);
}

// `got`, floats, are within a few units of `exact`, doubles, by `size`: sums of products are, by those of their
// absolutes.
inline void check_near(const Tensor& got, const Tensor& exact, const Tensor& size, const std::string& what) {
  BOOST_REQUIRE(got.shape() == exact.shape());
  const auto x = got.data<float>();
  const auto y = exact.data<double>(), bound = size.data<double>();
  for (size_t i = 0; i < x.size(); ++i) {
    const double error = std::abs(static_cast<double>(x[i]) - y[i]);
    if (error <= 16 * std::numeric_limits<float>::epsilon() * bound[i] + 1e-30) continue;
    BOOST_ERROR(what << " at " << i << ": " << x[i] << ", expected " << y[i]);
    return;
  }
}

}  // namespace panto::test
