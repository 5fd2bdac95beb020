// CRC-32C (Castagnoli), the checksum of record files and checkpoints.
#pragma once

#include <cstdint>
#include <string_view>

#include "panto/lib/base/export.h"

namespace panto {

PANTO_EXPORT uint32_t crc32c(std::string_view bytes) noexcept;
// Of what `crc` is of with `bytes` behind it: crc32c("ab") == extended_crc32c(crc32c("a"), "b").
PANTO_EXPORT uint32_t extended_crc32c(uint32_t crc, std::string_view bytes) noexcept;
// As files store it, so that the checksum of bytes that have checksums in them is a good one, too.
PANTO_EXPORT uint32_t masked_crc32c(std::string_view bytes) noexcept;
PANTO_EXPORT uint32_t mask_crc32c(uint32_t crc) noexcept;

}  // namespace panto
