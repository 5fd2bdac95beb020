// Lines of Python that are typed by habit: where one ends, though C++ would read on, and indices as Python has them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "panto/apps/repl/text/tokens.h"

namespace panto::repl {

// The token after the line that begins at `begin`, if that is one of Python's: `for i in range(3):`, `def f(x):`,
// `class Net(nn.Module):`, `import numpy as np`. Otherwise `begin`.
size_t after_python_line(const std::vector<Token>& list, size_t begin);

// The first index of a text that C++ reads otherwise than Python, or not at all, as it is written here:
// "x(Slice(0, 2), -1)" of `x[0:2, -1]`, "x(0, -1)" of `x[0, -1]`. "" where there is none.
std::string python_index(std::string_view text);
// Whether there are several numbers between brackets, of which C++ takes the last: `x[0, -1]`.
bool has_several_indices(std::string_view text);

}  // namespace panto::repl
