// What fused kernels do to their result, on the GPU: one pass over it.
#pragma once

#include <cstdint>

#include "panto/lib/core/call/call.h"

namespace panto::cuda {

// Finishes output 0 of a call of _FusedMatMul or _FusedConv2D, which lies as [outer, channels, inner] and holds what
// was multiplied. Throws as given_terms and parse_epilogue do (device/math/epilogue.h).
void finish(KernelContext& call, int64_t outer, int64_t channels, int64_t inner);

}  // namespace panto::cuda
