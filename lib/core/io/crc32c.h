// CRC-32C (Castagnoli), the checksum of record files and checkpoints.
#pragma once

#include <cstdint>
#include <string_view>

#include "panto/lib/base/export.h"

namespace panto {

PANTO_EXPORT uint32_t crc32c(std::string_view bytes) noexcept;
// The checksum of the bytes of `crc` followed by `bytes`: crc32c("ab") == extended_crc32c(crc32c("a"), "b").
PANTO_EXPORT uint32_t extended_crc32c(uint32_t crc, std::string_view bytes) noexcept;
// The masked form that files store: checksums of data that contains checksums would be weak otherwise.
PANTO_EXPORT uint32_t masked_crc32c(std::string_view bytes) noexcept;
PANTO_EXPORT uint32_t mask_crc32c(uint32_t crc) noexcept;

}  // namespace panto
