// Elements of quantized tensors, for storage only: integers that represent real numbers in a range, which is given
// beside the tensor. They have types of their own, because integer arithmetic on them has no meaning.
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
