// Convolutions of NHWC images on processors with AVX2, by panels of output channels.
//
// A panel is 16 output channels of the filter, packed side by side. Its sums for six windows stay in registers while
// the elements of the windows are read where they lie in the images: nothing is gathered, and images keep their layout.
// oneDNN's convolutions with AVX2 want images in blocks of channels, and products of matrices copy both factors.
#pragma once

#include <cstdint>

#include "panto/device/cpu/fused/epilogue.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/ops/nn/window.h"

namespace panto::cpu {

// Whether convolve_by_panels computes this convolution, and is the fastest way on this processor.
bool has_panels(const Convolution& c);

// The filter in panels, for later runs. Precondition: has_panels(c).
Tensor pack_panels(const Convolution& c, const float* filter, Device& device);

// The forward convolution. Every element is added up in the order of the filter's elements, whatever the number of
// threads. `packed`: the result of pack_panels for this filter, or null. `epilogue` may be null.
void convolve_by_panels(const Convolution& c, const float* input, const float* filter, float* output, Device& device,
                        const float* packed, const BoundEpilogue* epilogue);

}  // namespace panto::cpu
