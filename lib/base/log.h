// Log lines of the library, on standard error. Level from PANTO_LOG (debug, info, warn, error, off; default warn).
// Thread-safe.
#pragma once

#include <string_view>

#include "panto/lib/base/export.h"

namespace panto {

PANTO_EXPORT void log_debug(std::string_view text);
PANTO_EXPORT void log_info(std::string_view text);
PANTO_EXPORT void log_warn(std::string_view text);
PANTO_EXPORT bool log_debug_enabled();

}  // namespace panto
