// What helps somebody who types what NumPy, PyTorch or TensorFlow call it: the compiler's message gets a line that says
// what is written here. Names come from docs/names.md (names.h); what a table cannot say is here.
#pragma once

#include <string>

namespace panto::repl {

// A compiler's message as the session shows it, with a line "hint: ..." where there is something to say.
std::string with_hint(const std::string& shown);

}  // namespace panto::repl
