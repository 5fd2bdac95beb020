// Fourier transforms under the names of NumPy, SciPy and PyTorch: np.fft.rfft(x) is rfft(x).
//
//   fft(x);  ifft(x);  rfft(x);  irfft(y);  rfft(x, 256);  fft2(x);  rfft2(x, {64, 64});  fftshift(fft(x))
//
// They transform the last dimension, or the last two or three, or named ones: fftn(x, {8, 8}, {0, 2}). Forward
// transforms are not scaled, inverse ones are divided by the number of elements. A given length truncates the dimension
// or pads it with zeros at the end. Ops with TensorFlow's conventions exist too: real_fft(x, fft_length).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"

namespace panto {

// For real or complex numbers; the result is complex. float64 gives complex128; integers are converted to float32.
PANTO_EXPORT Tensor fft(Arg x, std::optional<int64_t> n = std::nullopt);
PANTO_EXPORT Tensor ifft(Arg x, std::optional<int64_t> n = std::nullopt);
PANTO_EXPORT Tensor fft2(Arg x, const std::vector<int64_t>& lengths = {});
PANTO_EXPORT Tensor ifft2(Arg x, const std::vector<int64_t>& lengths = {});
PANTO_EXPORT Tensor fft3(Arg x, const std::vector<int64_t>& lengths = {});
PANTO_EXPORT Tensor ifft3(Arg x, const std::vector<int64_t>& lengths = {});

// For real numbers. The last dimension has only the first n / 2 + 1 results; the others are their conjugates.
PANTO_EXPORT Tensor rfft(Arg x, std::optional<int64_t> n = std::nullopt);
PANTO_EXPORT Tensor rfft2(Arg x, const std::vector<int64_t>& lengths = {});
PANTO_EXPORT Tensor rfft3(Arg x, const std::vector<int64_t>& lengths = {});
// The inverse of rfft: n real numbers. Default for n: 2 (m - 1) for m elements, the even choice.
PANTO_EXPORT Tensor irfft(Arg y, std::optional<int64_t> n = std::nullopt);
PANTO_EXPORT Tensor irfft2(Arg y, const std::vector<int64_t>& lengths = {});
PANTO_EXPORT Tensor irfft3(Arg y, const std::vector<int64_t>& lengths = {});

// Transform the dimensions `axes` (negative ones count from the end); without axes, the last dimensions, one per
// length; without both, all dimensions. Along the last of these, rfftn returns n / 2 + 1 results, and irfftn returns 2
// (m - 1) numbers for m elements unless a length is given.
PANTO_EXPORT Tensor fftn(Arg x, const std::vector<int64_t>& lengths = {}, const std::vector<int64_t>& axes = {});
PANTO_EXPORT Tensor ifftn(Arg x, const std::vector<int64_t>& lengths = {}, const std::vector<int64_t>& axes = {});
PANTO_EXPORT Tensor rfftn(Arg x, const std::vector<int64_t>& lengths = {}, const std::vector<int64_t>& axes = {});
PANTO_EXPORT Tensor irfftn(Arg y, const std::vector<int64_t>& lengths = {}, const std::vector<int64_t>& axes = {});

// fftshift moves the zero frequency from the beginning of `axes` (default: all) to the middle; ifftshift moves it back.
PANTO_EXPORT Tensor fftshift(Arg x, const std::vector<int64_t>& axes = {});
PANTO_EXPORT Tensor ifftshift(Arg x, const std::vector<int64_t>& axes = {});
// The frequencies of the results of fft and rfft for n samples at distance `d`, in cycles per unit of d: float32.
// Throws InvalidArgument for n < 1.
PANTO_EXPORT Tensor fftfreq(int64_t n, double d = 1);
PANTO_EXPORT Tensor rfftfreq(int64_t n, double d = 1);

}  // namespace panto
