// The bins of HistogramFixedWidth, on all devices.
#pragma once

#include <cstdint>
#include <type_traits>

#include "panto/device/math/vocabulary.h"

namespace panto {

// `count` bins of equal width from `low` to `high`.
template <class T>
struct Bins {
  T low;
  double width, last;

  PANTO_FN Bins(T low, T high, int64_t count)
      : low(low),
        width((static_cast<double>(high) - static_cast<double>(low)) / static_cast<double>(count)),
        last(static_cast<double>(count - 1)) {}

  // Returns the number of the bin in which x counts, which is not NaN.
  PANTO_FN int64_t of(T x) const {
    const double bin = distance(x > low ? x : low) / width;
    return static_cast<int64_t>(bin < last ? bin : last);
  }

 private:
  // Floats are subtracted in their own type, as in TensorFlow: the rounding decides the bin of a value at an edge.
  PANTO_FN double distance(T x) const {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<double>(x - low);
    } else {
      return static_cast<double>(x) - static_cast<double>(low);
    }
  }
};

}  // namespace panto
