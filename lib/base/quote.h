// Text in double quotes, on one line.
#pragma once

#include <string>
#include <string_view>

#include "panto/lib/base/export.h"

namespace panto {

// "say \"hi\"\n": quotes and backslashes behind a backslash, \n, \t and \r by name, other control characters as \x1b.
// Signatures read it (lib/core/signature.h).
PANTO_EXPORT std::string quote(std::string_view text);

}  // namespace panto
