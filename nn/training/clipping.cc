#include "panto/nn/training/clipping.h"

#include <cmath>
#include <limits>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/ops/math.h"

namespace panto {

namespace {

Tensor& value_of(Tensor& gradient) { return gradient; }
Tensor& value_of(Gradient& gradient) { return gradient.elements(); }

// The elements of the defined gradients.
template <class G>
std::vector<Tensor> values_of(std::span<const G> gradients) {
  std::vector<Tensor> values;
  for (G g : gradients) {
    if (value_of(g).defined()) values.push_back(value_of(g));
  }
  return values;
}

template <class G, class F>
std::vector<G> changed(std::span<const G> gradients, const F& change) {
  std::vector<G> result(gradients.begin(), gradients.end());
  for (G& g : result) {
    Tensor& value = value_of(g);
    if (value.defined()) value = change(value);
  }
  return result;
}

// A norm as the product of two float64 scalars: a plain sum of squares could overflow or underflow in the elements'
// type.
struct Norm {
  Tensor largest;  // the largest absolute value, or the smallest normal float
  Tensor share;    // the norm divided by `largest`
};

Norm norm_of(std::span<const Tensor> values) {
  if (values.empty()) return {tensor(1.0), tensor(0.0)};
  // Starts from the first value, so that all is computed on its device.
  Tensor largest, squares;
  for (const Tensor& x : values) {
    const Tensor here = cast(max(abs(x)), kFloat64);
    largest = largest.defined() ? maximum(largest, here) : here;
  }
  // Not zero in any type, and not minus infinity, the maximum of no elements.
  largest = maximum(largest, static_cast<double>(std::numeric_limits<float>::min()));
  for (const Tensor& x : values) {
    const Tensor here = cast(sum(square(x / cast(largest, x.dtype()))), kFloat64);
    squares = squares.defined() ? squares + here : here;
  }
  return {largest, sqrt(squares)};
}

// The factor that reduces a norm to `limit`: exactly 1 if the norm is not above it.
Tensor factor(const Norm& norm, double limit) {
  // In units of the largest element. The bound keeps it finite; no tensor's norm reaches that many units.
  const Tensor allowed = minimum(limit / norm.largest, 1e30);
  return allowed / maximum(norm.share, allowed);
}

void expect_positive(double norm) {
  if (!(norm > 0) || !std::isfinite(norm)) invalid("norm to clip to: expected a positive number, got {}", norm);
}

template <class G>
std::vector<G> by_value(std::span<const G> gradients, double low, double high) {
  if (!(low <= high)) invalid("values to clip to: expected low <= high, got {} and {}", low, high);
  return changed(gradients, [=](const Tensor& x) { return clip(x, low, high); });
}

template <class G>
std::vector<G> by_norm(std::span<const G> gradients, double norm) {
  expect_positive(norm);
  return changed(gradients, [=](const Tensor& x) {
    const Tensor values[] = {x};
    return x * cast(factor(norm_of(values), norm), x.dtype());
  });
}

template <class G>
std::vector<G> by_global_norm(std::span<const G> gradients, double norm) {
  expect_positive(norm);
  const Tensor scale = factor(norm_of(values_of(gradients)), norm);
  return changed(gradients, [&](const Tensor& x) { return x * cast(scale, x.dtype()); });
}

Tensor whole(const Norm& norm) { return norm.largest * norm.share; }

}  // namespace

std::vector<Tensor> clip_by_value(std::span<const Tensor> gradients, double low, double high) {
  return by_value(gradients, low, high);
}
std::vector<Gradient> clip_by_value(std::span<const Gradient> gradients, double low, double high) {
  return by_value(gradients, low, high);
}
std::vector<Tensor> clip_by_norm(std::span<const Tensor> gradients, double norm) { return by_norm(gradients, norm); }
std::vector<Gradient> clip_by_norm(std::span<const Gradient> gradients, double norm) {
  return by_norm(gradients, norm);
}
std::vector<Tensor> clip_by_global_norm(std::span<const Tensor> gradients, double norm) {
  return by_global_norm(gradients, norm);
}
std::vector<Gradient> clip_by_global_norm(std::span<const Gradient> gradients, double norm) {
  return by_global_norm(gradients, norm);
}
Tensor global_norm(std::span<const Tensor> gradients) { return whole(norm_of(values_of(gradients))); }
Tensor global_norm(std::span<const Gradient> gradients) { return whole(norm_of(values_of(gradients))); }

Tensor clip_by_value(const Tensor& x, double low, double high) {
  return std::move(clip_by_value(std::span(&x, 1), low, high)[0]);
}
Tensor clip_by_norm(const Tensor& x, double norm) { return std::move(clip_by_norm(std::span(&x, 1), norm)[0]); }
Gradient clip_by_value(const Gradient& gradient, double low, double high) {
  return std::move(clip_by_value(std::span(&gradient, 1), low, high)[0]);
}
Gradient clip_by_norm(const Gradient& gradient, double norm) {
  return std::move(clip_by_norm(std::span(&gradient, 1), norm)[0]);
}

}  // namespace panto
