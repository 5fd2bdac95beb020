// The loop of Cast.
#pragma once

#include "panto/device/cpu/elementwise/kernel_loop.h"
#include "panto/lib/core/tensor/dtype.h"

namespace panto::cpu {

// Null if there is none: elements of either type are no numbers or booleans.
InnerLoopFn cast_inner_loop(DType to, DType from);

}  // namespace panto::cpu
