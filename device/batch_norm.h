// Batch normalisation on all devices. Convolutions with a fused batch normalisation use the same arithmetic as the CPU
// kernel, so both give the same bits.
#pragma once

#include <string>

#include "panto/device/channels.h"
#include "panto/device/math/vocabulary.h"
#include "panto/lib/core/call/call.h"

namespace panto {

// The factor of one channel.
PANTO_FN float norm_factor(float scale, float variance, float epsilon) { return scale / k::sqrt(variance + epsilon); }

PANTO_FN float normalised(float x, float mean, float factor, float offset) { return (x - mean) * factor + offset; }

// The channels of `x`, images or volumes; the call's attribute `data_format` tells which axis they are.
inline Channels channels_of(const CallView& call, const Shape& x) {
  return {x, call.text("data_format")[1] == 'C' ? 1 : x.rank() - 1};
}

// Throws Unimplemented unless the type of `input` (the op's type U) is float32.
inline void expect_float(const KernelContext& c, int input) {
  if (c.in(input).dtype() != kFloat32) {
    fail(Code::kUnimplemented, "U: expected float32, got " + std::string(dtype_name(c.in(input).dtype())));
  }
}

}  // namespace panto
