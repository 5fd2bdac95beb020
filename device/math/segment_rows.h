// How segment ops join rows, and what empty segments are, on all devices.
#pragma once

#include <cstdint>
#include <type_traits>

#include "panto/device/math/convert.h"
#include "panto/device/math/functors.h"
#include "panto/device/math/limits.h"

namespace panto {

// How two rows are joined, and the value of an empty segment: `nothing` for unsorted ids, `gap` for sorted ids.
struct AddRows : AddFn {
  template <class T>
  static T nothing() {
    return convert<T>(0.0F);
  }
  template <class T>
  static T gap() {
    return nothing<T>();
  }
};
struct MultiplyRows : MulFn {
  template <class T>
  static T nothing() {
    return convert<T>(1.0F);
  }
  template <class T>
  static T gap() {
    return nothing<T>();
  }
};
// The limits are those of the elements' own type: a half's lowest number is not a float's.
struct LargestRow : MaximumFn {
  template <class T>
  static T nothing() {
    return lowest<T>();
  }
  template <class T>
  static T gap() {
    return convert<T>(0.0F);
  }
};
struct SmallestRow : MinimumFn {
  template <class T>
  static T nothing() {
    return highest<T>();
  }
  template <class T>
  static T gap() {
    return convert<T>(0.0F);
  }
};

// Returns what a segment of `rows` joined rows becomes: with kMean their mean, else what they are.
template <bool kMean, class T>
PANTO_FN T finished_segment(Compute<T> joined, int64_t rows) {
  if constexpr (!kMean) {
    return convert<T>(joined);
  } else if constexpr (std::is_integral_v<T>) {
    // Divided as 64-bit integers: the count may not fit into a narrow T.
    if constexpr (std::is_unsigned_v<T>)
      return static_cast<T>(joined / static_cast<uint64_t>(rows));
    else
      return static_cast<T>(static_cast<int64_t>(joined) / rows);
  } else {
    return convert<T>(k::div(joined, convert<Compute<T>>(rows)));
  }
}

}  // namespace panto
