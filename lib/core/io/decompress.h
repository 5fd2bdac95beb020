// Bytes that were compressed, as they were before. Thread-safety: plain functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/lib/base/file.h"
#include "panto/lib/core/io/input_stream.h"

namespace panto {

// No bytes are those of none. Several members of gzip are one after the other. Throws DataLoss for what was not so
// compressed or ends too early, ResourceExhausted for more than `limit` bytes.
PANTO_EXPORT std::string decompress(std::string_view bytes, Compression compression, uint64_t limit = kMaxFileBytes);

}  // namespace panto
