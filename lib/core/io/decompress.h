// Decompression. Thread-safety: plain functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/lib/base/file.h"
#include "panto/lib/core/io/input_stream.h"

namespace panto {

// Empty input gives empty output. Several gzip members are concatenated. Throws DataLoss for invalid or truncated data,
// ResourceExhausted for more than `limit` bytes of output.
PANTO_EXPORT std::string decompress(std::string_view bytes, Compression compression, uint64_t limit = kMaxFileBytes);

}  // namespace panto
