// Fourier transforms under the names that NumPy, SciPy and PyTorch give them: np.fft.rfft(x) is rfft(x).
//
//   fft(x);  ifft(x);  rfft(x);  irfft(y);  rfft(x, 256);  fft2(x);  rfft2(x, {64, 64});  fftshift(fft(x))
//
// They transform the last dimension, or the last two or three, or those that are named: fftn(x, {8, 8}, {0, 2}).
// Forward sums are not divided, inverse ones by the number of elements. Lengths that are given cut lines, or put zeros
// behind them. Ops of TensorFlow's conventions are beside them: real_fft(x, fft_length).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"

namespace panto {

// Of real or complex numbers; the result is complex. float64 gives complex128, integers are seen as float32.
PANTO_EXPORT Tensor fft(Arg x, std::optional<int64_t> n = std::nullopt);
PANTO_EXPORT Tensor ifft(Arg x, std::optional<int64_t> n = std::nullopt);
PANTO_EXPORT Tensor fft2(Arg x, const std::vector<int64_t>& lengths = {});
PANTO_EXPORT Tensor ifft2(Arg x, const std::vector<int64_t>& lengths = {});
PANTO_EXPORT Tensor fft3(Arg x, const std::vector<int64_t>& lengths = {});
PANTO_EXPORT Tensor ifft3(Arg x, const std::vector<int64_t>& lengths = {});

// Of real numbers; in the last dimension the first n / 2 + 1 results, of which the others are the conjugates.
PANTO_EXPORT Tensor rfft(Arg x, std::optional<int64_t> n = std::nullopt);
PANTO_EXPORT Tensor rfft2(Arg x, const std::vector<int64_t>& lengths = {});
PANTO_EXPORT Tensor rfft3(Arg x, const std::vector<int64_t>& lengths = {});
// The inverse: n real numbers. Without n it is the even one, 2 (m - 1) for m elements.
PANTO_EXPORT Tensor irfft(Arg y, std::optional<int64_t> n = std::nullopt);
PANTO_EXPORT Tensor irfft2(Arg y, const std::vector<int64_t>& lengths = {});
PANTO_EXPORT Tensor irfft3(Arg y, const std::vector<int64_t>& lengths = {});

// Of the dimensions `axes`, which may be negative, or of the last as many as there are lengths; of all without both.
// Along the last of them rfftn has about half, and irfftn makes 2 (m - 1) numbers of m, unless it is told.
PANTO_EXPORT Tensor fftn(Arg x, const std::vector<int64_t>& lengths = {}, const std::vector<int64_t>& axes = {});
PANTO_EXPORT Tensor ifftn(Arg x, const std::vector<int64_t>& lengths = {}, const std::vector<int64_t>& axes = {});
PANTO_EXPORT Tensor rfftn(Arg x, const std::vector<int64_t>& lengths = {}, const std::vector<int64_t>& axes = {});
PANTO_EXPORT Tensor irfftn(Arg y, const std::vector<int64_t>& lengths = {}, const std::vector<int64_t>& axes = {});

// Moves the zero frequency from the beginning of `axes` (all, where none are given) to the middle, and back.
PANTO_EXPORT Tensor fftshift(Arg x, const std::vector<int64_t>& axes = {});
PANTO_EXPORT Tensor ifftshift(Arg x, const std::vector<int64_t>& axes = {});
// The frequencies of the results of fft and rfft of n samples `d` apart, in cycles per unit of d: float32. Throws
// InvalidArgument for n < 1.
PANTO_EXPORT Tensor fftfreq(int64_t n, double d = 1);
PANTO_EXPORT Tensor rfftfreq(int64_t n, double d = 1);

}  // namespace panto
