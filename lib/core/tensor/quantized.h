// The elements of quantized tensors, as storage: integers that stand for real numbers of a range, which goes beside the
// tensor. They are types of their own, since no arithmetic of integers has a meaning for them.
#pragma once

#include <cstdint>

namespace panto {

template <class Int>
struct QuantizedInt {
  Int value = 0;

  QuantizedInt() = default;
  constexpr explicit QuantizedInt(Int v) : value(v) {}
  constexpr explicit operator Int() const { return value; }
  constexpr bool operator==(const QuantizedInt&) const = default;
};

using QInt8 = QuantizedInt<int8_t>;
using QUint8 = QuantizedInt<uint8_t>;
using QInt16 = QuantizedInt<int16_t>;
using QUint16 = QuantizedInt<uint16_t>;
using QInt32 = QuantizedInt<int32_t>;

}  // namespace panto
