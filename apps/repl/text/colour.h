// Colours of C++ on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace panto::repl {

// Returns `line` with escape sequences for colours (ECMA-48, SGR), otherwise unchanged. `before` is the text of the
// lines above, in which a comment or a raw string may begin.
std::string coloured(std::string_view before, std::string_view line);

}  // namespace panto::repl
