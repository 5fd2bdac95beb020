#include "panto/lib/base/checked.h"

#include "panto/lib/base/text/format.h"

namespace panto {

void detail::out_of_bounds(const char* what, const char* result, int64_t a, char op, int64_t b) {
  invalid("{}: expected a {} below 2^63, got {} {} {}", what, result, a, op, b);
}

}  // namespace panto
