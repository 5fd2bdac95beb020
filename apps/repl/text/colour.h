// Colours of C++ on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace panto::repl {

// `line` with the terminal's sequences for colours (ECMA-48, SGR) in it: the same characters otherwise. `before` is
// what stands in the lines above: a comment or a raw string may begin there.
std::string coloured(std::string_view before, std::string_view line);

}  // namespace panto::repl
