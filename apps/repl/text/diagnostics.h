// Makes compiler messages readable for the person who typed the input.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace panto::repl {

// `origin` is the input's name in #line; `source_line` returns its lines by number ("" if there is none). Keeps the
// first errors with their source lines, shortens errors in headers, and removes names that the session made up.
std::string readable(const std::string& said, std::string_view origin,
                     const std::function<std::string(int)>& source_line);

}  // namespace panto::repl
