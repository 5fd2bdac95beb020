// Log lines of the library, on standard error. Level from PANTO_LOG (debug, info, warn, error, off; default warn), or
// from set_log_level. Thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "panto/lib/base/export.h"

namespace panto {

PANTO_EXPORT void log_debug(std::string_view text);
PANTO_EXPORT void log_info(std::string_view text);
PANTO_EXPORT void log_warn(std::string_view text);
// The same, for what would be said each time: a text is logged when it first comes.
PANTO_EXPORT void log_warn_once(std::string_view text);
PANTO_EXPORT bool log_debug_enabled();
// Instead of what PANTO_LOG says; returns the level before. Throws InvalidArgument for a word that is no level.
PANTO_EXPORT std::string set_log_level(std::string_view level);

}  // namespace panto
