// Discrete Fourier transforms of the last one, two or three dimensions.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/math/complex.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/fft.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

using Transform = Tensor (*)(Arg);
// A real transform: takes the tensor and the lengths.
template <class Attrs>
using RealTransform = Tensor (*)(Arg, Arg, const Attrs&);

DType real_of(const Tensor& x) { return x.dtype() == kComplex128 || x.dtype() == kFloat64 ? kFloat64 : kFloat32; }
Tensor last_of(const Tensor& dims, int count) { return slice(dims, reshape(size(dims) - count, {1}), {count}); }

// The number of elements that each result sums, in the real type of x's parts.
Tensor count(const Tensor& dims, const Tensor& x) { return cast(reduce_prod(cast(dims, kFloat64)), real_of(x)); }
// The product of a complex tensor and real numbers.
Tensor times(const Tensor& x, const Tensor& by) { return x * cast(by, x.dtype()); }

// ---- Complex ------------------------------------------------------------------------------------------------------

template <int kRank>
void complex_shape(ShapeContext& c) {
  c.expect_rank_at_least(0, kRank);
  c.output(c.shape(0));
}

int64_t fft_flops(const CostContext& c) { return 32 * c.numel(0); }

// The gradient is the inverse transform times the number of elements.
template <int kRank, Transform kInverse>
void forward_gradient(GradContext& g) {
  g.set(0, times(kInverse(g.dy()), count(last_of(shape(g.dy()), kRank), g.dy())));
}
template <int kRank, Transform kForward>
void inverse_gradient(GradContext& g) {
  g.set(0, times(kForward(g.dy()), 1 / count(last_of(shape(g.dy()), kRank), g.dy())));
}

// ---- Real ---------------------------------------------------------------------------------------------------------

// The lengths in input 1; -1 if unknown.
template <int kRank>
std::vector<int64_t> lengths(const ShapeContext& c) {
  c.expect_rank_at_least(0, kRank);
  c.expect_rank(1, 1);
  c.expect_equal(kRank, c.dim(1, 0), "the size of fft_length");
  std::vector<int64_t> result(kRank, -1);
  if (const auto values = c.values(1); values && values->size() == kRank) {
    for (size_t k = 0; k < kRank; ++k) {
      const auto value = (*values)[k];
      if (value && *value < 1) invalid("fft_length: expected at least 1, got {}", *value);
      if (value) result[k] = *value;
    }
  }
  return result;
}

// The number of results of a real transform of n elements. An input may be longer than the given length, but not
// shorter.
int64_t halved(int64_t n) { return n < 0 ? -1 : n / 2 + 1; }

template <int kRank, bool kForward>
void real_shape(ShapeContext& c) {
  const DType real = c.type("Treal"), complex = c.type("Tcomplex");
  const DType wanted =
      kForward ? (real == kFloat64 ? kComplex128 : kComplex64) : (complex == kComplex128 ? kFloat64 : kFloat32);
  if (const DType given = kForward ? complex : real; given != wanted) {
    invalid("{}: expected {}, got {}", kForward ? "Tcomplex" : "Treal", dtype_name(wanted), dtype_name(given));
  }
  const std::vector<int64_t> n = lengths<kRank>(c);
  if (!c.shape(0).known_rank()) {
    c.output(PartialShape::unknown());
    return;
  }
  std::vector<int64_t> dims(c.shape(0).dims().begin(), c.shape(0).dims().end());
  const size_t first = dims.size() - kRank;
  for (size_t k = 0; k < kRank; ++k) {
    const bool last = k + 1 == kRank;
    const int64_t taken = last && !kForward ? halved(n[k]) : n[k];
    int64_t& dim = dims[first + k];
    if (dim >= 0 && taken > dim) {
      invalid("input: expected at least {} elements in dimension {}, got {}", taken, first + k, dim);
    }
    dim = last && kForward ? halved(n[k]) : n[k];
  }
  c.output(PartialShape(dims));
}

// Weights for the results of a real transform: 1 for results that are their own conjugates, `others` for results that
// stand for a conjugate pair.
Tensor weights(const Tensor& lengths, double others, DType type) {
  const Tensor n = reshape(last_of(lengths, 1), Shape{});
  const Tensor k = range(0, floor_div(n, 2) + 1, 1);
  const Tensor alone = logical_or(k == 0, 2 * k == n);
  return select(alone, cast(1, type), cast(others, type));
}

// Pads x with zeros at the end to the shape `dims`.
Tensor padded(const Tensor& x, const Tensor& dims, const PartialShape& known) {
  if (known.fully_known() && x.partial_shape() == known) return x;
  const Tensor behind = dims - shape(x);
  return pad(x, pack({zeros_like(behind), behind}, {.axis = 1}));
}

