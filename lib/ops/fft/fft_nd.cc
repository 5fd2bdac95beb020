// Discrete Fourier transforms along any dimensions, with a length for each.
#include <cstdint>
#include <optional>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/math/complex.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/fft.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

enum class Kind : uint8_t { kComplex, kToHalf, kFromHalf };

void expect_types(const ShapeContext& c, Kind kind) {
  if (kind == Kind::kComplex) return;
  const DType real = c.type("Treal"), complex = c.type("Tcomplex");
  const bool forward = kind == Kind::kToHalf;
  const DType wanted = forward ? complex_of(real) : complex == kComplex128 ? kFloat64 : kFloat32;
  if (const DType given = forward ? complex : real; given != wanted) {
    invalid("{}: expected {}, got {}", forward ? "Tcomplex" : "Treal", dtype_name(wanted), dtype_name(given));
  }
}

// Inputs: input, fft_length, axes.
template <Kind kKind>
void transform_shape(ShapeContext& c) {
  expect_types(c, kKind);
  const int64_t lengths = c.vector(1), count = c.vector(2);
  c.expect_equal(lengths, count, "the size of fft_length and that of axes");
  const KnownIntegers n(c, 1), axes(c, 2);
  for (int64_t k = 0; n.counted() && k < n.count(); ++k) {
    if (n.known(k) && n[k] < 1) invalid("fft_length: expected at least 1, got {}", n[k]);
  }
  if (kKind != Kind::kComplex && count == 0) invalid("axes: expected at least one, got none");
  const int rank = c.rank(0);
  if (rank < 0) return c.output(PartialShape::unknown());
  if (!axes.counted() || !axes.complete()) return c.output(PartialShape::of_rank(rank));
  std::vector<int64_t> dims(c.shape(0).dims().begin(), c.shape(0).dims().end());
  AxisFlags seen;
  for (int64_t k = 0; k < axes.count(); ++k) {
    const auto at = static_cast<size_t>(c.axis(axes[k], rank, "axes"));
    if (seen.test(at)) invalid("axes: expected each dimension once, got {} again", axes[k]);
    seen.set(at);
    const int64_t length = n.counted() ? n.get(k).value_or(kUnknownDim) : kUnknownDim;
    dims[at] = kKind == Kind::kToHalf && k + 1 == axes.count() && length >= 0 ? length / 2 + 1 : length;
  }
  c.output(PartialShape(dims));
}

int64_t fft_flops(const CostContext& c) { return 32 * c.numel(0); }

DType real_of(DType complex) { return complex == kComplex128 || complex == kFloat64 ? kFloat64 : kFloat32; }

// The number of elements that each result sums, in the real type of x's parts.
Tensor count(const Tensor& lengths, const Tensor& x) {
  return cast(reduce_prod(cast(lengths, kFloat64)), real_of(x.dtype()));
}
// The product of a complex tensor and real numbers.
Tensor times(const Tensor& x, const Tensor& by) { return x * cast(by, x.dtype()); }

// Truncates x, or pads it with zeros at the end, to the shape `dims`.
Tensor fitted(const Tensor& x, const Tensor& dims, const PartialShape& known) {
  if (known.fully_known() && x.partial_shape() == known) return x;
  const Tensor behind = maximum(dims - shape(x), 0), none = zeros_like(behind);
  return slice(pad(x, pack({none, behind}, {.axis = 1})), none, dims);
}

// Weights along the last of `axes`: 1 for results that are their own conjugates, `others` for results that stand for a
// conjugate pair. The shape broadcasts to that of `y`, the result of the real transform.
Tensor weights(const Tensor& lengths, const Tensor& axes, const Tensor& y, double others) {
  const DType type = real_of(y.dtype());
  const Tensor last = size(lengths) - 1;
  const Tensor n = gather(lengths, last, 0), axis = floor_mod(gather(axes, last, 0), rank(y));
  const Tensor k = range(0, floor_div(n, 2) + 1, 1);
  const Tensor alone = logical_or(k == 0, 2 * k == n);
  const Tensor line = select(alone, cast(1, type), cast(others, type));
  const Tensor ones = fill(reshape(rank(y) - axis - 1, {1}), 1);
  return reshape(line, concat({shape(line), ones}, 0));
}

