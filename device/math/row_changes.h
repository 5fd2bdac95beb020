// How scatter updates change an element, besides the functors of elementwise ops (AddFn, MaximumFn, ...), on all
// devices: value = Change{}(value, update).
#pragma once

#include <type_traits>

#include "panto/device/math/vocabulary.h"

namespace panto {

struct ReplaceRow {
  template <class T>
  PANTO_FN T operator()(const T& /*value*/, const T& update) const {
    return update;
  }
};

// Integers must not be divided by 0, which the caller checks.
struct DivideRow {
  template <class T>
  PANTO_FN T operator()(T value, T update) const {
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      if (update == static_cast<T>(-1)) return k::neg(value);  // also right for the smallest integer
    }
    return k::div(value, update);
  }
};

// True if updates of 0 are errors.
template <class Change, class T>
inline constexpr bool kRefusesZero = std::is_same_v<Change, DivideRow> && std::is_integral_v<T>;

}  // namespace panto
