#include "panto/lib/base/text/demangle.h"

#include <boost/core/demangle.hpp>

namespace panto {

std::string demangled(const char* name) { return boost::core::demangle(name); }

}  // namespace panto