void forward_gradient(GradContext& g) {
  const Tensor dx = complex_ifft_nd(g.dy(), g.in(1), g.in(2));
  g.set(0, fitted(times(dx, count(g.in(1), g.dy())), g.shape(0), g.in_shape(0)));
}
void inverse_gradient(GradContext& g) {
  const Tensor dx = complex_fft_nd(g.dy(), g.in(1), g.in(2));
  g.set(0, fitted(times(dx, 1 / count(g.in(1), g.dy())), g.shape(0), g.in_shape(0)));
}
void real_gradient(GradContext& g) {
  const Tensor halves = times(g.dy(), weights(g.in(1), g.in(2), g.dy(), 0.5));
  const Tensor dx = real_ifft_nd(halves, g.in(1), g.in(2), {.Treal = g.type("Treal")}) * count(g.in(1), g.dy());
  g.set(0, fitted(dx, g.shape(0), g.in_shape(0)));
}
void real_inverse_gradient(GradContext& g) {
  const Tensor y = real_fft_nd(g.dy(), g.in(1), g.in(2), {.Tcomplex = complex_of(g.dy().dtype())});
  const Tensor scale = weights(g.in(1), g.in(2), y, 2) / count(g.in(1), g.dy());
  g.set(0, fitted(times(y, scale), g.shape(0), g.in_shape(0)));
}

}  // namespace

const Op& kFFTND = define_op(
    "FFTND(input: Tcomplex, fft_length: int32 @host, axes: int32 @host; Tcomplex: complex = complex64) -> (output: "
    "Tcomplex)",
    {.doc = "FFT of the dimensions `axes`, which differ; negative ones count from the end. Of each as many elements "
            "are taken as `fft_length`, a vector of as many, says: longer lines are cut, shorter ones go on with "
            "zeros.",
     .cpp = "complex_fft_nd",
     .shape = transform_shape<Kind::kComplex>,
     .saves = {shape_of(0), in(1), in(2)},
     .gradient = forward_gradient,
     .flops = fft_flops,
     .batch = batching::axes<2>,
     .jvp = tangents::linear_in<0>});

const Op& kIFFTND = define_op(
    "IFFTND(input: Tcomplex, fft_length: int32 @host, axes: int32 @host; Tcomplex: complex = complex64) -> (output: "
    "Tcomplex)",
    {.doc = "The inverse of FFTND, whose results are divided by the product of `fft_length`.",
     .cpp = "complex_ifft_nd",
     .shape = transform_shape<Kind::kComplex>,
     .saves = {shape_of(0), in(1), in(2)},
     .gradient = inverse_gradient,
     .flops = fft_flops,
     .batch = batching::axes<2>,
     .jvp = tangents::linear_in<0>});

const Op& kRFFTND = define_op(
    "RFFTND(input: Treal, fft_length: int32 @host, axes: int32 @host; Treal: float32|float64 = float32, Tcomplex: "
    "complex = complex64) -> (output: Tcomplex)",
    {.doc = "FFTND of real numbers: along the last of `axes` the first n / 2 + 1 results, of which the others are the "
            "conjugates.",
     .cpp = "real_fft_nd",
     .shape = transform_shape<Kind::kToHalf>,
     .saves = {shape_of(0), in(1), in(2)},
     .gradient = real_gradient,
     .flops = fft_flops,
     .batch = batching::axes<2>,
     .jvp = tangents::linear_in<0>});

const Op& kIRFFTND = define_op(
    "IRFFTND(input: Tcomplex, fft_length: int32 @host, axes: int32 @host; Treal: float32|float64 = float32, Tcomplex: "
    "complex = complex64) -> (output: Treal)",
    {.doc = "The inverse of RFFTND: n real numbers, the last of `fft_length`, of the first n / 2 + 1 along the last of "
            "`axes`.",
     .cpp = "real_ifft_nd",
     .shape = transform_shape<Kind::kFromHalf>,
     .saves = {shape_of(0), in(1), in(2)},
     .gradient = real_inverse_gradient,
     .flops = fft_flops,
     .batch = batching::axes<2>,
     .jvp = tangents::linear_in<0>});

}  // namespace panto
