// zlib's parameters for a compression format. Internal.
#pragma once

#include <zlib.h>

#include "panto/lib/core/io/input_stream.h"

namespace panto {

constexpr int zlib_window_bits(Compression compression) {
  return compression == Compression::kGzip ? MAX_WBITS + 16 : MAX_WBITS;
}

}  // namespace panto
