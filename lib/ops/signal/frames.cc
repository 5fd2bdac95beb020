#include "panto/lib/ops/signal/frames.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/numpy/axes.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/signal/signal.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

void check_positive(int64_t length, int64_t step) {
  if (length < 1) invalid("length: expected at least 1, got {}", length);
  if (step < 1) invalid("step: expected at least 1, got {}", step);
}

// middle - (1 - middle) cos(2 pi k / n).
Tensor raised_cosine(double middle, int64_t length, bool periodic, DType dtype) {
  check_positive(length, 1);
  if (length == 1) return ones({1}, dtype);
  const auto n = static_cast<double>(periodic ? length : length - 1);
  std::vector<double> values;
  for (int64_t k = 0; k < length; ++k) {
    values.push_back(middle - (1 - middle) * std::cos(2 * std::numbers::pi * static_cast<double>(k) / n));
  }
  return cast(tensor(values), dtype);
}

int64_t transformed_length(int64_t length, const StftOptions& options) {
  check_positive(length, 1);
  return options.fft_length.value_or(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(length))));
}

Tensor window_of(int64_t length, DType dtype, const StftOptions& options) {
  return options.window.defined() ? cast(options.window, dtype) : hann_window(length, true, dtype);
}

// The places of the elements of `count` frames: [count, length].
Tensor places_of(const Tensor& count, int64_t length, int64_t step) {
  const Tensor begins = range(int64_t{0}, count, int64_t{1}) * step;
  return expand_dims(begins, 1) + range(int64_t{0}, length, int64_t{1});
}

}  // namespace

Tensor hann_window(int64_t length, bool periodic, DType dtype) { return raised_cosine(0.5, length, periodic, dtype); }
Tensor hamming_window(int64_t length, bool periodic, DType dtype) {
  return raised_cosine(0.54, length, periodic, dtype);
}

Tensor frame(Arg x, int64_t length, int64_t step, const FrameOptions& options) {
  return from_caller(x.where(), [&]() -> Tensor {
    check_positive(length, step);
    Tensor t = identity(std::move(x));
    const int rank = rank_of_at_least(t, 1, "frame");
    const Tensor size = sizes_of(t)[-1];
    Tensor count;
    if (options.pad_end) {
      count = floor_div(size + (step - 1), step);
      const Tensor missing = maximum((count - int64_t{1}) * step + length - size, int64_t{0});
      const Tensor none = constant(tensor(std::vector<int64_t>(static_cast<size_t>(2 * rank - 1), 0)), kInt64);
      t = pad(t, reshape(concat({none, reshape(missing, {1})}, 0), {-1, 2}));
    } else {
      count = maximum(floor_div(size - length, step) + int64_t{1}, int64_t{0});
    }
    return gather(t, places_of(count, length, step), -1);
  });
}

Tensor overlap_and_add(Arg frames, int64_t step) {
  return from_caller(frames.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(frames));
    const int rank = rank_of_at_least(t, 2, "overlap_and_add");
    const int64_t length = t.partial_shape().dim(rank - 1);
    if (length < 0) invalid("overlap_and_add: expected frames of known length, got {}", t.partial_shape().to_string());
    check_positive(length, step);
    const Tensor sizes = sizes_of(t), count = sizes[-2];
    const Tensor whole = maximum((count - int64_t{1}) * step + length, int64_t{0});
    // Sums of segments are along the first dimension.
    const Tensor outer = part_of(sizes, 0, rank - 2), signals = reduce_prod(outer, 0, {.keep_dims = true});
    const Tensor elements = transpose(reshape(t, concat({signals, reshape(count * length, {1})}, 0)));
    const Tensor sums = unsorted_segment_sum(elements, reshape(places_of(count, length, step), {-1}), whole);
    return reshape(transpose(sums), concat({outer, reshape(whole, {1})}, 0));
  });
}

Tensor stft(Arg x, int64_t length, int64_t step, const StftOptions& options) {
  return from_caller(x.where(), [&]() -> Tensor {
    const int64_t n = transformed_length(length, options);
    const Tensor frames = frame(std::move(x), length, step, {.pad_end = options.pad_end});
    return rfft(frames * window_of(length, frames.dtype(), options), n);
  });
}

Tensor inverse_stft(Arg spectra, int64_t length, int64_t step, const StftOptions& options) {
  return from_caller(spectra.where(), [&]() -> Tensor {
    const int64_t n = transformed_length(length, options);
    const Tensor frames = irfft(std::move(spectra), n);
    const int rank = rank_of_at_least(frames, 2, "inverse_stft");
    Tensor cut = frames;
    if (n > length) {
      std::vector<int64_t> size(static_cast<size_t>(rank), -1);
      size.back() = length;
      cut = slice(frames, std::vector<int64_t>(static_cast<size_t>(rank), 0), size);
    } else if (n < length) {
      std::vector<int64_t> paddings(static_cast<size_t>(2 * rank), 0);
      paddings.back() = length - n;
      cut = pad(frames, reshape(constant(tensor(paddings), kInt64), {-1, 2}));
    }
    return overlap_and_add(cut * window_of(length, frames.dtype(), options), step);
  });
}

}  // namespace panto
