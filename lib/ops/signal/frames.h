// Short parts of signals, and their spectra, under TensorFlow's names (tf.signal).
//
//   stft(x, 256, 128);  inverse_stft(spectra, 256, 128);  frame(x, 400, 160);  overlap_and_add(frames, 160)
//   hann_window(256);  hamming_window(256)
//
// They are built from ops, so a trace records them and a tape differentiates them. A signal is the last dimension.
#pragma once

#include <cstdint>
#include <optional>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"

namespace panto {

// 0.5 - 0.5 cos(2 pi k / n) and 0.54 - 0.46 cos(2 pi k / n) for k = 0, 1 ... n - 1, where n is the length; n - 1 if
// they are not periodic. Throw InvalidArgument for a length below 1.
PANTO_EXPORT Tensor hann_window(int64_t length, bool periodic = true, DType dtype = kFloat32);
PANTO_EXPORT Tensor hamming_window(int64_t length, bool periodic = true, DType dtype = kFloat32);

struct FrameOptions {
  bool pad_end = false;  // fill the last frames with zeros, so that one begins every `step` elements
};
// The parts of `length` elements that begin every `step` elements: [..., frames, length]. Throws InvalidArgument for
// lengths and steps below 1.
PANTO_EXPORT Tensor frame(Arg x, int64_t length, int64_t step, const FrameOptions& options = {});
// Back: the sums of frames, [..., frames, length], at their places.
PANTO_EXPORT Tensor overlap_and_add(Arg frames, int64_t step);

struct StftOptions {
  std::optional<int64_t> fft_length = std::nullopt;  // default: the least power of two that is not below `length`
  Tensor window = {};                                // default: hann_window(length)
  bool pad_end = false;
};
// The short-time Fourier transform: rfft of each frame times the window, [..., frames, fft_length / 2 + 1].
PANTO_EXPORT Tensor stft(Arg x, int64_t length, int64_t step, const StftOptions& options = {});
// Its inverse, up to what the windows make of the signal: frames times the window, overlapped and added.
PANTO_EXPORT Tensor inverse_stft(Arg spectra, int64_t length, int64_t step, const StftOptions& options = {});

}  // namespace panto