template <int kRank, class Attrs, RealTransform<Attrs> kInverse>
void real_gradient(GradContext& g) {
  const DType real = g.type("Treal");
  const Tensor halves = times(g.dy(), weights(g.in(1), 0.5, real));
  const Tensor dx = kInverse(halves, g.in(1), {.Treal = real}) * count(g.in(1), g.dy());
  g.set(0, padded(dx, g.shape(0), g.in_shape(0)));
}
template <int kRank, class Attrs, RealTransform<Attrs> kForward>
void real_inverse_gradient(GradContext& g) {
  const DType real = g.type("Treal");
  const Tensor scale = weights(g.in(1), 2, real) / count(g.in(1), g.dy());
  const Tensor dx = times(kForward(g.dy(), g.in(1), {.Tcomplex = complex_of(g.dy().dtype())}), scale);
  g.set(0, padded(dx, g.shape(0), g.in_shape(0)));
}

// Computes the batch in one call, unless lengths differ between examples.
template <class Attrs, RealTransform<Attrs> kOp, bool kForward>
void real_batch(BatchContext& c) {
  if (c.batched(1)) {
    c.loop();
    return;
  }
  if constexpr (kForward) {
    c.set_out(0, kOp(c.in(0), c.in(1), {.Tcomplex = c.type("Tcomplex")}));
  } else {
    c.set_out(0, kOp(c.in(0), c.in(1), {.Treal = c.type("Treal")}));
  }
}

}  // namespace

const Op& kFFT = define_op(
    "FFT(input: Tcomplex; Tcomplex: complex = complex64) -> (output: Tcomplex)",
    {.doc = "The discrete Fourier transform of the last dimension: y[k] = sum over j of x[j] exp(-2 pi i j k / n).",
     .cpp = "complex_fft",
     .aliases = {"BatchFFT"},
     .shape = complex_shape<1>,
     .gradient = forward_gradient<1, complex_ifft>,
     .flops = fft_flops,
     .batch = batching::trailing,
     .jvp = tangents::linear});

const Op& kIFFT =
    define_op("IFFT(input: Tcomplex; Tcomplex: complex = complex64) -> (output: Tcomplex)",
              {.doc = "The inverse of FFT: y[j] = 1 / n times the sum over k of x[k] exp(2 pi i j k / n).",
               .cpp = "complex_ifft",
               .aliases = {"BatchIFFT"},
               .shape = complex_shape<1>,
               .gradient = inverse_gradient<1, complex_fft>,
               .flops = fft_flops,
               .batch = batching::trailing,
               .jvp = tangents::linear});

const Op& kFFT2D = define_op("FFT2D(input: Tcomplex; Tcomplex: complex = complex64) -> (output: Tcomplex)",
                             {.doc = "FFT of the last two dimensions.",
                              .cpp = "complex_fft_2d",
                              .aliases = {"BatchFFT2D"},
                              .shape = complex_shape<2>,
                              .gradient = forward_gradient<2, complex_ifft_2d>,
                              .flops = fft_flops,
                              .batch = batching::trailing,
                              .jvp = tangents::linear});

const Op& kIFFT2D = define_op("IFFT2D(input: Tcomplex; Tcomplex: complex = complex64) -> (output: Tcomplex)",
                              {.doc = "IFFT of the last two dimensions.",
                               .cpp = "complex_ifft_2d",
                               .aliases = {"BatchIFFT2D"},
                               .shape = complex_shape<2>,
                               .gradient = inverse_gradient<2, complex_fft_2d>,
                               .flops = fft_flops,
                               .batch = batching::trailing,
                               .jvp = tangents::linear});

const Op& kFFT3D = define_op("FFT3D(input: Tcomplex; Tcomplex: complex = complex64) -> (output: Tcomplex)",
                             {.doc = "FFT of the last three dimensions.",
                              .cpp = "complex_fft_3d",
                              .aliases = {"BatchFFT3D"},
                              .shape = complex_shape<3>,
                              .gradient = forward_gradient<3, complex_ifft_3d>,
                              .flops = fft_flops,
                              .batch = batching::trailing,
                              .jvp = tangents::linear});

const Op& kIFFT3D = define_op("IFFT3D(input: Tcomplex; Tcomplex: complex = complex64) -> (output: Tcomplex)",
                              {.doc = "IFFT of the last three dimensions.",
                               .cpp = "complex_ifft_3d",
                               .aliases = {"BatchIFFT3D"},
                               .shape = complex_shape<3>,
                               .gradient = inverse_gradient<3, complex_fft_3d>,
                               .flops = fft_flops,
                               .batch = batching::trailing,
                               .jvp = tangents::linear});

