// Text within HTML and SVG.
#pragma once

#include <string>
#include <string_view>

#include "panto/lib/base/export.h"

namespace panto {

// The text with what is markup escaped, as what an element holds and within an attribute's quotes.
PANTO_EXPORT std::string escaped_markup(std::string_view text);

}  // namespace panto
