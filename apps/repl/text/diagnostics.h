// What a compiler said, as the person who typed the input wants to read it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace panto::repl {

// `origin` is what #line calls the input; `source_line` gives its lines by number ("" if there is none). The first
// errors are kept, with the line each is about; what lies in headers is named briefly, and names that the session made
// up are left out.
std::string readable(const std::string& said, std::string_view origin,
                     const std::function<std::string(int)>& source_line);

}  // namespace panto::repl
