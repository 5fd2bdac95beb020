// Recognizes Python typed by habit: where such a line ends, although C++ would read on, and Python's indices.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "panto/apps/repl/text/tokens.h"

namespace panto::repl {

// If the line that begins at `begin` is Python (`for i in range(3):`, `def f(x):`, `class Net(nn.Module):`, `import
// numpy as np`), returns the token after it; otherwise `begin`.
size_t after_python_line(const std::vector<Token>& list, size_t begin);

// Returns our form of the first index that C++ reads differently from Python or not at all: "x(Slice(0, 2), -1)" for
// `x[0:2, -1]`, "x(0, -1)" for `x[0, -1]`. "" if there is none.
std::string python_index(std::string_view text);
// Returns true for an index with several numbers, of which C++ would take the last: `x[0, -1]`.
bool has_several_indices(std::string_view text);

}  // namespace panto::repl
