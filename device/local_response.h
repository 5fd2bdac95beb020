// Local response normalization on all devices: what is computed for one element.
#pragma once

#include <cmath>
#include <cstdint>

#include "panto/device/math/vocabulary.h"
#include "panto/lib/core/call/call.h"

namespace panto {

// The arguments of LRN or its gradient, for images [batch, height, width, channels].
struct LocalResponse {
  int64_t radius, channels;
  float bias, alpha, beta;

  explicit LocalResponse(const KernelContext& c)
      : radius(c.integer("depth_radius")),
        channels(c.shape(0).dim(3)),
        bias(c.real("bias")),
        alpha(c.real("alpha")),
        beta(c.real("beta")) {}

  // Returns the sum of values(j) over channels j at most `radius` away from channel i. Not from a running sum: an
  // infinity must not spread further.
  template <class Values>
  PANTO_FN double nearby(int64_t i, const Values& values) const {
    const int64_t first = i < radius ? 0 : i - radius, last = radius < channels - i ? i + radius : channels - 1;
    double sum = 0;
    for (int64_t j = first; j <= last; ++j) sum += values(j);
    return sum;
  }
  // Returns what x[i] is divided by, before the power; x points to a pixel.
  PANTO_FN double norm(const float* x, int64_t i) const {
    const auto square = [x](int64_t j) { return static_cast<double>(x[j]) * static_cast<double>(x[j]); };
    return static_cast<double>(bias) + static_cast<double>(alpha) * nearby(i, square);
  }
  // Returns n^-beta, with a fast path for the default beta.
  PANTO_FN float power(double n) const {
    return beta == 0.5F ? 1 / std::sqrt(static_cast<float>(n)) : std::pow(static_cast<float>(n), -beta);
  }
  // Returns element i of the gradient of a pixel whose norms are n.
  PANTO_FN float gradient(const float* dy, const float* x, const float* y, const double* n, int64_t i) const {
    const double back =
        nearby(i, [=](int64_t j) { return static_cast<double>(dy[j]) * static_cast<double>(y[j]) / n[j]; });
    return dy[i] * power(n[i]) - 2 * alpha * beta * x[i] * static_cast<float>(back);
  }
};

}  // namespace panto
