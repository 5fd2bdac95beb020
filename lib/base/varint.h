// Variable-length integers: seven bits a byte, the lowest first. Used in tables, protocol buffers and before strings.
// Internal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "panto/lib/base/error.h"

namespace panto {

inline void append_varint(std::string& to, uint64_t number) {
  for (; number >= 0x80; number >>= 7) to.push_back(static_cast<char>((number & 0x7f) | 0x80));
  to.push_back(static_cast<char>(number));
}

// Removes one number from the front of `bytes`. Throws DataLoss if there is none of at most `bits` bits.
inline uint64_t take_varint(std::string_view& bytes, int bits = 64) {
  uint64_t number = 0;
  for (int shift = 0; shift < bits && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    const uint64_t part = byte & 0x7f;
    if (shift + 7 > bits && (part >> (bits - shift)) != 0) break;
    number |= part << shift;
    if (byte < 0x80) return number;
  }
  fail(Code::kDataLoss, "number: expected one in bytes of seven bits, got other bytes");
}

}  // namespace panto
