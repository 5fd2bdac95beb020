#include "panto/nn/layers/image/blur.h"

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto::detail {

Tensor filtered(const Tensor& images, const Tensor& kernel) {
  const int64_t channels = images.partial_shape().dim(3);
  if (channels < 0) failf(Code::kUnimplemented, "blur: expected a known number of channels, got another");
  const PartialShape& size = kernel.partial_shape();
  const Tensor one = reshape(cast(kernel, images.dtype()), {size.dim(0), size.dim(1), 1, 1});
  return depthwise_conv2d(images, repeat(one, channels, 2), {1, 1, 1, 1}, "SAME");
}

// The first number of `size` belongs to x, though the kernel's rows belong to y: as in Keras, where both sizes are
// equal.
Tensor blurred(const Tensor& images, Extent size, const Tensor& along_x, const Tensor& along_y) {
  const auto line = [](int64_t n, const Tensor& sigma) {
    const Tensor x = cast(arange(n), sigma.dtype()) - static_cast<double>(n - 1) / 2;
    const Tensor values = exp(square(x / sigma) * -0.5);
    return values / sum(values);
  };
  const Tensor x = line(size[0], along_x), y = line(size[1], along_y);
  return filtered(images, reshape(expand_dims(y, 1) * x, {size[0], size[1]}));
}

}  // namespace panto::detail
