// The limits of real types, of which std::numeric_limits does not know all.
#pragma once

#include <limits>
#include <type_traits>

#include "panto/device/math/convert.h"

namespace panto {

// The highest finite number.
template <class T>
T highest() {
  if constexpr (std::is_same_v<T, Half>) {
    return convert<T>(0x1.FFCp15F);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return convert<T>(0x1.FEp127F);
  } else {
    return std::numeric_limits<T>::max();
  }
}
template <class T>
T lowest() {
  if constexpr (is_half_type<T>) {
    return convert<T>(-convert<float>(highest<T>()));
  } else {
    return std::numeric_limits<T>::lowest();
  }
}

}  // namespace panto
