// The loop of Cast.
#pragma once

#include "panto/lib/core/dtype.h"
#include "panto/lib/core/kernel.h"

namespace panto::cpu {

// Null if there is none: elements of either type are no numbers or booleans.
RowFn cast_row(DType to, DType from);

}  // namespace panto::cpu
