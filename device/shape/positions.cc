#include "panto/device/shape/positions.h"

#include "panto/lib/base/text/format.h"

namespace panto {

void bad_position(int64_t r, int64_t d, int64_t limit, int64_t index) {
  invalid("indices[{}, {}]: expected one in [0, {}), got {}", r, d, limit, index);
}

}  // namespace panto
