// Mangled names of types and functions, as they were written in C++.
#pragma once

#include <string>

#include "panto/lib/base/export.h"

namespace panto {

// "std::vector<int, std::allocator<int> >" for "St6vectorIiSaIiEE"; the name itself if it cannot be demangled.
PANTO_EXPORT std::string demangled(const char* name);

}  // namespace panto
