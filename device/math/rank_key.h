// Keys by which numbers are sorted, on every device.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "panto/device/math/vocabulary.h"

namespace panto {

// Returns an unsigned number that is smaller for larger x: 0 for NaN, which so precedes all numbers. -0 and 0 have the
// same key.
template <class T>
PANTO_FN auto rank_key(T x) {
  using Key = std::conditional_t<sizeof(T) <= 4, uint32_t, uint64_t>;
  constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
  if constexpr (std::is_floating_point_v<T>) {
    const auto bits = std::bit_cast<Key>(x + T{0});
    const Key key = (bits & kSign) != 0 ? bits : static_cast<Key>(~bits & ~kSign);
    return x == x ? key : Key{0};
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<Key>(~(static_cast<Key>(x) ^ kSign));
  } else {
    return static_cast<Key>(~static_cast<Key>(x));
  }
}

}  // namespace panto
