// Dilation2D and its gradients on all devices: the largest sum of a window.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "panto/device/math/convert.h"
#include "panto/device/math/vocabulary.h"
#include "panto/lib/ops/nn/window.h"

namespace panto {

template <class T>
PANTO_FN constexpr Compute<T> lowest_finite() {
  if constexpr (std::is_same_v<T, Half>) {
    return -65504.F;
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return -0x1.fep127F;
  } else {
    return std::numeric_limits<T>::lowest();
  }
}

template <class T>
struct Dilation : Windows {
  int64_t images, channels;
  const T *input, *filter;

  explicit Dilation(const KernelContext& c)
      : Windows(dilation_of(c, c.shape(0), c.shape(1))),
        images(c.shape(0).dim(0)),
        channels(c.shape(0).dim(3)),
        input(c.data<T>(0)),
        filter(c.data<T>(1)) {}

  PANTO_FN int64_t outputs() const { return height.output * width.output * channels; }
  PANTO_FN int64_t inputs() const { return height.input * width.input * channels; }
  PANTO_FN int64_t out_at(int64_t n, int64_t y, int64_t x, int64_t c) const {
    return n * outputs() + (y * width.output + x) * channels + c;
  }
  int64_t work() const {
    return static_cast<int64_t>(std::min(0x1p61, static_cast<double>(images) * static_cast<double>(outputs()) *
                                                     static_cast<double>(height.size) *
                                                     static_cast<double>(width.size) * 8));
  }

  struct Largest {
    Compute<T> sum;
    int64_t in, tap;  // flat indices in the input's image and in the filter
  };
  // If no sum is larger than the lowest number: the window's corner in the image and the filter's first element, as in
  // TensorFlow.
  PANTO_FN Largest largest(int64_t n, int64_t y, int64_t x, int64_t c) const {
    const int64_t corner = std::max<int64_t>(0, height.begin(y)) * width.input + std::max<int64_t>(0, width.begin(x));
    Largest best{lowest_finite<T>(), corner * channels + c, c};
    const T* image = input + n * inputs();
    for (int64_t i = height.first(y); i < height.last(y); ++i) {
      const int64_t row = (height.begin(y) + i * height.dilation) * width.input;
      for (int64_t j = width.first(x); j < width.last(x); ++j) {
        const int64_t in = (row + width.begin(x) + j * width.dilation) * channels + c;
        const int64_t tap = (i * width.size + j) * channels + c;
        const auto sum = k::add(convert<Compute<T>>(image[in]), convert<Compute<T>>(filter[tap]));
        if (sum > best.sum) best = {sum, in, tap};
      }
    }
    return best;
  }
};

}  // namespace panto
