// Names that a compiler gave to types and functions, as they were written.
#pragma once

#include <string>

#include "panto/lib/base/export.h"

namespace panto {

// "std::vector<int, std::allocator<int> >" of "St6vectorIiSaIiEE"; the name itself where it cannot be read.
PANTO_EXPORT std::string demangled(const char* name);

}  // namespace panto
