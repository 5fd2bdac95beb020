// A Gaussian blur. Internal.
#pragma once

#include "panto/lib/core/tensor/tensor.h"
#include "panto/nn/layers/convolution/extents.h"

namespace panto::detail {

// Images convolved with a window of height and width `size`, zeros around them; the deviations are scalars.
Tensor blurred(const Tensor& images, Extent size, const Tensor& along_x, const Tensor& along_y);
// Each channel convolved with a kernel [height, width], of zeros outside of the images.
Tensor filtered(const Tensor& images, const Tensor& kernel);

}  // namespace panto::detail
