// The activations that are not ops.
#include <utility>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/nn/layers/activation.h"
#include "panto/nn/layers/core/shapes.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

// Calls f on the tensor; errors name the caller's line.
template <class F>
Tensor of(Arg x, F f) {
  return from_caller(x.where(), [&]() -> Tensor { return f(identity(std::move(x))); });
}

}  // namespace

Tensor celu(Arg x, const CeluOptions& options) {
  return of(std::move(x), [&](const Tensor& t) -> Tensor {
    const double alpha = options.alpha;
    if (alpha == 0) invalid("celu: expected an alpha other than 0, got 0");
    return maximum(t, 0.0) + alpha * expm1(minimum(t, 0.0) / alpha);
  });
}

Tensor glu(Arg x, const GluOptions& options) {
  return of(std::move(x), [&](const Tensor& t) -> Tensor {
    const int axis = detail::normal_axis("glu", options.axis, detail::known_rank("glu", t, 1));
    const int64_t size = t.partial_shape().dim(axis);
    if (size < 0 || size % 2 != 0) {
      invalid("glu: expected an even size of axis {}, got {}", axis, t.partial_shape().to_string());
    }
    const std::vector<Tensor> halves = split(axis, t, 2);
    return halves[0] * sigmoid(halves[1]);
  });
}

Tensor hard_shrink(Arg x, const ShrinkOptions& options) {
  return of(std::move(x), [&](const Tensor& t) { return where(abs(t) > options.threshold, t, zeros_like(t)); });
}
Tensor soft_shrink(Arg x, const ShrinkOptions& options) {
  return of(std::move(x), [&](const Tensor& t) {
    const double bound = options.threshold;
    return where(t > bound, t - bound, where(t < -bound, t + bound, zeros_like(t)));
  });
}
Tensor tanh_shrink(Arg x) {
  return of(std::move(x), [](const Tensor& t) { return t - tanh(t); });
}

Tensor hard_sigmoid(Arg x) {
  return of(std::move(x), [](const Tensor& t) { return relu6(t + 3.0) / 6.0; });
}
Tensor hard_silu(Arg x) {
  return of(std::move(x), [](const Tensor& t) { return t * hard_sigmoid(t); });
}
Tensor hard_tanh(Arg x) {
  return of(std::move(x), [](const Tensor& t) { return clip_by_value(t, -1.0, 1.0); });
}
Tensor log_sigmoid(Arg x) {
  return of(std::move(x), [](const Tensor& t) { return -softplus(-t); });
}
Tensor mish(Arg x) {
  return of(std::move(x), [](const Tensor& t) { return t * tanh(softplus(t)); });
}
Tensor sparse_plus(Arg x) {
  return of(std::move(x),
            [](const Tensor& t) { return where(t <= -1.0, zeros_like(t), where(t < 1.0, 0.25 * square(t + 1.0), t)); });
}
Tensor sparse_sigmoid(Arg x) {
  return of(std::move(x), [](const Tensor& t) {
    return where(t <= -1.0, zeros_like(t), where(t >= 1.0, ones_like(t), 0.5 * (t + 1.0)));
  });
}

Tensor sparsemax(Arg x, const SparsemaxOptions& options) {
  return of(std::move(x), [&](const Tensor& t) {
    const int rank = detail::known_rank("sparsemax", t, 1);
    const int axis = detail::normal_axis("sparsemax", options.axis, rank);
    const Tensor sorted = sort(t, {.axis = axis, .descending = true});
    const Tensor sums = cumsum(sorted, axis);
    std::vector<int64_t> along(static_cast<size_t>(rank), 1);
    along[static_cast<size_t>(axis)] = -1;
    const Tensor counts = reshape(cast(range(1, shape(t)[axis] + 1, 1), t.dtype()), along);
    // The support: the largest elements that stay positive after the common threshold is subtracted.
    const Tensor support = sorted - (sums - 1.0) / counts > 0.0;
    const Tensor count = sum(cast(support, t.dtype()), axis, true);
    const Tensor total = sum(where(support, sorted, zeros_like(sorted)), axis, true);
    return maximum(t - (total - 1.0) / count, 0.0);
  });
}

Tensor squareplus(Arg x, const SquareplusOptions& options) {
  return of(std::move(x), [&](const Tensor& t) { return (t + sqrt(square(t) + options.b)) / 2.0; });
}

Tensor threshold(Arg x, double bound, double otherwise) {
  return of(std::move(x), [&](const Tensor& t) { return where(t > bound, t, otherwise); });
}

}  // namespace panto
