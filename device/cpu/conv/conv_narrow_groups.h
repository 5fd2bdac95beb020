// Convolutions of groups of four channels, as ResNeXt's first blocks have.
//
// oneDNN has no fast way for them in NHWC where vectors are of eight floats. Here a vector of output channels is of two
// groups or more: of the vector of the same input channels the first of each group is spread over its group, then the
// second and so on. 3x3, 4x56x56x128 in 32 groups, on two Zen 3 cores: 14.6 ms by oneDNN, 3.9 here. With
// AVX-512, whose vectors take four groups, it was not measured.
#pragma once

#include "panto/device/cpu/fused/epilogue.h"
#include "panto/lib/ops/nn/window.h"

namespace panto::cpu {

// Whether there are four channels in and out for each group, in NHWC, and vectors' worth of groups.
bool has_narrow_groups(const Convolution& c);
// The forward convolution. Every element is added up in an order of its own, whatever the number of threads.
// `epilogue`: or null.
void convolve_narrow_groups(const Convolution& c, const float* input, const float* filter, float* output,
                            const BoundEpilogue* epilogue);

}  // namespace panto::cpu
