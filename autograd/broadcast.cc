#include "panto/autograd/broadcast.h"

#include <vector>

#include "panto/lib/core/op/gradient.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {

Tensor sum_to(Tensor gradient, const PartialShape& shape, const Tensor& input) {
  const PartialShape& from = gradient.partial_shape();
  if (shape.fully_known() && from.known_rank()) {
    if (from == shape) return gradient;
    // Leading dimensions that the input does not have, and dimensions in which it has size 1.
    const int extra = from.rank() - shape.rank();
    std::vector<int64_t> axes;
    for (int k = 0; k < from.rank(); ++k) {
      if (k < extra || (shape.dim(k - extra) == 1 && from.dim(k) != 1)) axes.push_back(k);
    }
    Tensor summed = axes.empty() ? std::move(gradient) : sum(std::move(gradient), axes, {.keep_dims = true});
    return summed.partial_shape() == shape ? summed : reshape(std::move(summed), Shape(shape));
  }
  if (shape.fully_known() && shape.rank() == 0) return sum(std::move(gradient));
  const Tensor wanted = shape.fully_known() ? shape_literal(shape) : panto::shape(input);
  const Tensor axes = broadcast_gradient_args(wanted, panto::shape(gradient, {.out_type = wanted.dtype()})).r0;
  return reshape(sum(std::move(gradient), axes), wanted);
}

}  // namespace panto