const Op& kRFFT = define_op(
    "RFFT(input: Treal, fft_length: int32 @host; Treal: float32|float64 = float32, Tcomplex: complex = complex64)"
    " -> (output: Tcomplex)",
    {.doc =
         "The first n / 2 + 1 elements of FFT of real numbers, of which the others are the conjugates. `fft_length` is "
         "the vector [n]: of longer lines the first n elements are taken, shorter ones are refused.",
     .cpp = "real_fft",
     .shape = real_shape<1, true>,
     .saves = {shape_of(0), in(1)},
     .gradient = real_gradient<1, IRFFTAttrs, real_ifft>,
     .flops = fft_flops,
     .batch = real_batch<RFFTAttrs, real_fft, true>,
     .jvp = tangents::linear_in<0>});

const Op& kIRFFT = define_op(
    "IRFFT(input: Tcomplex, fft_length: int32 @host; Treal: float32|float64 = float32, Tcomplex: complex = complex64)"
    " -> (output: Treal)",
    {.doc = "The inverse of RFFT: n real numbers of the first n / 2 + 1 elements, where `fft_length` is the vector "
            "[n]. The imaginary part of element 0, and of element n / 2 of an even n, is not looked at.",
     .cpp = "real_ifft",
     .shape = real_shape<1, false>,
     .saves = {shape_of(0), in(1)},
     .gradient = real_inverse_gradient<1, RFFTAttrs, real_fft>,
     .flops = fft_flops,
     .batch = real_batch<IRFFTAttrs, real_ifft, false>,
     .jvp = tangents::linear_in<0>});

const Op& kRFFT2D = define_op(
    "RFFT2D(input: Treal, fft_length: int32 @host; Treal: float32|float64 = float32, Tcomplex: complex = complex64)"
    " -> (output: Tcomplex)",
    {.doc = "RFFT of the last dimension, then FFT of the one before. `fft_length` has their two lengths.",
     .cpp = "real_fft_2d",
     .shape = real_shape<2, true>,
     .saves = {shape_of(0), in(1)},
     .gradient = real_gradient<2, IRFFT2DAttrs, real_ifft_2d>,
     .flops = fft_flops,
     .batch = real_batch<RFFT2DAttrs, real_fft_2d, true>,
     .jvp = tangents::linear_in<0>});

const Op& kIRFFT2D = define_op(
    "IRFFT2D(input: Tcomplex, fft_length: int32 @host; Treal: float32|float64 = float32,"
    " Tcomplex: complex = complex64) -> (output: Treal)",
    {.doc = "The inverse of RFFT2D.",
     .cpp = "real_ifft_2d",
     .shape = real_shape<2, false>,
     .saves = {shape_of(0), in(1)},
     .gradient = real_inverse_gradient<2, RFFT2DAttrs, real_fft_2d>,
     .flops = fft_flops,
     .batch = real_batch<IRFFT2DAttrs, real_ifft_2d, false>,
     .jvp = tangents::linear_in<0>});

const Op& kRFFT3D = define_op(
    "RFFT3D(input: Treal, fft_length: int32 @host; Treal: float32|float64 = float32, Tcomplex: complex = complex64)"
    " -> (output: Tcomplex)",
    {.doc = "RFFT of the last dimension, then FFT of the two before. `fft_length` has their three lengths.",
     .cpp = "real_fft_3d",
     .shape = real_shape<3, true>,
     .saves = {shape_of(0), in(1)},
     .gradient = real_gradient<3, IRFFT3DAttrs, real_ifft_3d>,
     .flops = fft_flops,
     .batch = real_batch<RFFT3DAttrs, real_fft_3d, true>,
     .jvp = tangents::linear_in<0>});

const Op& kIRFFT3D = define_op(
    "IRFFT3D(input: Tcomplex, fft_length: int32 @host; Treal: float32|float64 = float32,"
    " Tcomplex: complex = complex64) -> (output: Treal)",
    {.doc = "The inverse of RFFT3D.",
     .cpp = "real_ifft_3d",
     .shape = real_shape<3, false>,
     .saves = {shape_of(0), in(1)},
     .gradient = real_inverse_gradient<3, RFFT3DAttrs, real_fft_3d>,
     .flops = fft_flops,
     .batch = real_batch<IRFFT3DAttrs, real_ifft_3d, false>,
     .jvp = tangents::linear_in<0>});

}  // namespace panto
