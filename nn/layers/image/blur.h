// A Gaussian blur. Internal.
#pragma once

#include "panto/lib/core/tensor/tensor.h"
#include "panto/nn/layers/convolution/extents.h"

namespace panto::detail {

// Convolves images with a Gaussian window of height and width `size`, with zeros around them; the standard deviations
// are scalars.
Tensor blurred(const Tensor& images, Extent size, const Tensor& along_x, const Tensor& along_y);
// Convolves each channel with a kernel [height, width], with zeros around the images.
Tensor filtered(const Tensor& images, const Tensor& kernel);

}  // namespace panto::detail
