#include "panto/lib/core/io/crc32c.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace panto {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected
constexpr size_t kSlices = 8;                 // bytes processed per step

using Tables = std::array<std::array<uint32_t, 256>, kSlices>;

// tables[k][b]: the effect of byte b on the checksum after k more bytes.
constexpr Tables make_tables() {
  Tables tables{};
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][b] = crc;
  }
  for (size_t k = 1; k < kSlices; ++k) {
    for (size_t b = 0; b < 256; ++b) {
      const uint32_t before = tables[k - 1][b];
      tables[k][b] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}
constexpr Tables kTables = make_tables();

}  // namespace

uint32_t extended_crc32c(uint32_t before, std::string_view bytes) noexcept {
  static_assert(std::endian::native == std::endian::little);
  uint32_t crc = ~before;
  const char* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= kSlices; at += kSlices, left -= kSlices) {
    uint64_t word;
    std::memcpy(&word, at, sizeof(word));
    word ^= crc;
    crc = 0;
    for (size_t k = 0; k < kSlices; ++k) crc ^= kTables[kSlices - 1 - k][(word >> (8 * k)) & 0xff];
  }
  for (; left > 0; ++at, --left) crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<uint8_t>(*at)) & 0xff];
  return ~crc;
}

uint32_t crc32c(std::string_view bytes) noexcept { return extended_crc32c(0, bytes); }

uint32_t masked_crc32c(std::string_view bytes) noexcept { return mask_crc32c(crc32c(bytes)); }

uint32_t mask_crc32c(uint32_t crc) noexcept { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

}  // namespace panto
