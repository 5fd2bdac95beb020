// Hints for names from NumPy, PyTorch or TensorFlow: adds a line to the compiler's message with our equivalent. Names
// come from docs/names.md (names.h); this file has what a table cannot express.
#pragma once

#include <string>

namespace panto::repl {

// Returns a compiler's message, with an added line "hint: ..." if there is a hint.
std::string with_hint(const std::string& shown);

}  // namespace panto::repl
