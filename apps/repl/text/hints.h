// What helps somebody who knows NumPy and types what it is called there.
#pragma once

#include <string>

namespace panto::repl {

// How NumPy's or Python's `name` is written here; "" for others.
std::string written_here(const std::string& name);

// A compiler's message as the session shows it, with a line "hint: ..." where there is something to say.
std::string with_hint(const std::string& shown);

}  // namespace panto::repl
