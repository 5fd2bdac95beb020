// The inner loop of Cast.
#pragma once

#include "panto/device/cpu/elementwise/kernel_loop.h"
#include "panto/lib/core/tensor/dtype.h"

namespace panto::cpu {

// Returns null if either type is neither numeric nor bool.
InnerLoopFn cast_inner_loop(DType to, DType from);

}  // namespace panto::cpu
