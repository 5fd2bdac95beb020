// The epilogue of fused kernels on the GPU: one pass over the result.
#pragma once

#include <cstdint>

#include "panto/lib/core/call/call.h"

namespace panto::cuda {

// Finishes output 0 of a call of _FusedMatMul, _FusedConv2D or _FusedDepthwiseConv2dNative, which has the layout
// [outer, channels, inner] and holds the product. Throws as given_terms and parse_epilogue do (device/math/epilogue.h).
void finish(KernelContext& call, int64_t outer, int64_t channels, int64_t inner);

}  // namespace panto::cuda
