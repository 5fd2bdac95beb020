// Gradients of functions of complex tensors against finite differences. The gradient of y = f(x) is dy * conj(f'(x)),
// as in TensorFlow: what the real and imaginary parts of x do to the real part of conj(dy) * y.
#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <complex>
#include <functional>
#include <vector>

#include "panto/autograd/tape.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/trace/trace.h"

namespace panto {

using Complex = std::complex<double>;
using Complexes = std::vector<Complex>;
using Tensors = std::vector<Tensor>;
using Formula = std::function<Tensor(const Tensors&)>;

// Each element within `tolerance` of its own size, or of `floor` where that is larger.
inline void expect_close(const Tensor& t, const Complexes& expected, double tolerance, double floor = 0) {
  BOOST_REQUIRE(t.defined());
  const Complexes got = cast(t, kComplex128).to_vector<Complex>();
  BOOST_REQUIRE_EQUAL(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::abs(got[i] - expected[i]) <= tolerance * std::max(floor, std::abs(expected[i]))) continue;
    BOOST_ERROR("element " << i << ": expected " << expected[i] << ", got " << got[i]);
  }
}

inline Tensor like(const Complexes& values, const Tensor& shape_of) { return reshape(tensor(values), shape(shape_of)); }

inline Tensor scalar(Complex value) { return reshape(tensor(Complexes{value}), Shape{}); }

// Some number for each element, none of them real.
inline Complexes seed_of(size_t count) {
  Complexes seed;
  for (size_t i = 0; i < count; ++i) {
    seed.emplace_back(0.75 - 0.5 * static_cast<double>(i), 1.25 - 0.375 * static_cast<double>(i * i));
  }
  return seed;
}

inline double objective(const Formula& f, const Tensors& x) {
  const Complexes y = f(x).to_vector<Complex>();
  const Complexes dy = seed_of(y.size());
  double sum = 0;
  for (size_t i = 0; i < y.size(); ++i) sum += (std::conj(dy[i]) * y[i]).real();
  return sum;
}

inline Tensor gradient_of(const Formula& f, const Tensors& x, size_t by) {
  GradientTape tape;
  tape.watch(x[by]);
  const Tensor y = f(x);
  return tape.gradient(y, x[by], cast(like(seed_of(static_cast<size_t>(y.numel())), y), y.dtype()));
}

// By steps along both axes.
inline Complexes numeric_gradient(const Formula& f, const Tensors& x, size_t by) {
  constexpr double kStep = 1e-5;
  const Complexes at = x[by].to_vector<Complex>();
  const auto slope = [&](size_t i, Complex step) {
    const auto moved = [&](Complex by_this) {
      Complexes there = at;
      there[i] += by_this;
      Tensors arguments = x;
      arguments[by] = like(there, x[by]);
      return objective(f, arguments);
    };
    return (moved(step) - moved(-step)) / (2 * kStep);
  };
  Complexes result;
  for (size_t i = 0; i < at.size(); ++i) result.emplace_back(slope(i, {kStep, 0}), slope(i, {0, kStep}));
  return result;
}

inline double largest_of(const Complexes& values) {
  double largest = 1;
  for (const Complex v : values) largest = std::max(largest, std::abs(v));
  return largest;
}

// By every input, of both orders; also traced, and in complex64. `floor`: of tolerances, in the size of the largest
// element that is expected (and at least 1).
inline void check_gradients(const Formula& f, const Tensors& x, double floor = 0) {
  Tensors narrow;
  for (const Tensor& t : x) narrow.push_back(cast(t, kComplex64));
  const Function traced = trace([&](std::span<const Tensor> a) { return f(Tensors(a.begin(), a.end())); });
  for (size_t by = 0; by < x.size(); ++by) {
    BOOST_TEST_CONTEXT("by input " << by) {
      const Complexes expected = numeric_gradient(f, x, by);
      const double least = floor * largest_of(expected);
      expect_close(gradient_of(f, x, by), expected, 1e-7, least);
      expect_close(gradient_of(f, narrow, by), expected, 1e-4, least);
      expect_close(gradient_of([&](const Tensors& a) { return traced.call(a)[0]; }, x, by), expected, 1e-7, least);
      // Second order: the gradient's own.
      const Formula first = [&f, by](const Tensors& a) { return gradient_of(f, a, by); };
      for (size_t again = 0; again < x.size(); ++again) {
        const Complexes second = numeric_gradient(first, x, again);
        const Tensor got = gradient_of(first, x, again);
        if (got.defined()) {
          expect_close(got, second, 1e-6, floor * largest_of(second));
        } else {
          BOOST_TEST(std::ranges::all_of(second, [](Complex v) { return std::abs(v) < 1e-6; }));
        }
      }
    }
  }
}

}  // namespace panto
