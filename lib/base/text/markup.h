// Escaping of text for HTML and SVG.
#pragma once

#include <string>
#include <string_view>

#include "panto/lib/base/export.h"

namespace panto {

// Escapes markup characters, for use inside an element or a quoted attribute.
PANTO_EXPORT std::string escaped_markup(std::string_view text);

}  // namespace panto
