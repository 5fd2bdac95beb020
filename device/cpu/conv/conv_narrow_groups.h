// Convolutions of groups of four channels, as ResNeXt's first blocks have, and depthwise ones, of groups of one.
//
// oneDNN has no fast path for them in NHWC with vectors of eight floats. Here a vector of output channels covers two or
// more groups: it takes the vector of the same input channels, spreads the first channel of each group over its group,
// multiplies, then does so with the second channel, and so on. 3x3, 4x56x56x128 in 32 groups, on two Zen 3 cores: 14.6
// ms by oneDNN, 3.9 here. Not measured with AVX-512, whose vectors cover four groups. A depthwise convolution needs no
// spreading; where there is AVX-512, oneDNN's are used.
#pragma once

#include "panto/device/cpu/fused/epilogue.h"
#include "panto/lib/ops/nn/window.h"

namespace panto::cpu {

// Whether each group has four channels in and four out, or one, in NHWC, and the groups fill whole vectors.
bool has_narrow_groups(const Convolution& c);
// The forward convolution. Every element is added up in a fixed order, whatever the number of threads. `epilogue` may
// be null.
void convolve_narrow_groups(const Convolution& c, const float* input, const float* filter, float* output,
                            const BoundEpilogue* epilogue);

}  // namespace panto::cpu
