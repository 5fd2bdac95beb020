// Spectrograms: the frequencies of sound over time.
//
//   STFTSpectrogram({.mode = "log", .frame_length = 256})            // [batch, samples, 2] -> [batch, frames, 2 * 129]
//   MelSpectrogram({.sampling_rate = 16000})                         // [batch, samples] -> [batch, 128, frames]
//
// As Keras's. Thread-safety: as that of layers.
#pragma once

#include <cstdint>
#include <string>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/convolution/convolution.h"
#include "panto/nn/layers/layer.h"

namespace panto {

struct STFTSpectrogramOptions {
  std::string mode =
      "log";  // the log magnitude; "magnitude", "psd" (power), "real", "imag", "angle", "stft" (both parts)
  int64_t frame_length = 256;
  int64_t frame_step = 0;             // 0: half of the length
  int64_t fft_length = 0;             // 0: the next power of two
  std::string window = "hann";        // "hamming", or "" for none
  bool periodic = false;              // see stft_initializer (initializers.h)
  std::string scaling = "density";    // "spectrum", or "" for none
  Padding padding = Padding::kValid;  // not kCausal
  bool expand_dims = false;           // [batch, frames, frequencies, channels]
  std::string name = "stft_spectrogram";
  DType dtype = kFloat32;
};

// A short-time Fourier transform by convolution, whose kernels [frame, 1, frequencies] are trainable: [batch, samples,
// channels] -> [batch, frames, channels * frequencies], with fft_length / 2 + 1 frequencies.
class PANTO_EXPORT STFTSpectrogram final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless the step is in [1, frame_length], fft_length is at least frame_length, and all names
  // are known.
  explicit STFTSpectrogram(STFTSpectrogramOptions options = {});
  // x floating. Throws InvalidArgument unless x has rank 3 and a known number of channels.
  Tensor forward(const Tensor& x) const override;
  Parts parts() const override { return {real_, imaginary_}; }
  std::string to_string() const override;

 private:
  STFTSpectrogramOptions options_;
  Variable real_, imaginary_;  // undefined if the mode does not need it
};

struct MelSpectrogramOptions {
  int64_t fft_length = 2048;
  int64_t sequence_stride = 512;
  int64_t sequence_length = 0;  // of the window; 0: fft_length
  std::string window = "hann";  // "hamming", or "" for none
  double sampling_rate = 16000;
  int64_t num_mel_bins = 128;
  double min_freq = 20;
  double max_freq = 0;  // 0: half of the sampling rate
  bool power_to_db = true;
  double top_db = 80;  // values further below the batch's maximum are raised to there
  double mag_exp = 2;  // 1: magnitudes, 2: power
  double min_power = 1e-10;
  double ref_power = 1;  // the power that is 0 dB
};

// The power in frequency bands on the mel scale, as wide as ears hear them: [samples] -> [num_mel_bins, frames] and
// [batch, samples] -> [batch, num_mel_bins, frames], one frame every `sequence_stride` samples. The sound is mirrored
// at its ends.
class PANTO_EXPORT MelSpectrogram final : public BuiltInLayer {
 public:
  // Throws InvalidArgument for a sequence_length above fft_length, for numbers that are not positive, and for unknown
  // names.
  explicit MelSpectrogram(MelSpectrogramOptions options = {});
  // Computes in float64 if x is float64, else in float32. Throws InvalidArgument for another rank, and for fewer than
  // fft_length / 2 + 1 samples.
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  MelSpectrogramOptions options_;
};

}  // namespace panto
