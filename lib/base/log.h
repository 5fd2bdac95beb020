// Log lines of the library, on standard error. The level comes from PANTO_LOG (debug, info, warn, error, off; default
// warn) or from set_log_level. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "panto/lib/base/export.h"

namespace panto {

PANTO_EXPORT void log_debug(std::string_view text);
PANTO_EXPORT void log_info(std::string_view text);
PANTO_EXPORT void log_warn(std::string_view text);
// Logs each different text only once: for warnings that would repeat.
PANTO_EXPORT void log_warn_once(std::string_view text);
PANTO_EXPORT bool log_debug_enabled();
// Overrides PANTO_LOG. Returns the previous level. Throws InvalidArgument for an unknown word.
PANTO_EXPORT std::string set_log_level(std::string_view level);

}  // namespace panto
