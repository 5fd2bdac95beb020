#include "panto/nn/layers/sound/spectrogram.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/ops/reductions.h"
#include "panto/lib/ops/signal/signal.h"
#include "panto/nn/layers/convolution/spatial.h"
#include "panto/nn/layers/core/shapes.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {

static constexpr double kEpsilon = 1e-7;  // Keras's

// ---- STFTSpectrogram ------------------------------------------------------------------------------------------------

STFTSpectrogram::STFTSpectrogram(STFTSpectrogramOptions options) : options_(std::move(options)) {
  STFTSpectrogramOptions& o = options_;
  const char* const modes[] = {"log", "magnitude", "psd", "real", "imag", "angle", "stft"};
  if (std::ranges::find(modes, o.mode) == std::end(modes)) {
    invalid(
        "STFTSpectrogram: expected mode \"log\", \"magnitude\", \"psd\", \"real\", \"imag\", \"angle\" or \"stft\", "
        "got "
        "\"{}\"",
        printable(o.mode));
  }
  if (o.frame_length < 1) invalid("STFTSpectrogram: expected a positive frame_length, got {}", o.frame_length);
  if (o.frame_step == 0) o.frame_step = std::max(o.frame_length / 2, int64_t{1});
  if (o.frame_step < 1 || o.frame_step > o.frame_length) {
    invalid("STFTSpectrogram: expected a frame_step in [1, {}], got {}", o.frame_length, o.frame_step);
  }
  if (o.fft_length == 0) {
    o.fft_length = 1;
    while (o.fft_length < o.frame_length) o.fft_length = checked_mul(o.fft_length, 2);
  }
  if (o.fft_length < std::max(o.frame_length, int64_t{2})) {
    invalid("STFTSpectrogram: expected an fft_length of at least {}, got {}", std::max(o.frame_length, int64_t{2}),
            o.fft_length);
  }
  if (o.padding == Padding::kCausal) invalid("STFTSpectrogram: expected padding kValid or kSame, got kCausal");
  const auto kernel = [&](std::string_view side) {
    const StftInitializerOptions stft{.side = side, .window = o.window, .scaling = o.scaling, .periodic = o.periodic};
    const Shape shape({o.frame_length, 1, o.fft_length / 2 + 1});
    return Variable(stft_initializer(stft)(shape, o.dtype), fmt::format("{}/{}_kernel", o.name, side));
  };
  if (o.mode != "imag") real_ = kernel("real");
  if (o.mode != "real") imaginary_ = kernel("imag");
}

Tensor STFTSpectrogram::forward(const Tensor& x) const {
  detail::expect_channels("STFTSpectrogram", x, 3, "batch, samples", -1);
  const int64_t channels = x.partial_shape().dim(2);
  if (channels < 0) invalid("STFTSpectrogram: expected a known number of channels, got another");
  // Transforms each channel separately.
  const PartialShape& known = x.partial_shape();
  const auto size = [&](const Tensor& t, int k) {
    const int64_t d = t.partial_shape().dim(k);
    return d >= 0 ? tensor(checked_cast<int32_t>(d, "size")) : shape(t)[k];
  };
  const Tensor apart = known.dim(1) >= 0 ? reshape(transpose(x, {0, 2, 1}), {-1, known.dim(1), 1})
                                         : reshape(transpose(x, {0, 2, 1}), stack({tensor(-1), size(x, 1), tensor(1)}));
  const auto part = [&](const Variable& kernel) {
    const Tensor y = detail::convolve<1>(apart, cast(kernel, x.dtype()),
                                         {.stride = options_.frame_step, .padding = options_.padding});
    const int64_t frames = y.partial_shape().dim(1), frequencies = options_.fft_length / 2 + 1;
    if (frames >= 0) return reshape(y, {-1, channels, frames, frequencies});
    return reshape(y, stack({tensor(-1), tensor(static_cast<int32_t>(channels)), size(y, 1),
                             tensor(static_cast<int32_t>(frequencies))}));
  };
  const std::string& mode = options_.mode;
  Tensor y;  // [batch, channels, frames, frequencies]
  if (mode == "real") {
    y = part(real_);
  } else if (mode == "imag") {
    y = part(imaginary_);
  } else if (const Tensor real = part(real_), imaginary = part(imaginary_); mode == "angle") {
    y = atan2(imaginary, real);
  } else if (mode == "stft") {
    y = cat({real, imaginary}, 3);
  } else {
    const Tensor power = square(real) + square(imaginary);
    // Frequencies between the first and the last also stand for their negative counterparts.
    const int64_t half = options_.fft_length / 2;
    const auto last = static_cast<double>(half);
    const Tensor k = cast(arange(half + 1), x.dtype());
    if (mode == "psd") y = where(logical_and(k > 0.0, k < last), power * 2.0, power);
    if (mode != "psd") y = sqrt(maximum(power, kEpsilon));
    if (mode == "log") y = log(maximum(y, kEpsilon));
  }
  if (options_.expand_dims) return transpose(y, {0, 2, 3, 1});
  const Tensor steps = transpose(y, {0, 2, 1, 3});
  const int64_t numbers = channels * y.partial_shape().dim(3), frames = steps.partial_shape().dim(1);
  if (frames >= 0) return reshape(steps, {-1, frames, numbers});
  return reshape(steps, stack({tensor(-1), size(steps, 1), tensor(checked_cast<int32_t>(numbers, "frequencies"))}));
}

std::string STFTSpectrogram::to_string() const {
  return fmt::format("STFTSpectrogram({}, {})", options_.mode, options_.frame_length);
}

// ---- MelSpectrogram -------------------------------------------------------------------------------------------------

MelSpectrogram::MelSpectrogram(MelSpectrogramOptions options) : options_(std::move(options)) {
  MelSpectrogramOptions& o = options_;
  if (o.sequence_length == 0) o.sequence_length = o.fft_length;
  if (o.max_freq == 0) o.max_freq = std::floor(o.sampling_rate / 2);
  if (o.fft_length < 2 || o.sequence_stride < 1 || o.sequence_length < 1 || o.num_mel_bins < 1 ||
      !(o.sampling_rate > 0) || !(o.min_freq >= 0) || !(o.max_freq > o.min_freq) || !(o.min_power > 0)) {
    invalid(
        "MelSpectrogram: expected positive lengths, numbers of bins, rates and min_power, and a max_freq above "
        "min_freq, got others");
  }
  if (o.sequence_length > o.fft_length) {
    invalid("MelSpectrogram: expected a sequence_length of at most {}, got {}", o.fft_length, o.sequence_length);
  }
  if (o.window != "hann" && o.window != "hamming" && !o.window.empty()) {
    invalid("MelSpectrogram: expected window \"hann\", \"hamming\" or \"\", got \"{}\"", printable(o.window));
  }
}

namespace {

// The window, padded with zeros on both sides to a frame.
std::vector<double> window_of(const MelSpectrogramOptions& o) {
  std::vector<double> values(static_cast<size_t>(o.fft_length), o.window.empty() ? 1.0 : 0.0);
  if (o.window.empty()) return values;
  const int64_t before = (o.fft_length - o.sequence_length) / 2;
  const double least = o.window == "hann" ? 0.5 : 0.54;
  for (int64_t i = 0; i < o.sequence_length; ++i) {
    // The window is periodic, as tf.signal's for even lengths; here also for odd ones.
    const double at = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(o.sequence_length);
    values[static_cast<size_t>(before + i)] = least - (1 - least) * std::cos(at);
  }
  return values;
}

double mel_of(double hertz) { return 1127 * std::log(1 + hertz / 700); }

// The weight of each frequency in each band, triangles on the mel scale: [frequencies, bands].
Tensor bands_of(const MelSpectrogramOptions& o) {
  const int64_t frequencies = o.fft_length / 2 + 1, bands = o.num_mel_bins;
  const double first = mel_of(o.min_freq), last = mel_of(o.max_freq);
  const auto edge = [&](int64_t i) {
    return first + (last - first) * static_cast<double>(i) / static_cast<double>(bands + 1);
  };
  std::vector<double> weights(static_cast<size_t>(frequencies * bands), 0.0);
  for (int64_t f = 1; f < frequencies; ++f) {  // frequency 0, the mean, is in no band
    const double mel = mel_of(o.sampling_rate / 2 * static_cast<double>(f) / static_cast<double>(frequencies - 1));
    for (int64_t b = 0; b < bands; ++b) {
      const double lower = edge(b), middle = edge(b + 1), upper = edge(b + 2);
      const double weight = std::min((mel - lower) / (middle - lower), (upper - mel) / (upper - middle));
      weights[static_cast<size_t>(f * bands + b)] = std::max(0.0, weight);
    }
  }
  return reshape(tensor(weights), {frequencies, bands});
}

}  // namespace

Tensor MelSpectrogram::forward(const Tensor& x) const {
  const PartialShape& known = x.partial_shape();
  if (!known.known_rank() || known.rank() < 1 || known.rank() > 2) {
    invalid("MelSpectrogram: expected an input of shape [samples] or [batch, samples], got {}", known.to_string());
  }
  const MelSpectrogramOptions& o = options_;
  const DType type = x.dtype() == kFloat64 ? kFloat64 : kFloat32;
  const Tensor sound = known.rank() == 1 ? expand_dims(cast(x, type), 0) : cast(x, type);
  const int64_t samples = sound.partial_shape().dim(1);
  const auto half = static_cast<int32_t>(o.fft_length / 2);
  if (samples >= 0 && samples <= half) {
    invalid("MelSpectrogram: expected more than {} samples, got {}", half, samples);
  }
  const Tensor padded = pad(sound, tensor({{0, 0}, {half, half}}), PadOptions{.mode = "reflect"});
  const auto stride = static_cast<int32_t>(o.sequence_stride), length = static_cast<int32_t>(o.fft_length);
  const int32_t added = 2 * half - length;
  const Tensor frames = samples >= 0 ? tensor(static_cast<int32_t>((samples + added) / stride + 1))
                                     : floor_div(shape(sound)[1] + added, stride) + 1;
  const Tensor starts = range(tensor(0), frames, tensor(1)) * stride;
  const Tensor places = expand_dims(starts, 1) + cast(arange(o.fft_length), kInt32);
  const Tensor framed = gather(padded, places, 1) * cast(tensor(window_of(o)), type);
  Tensor spectrum = complex_magnitude(rfft(framed));  // [batch, frames, frequencies]
  if (o.mag_exp == 2) spectrum = square(spectrum);
  if (o.mag_exp != 2 && o.mag_exp != 1) spectrum = pow(spectrum, o.mag_exp);
  Tensor mel = batch_matmul(spectrum, cast(bands_of(o), type));
  if (o.power_to_db) {
    constexpr double kTenths = 10 / std::numbers::ln10;
    mel = log(maximum(mel, o.min_power)) * kTenths - kTenths * std::log(std::max(std::abs(o.ref_power), o.min_power));
    mel = maximum(mel, max(mel) - o.top_db);
  }
  const Tensor y = transpose(mel, {0, 2, 1});
  return known.rank() == 1 ? squeeze(y, {.squeeze_dims = {0}}) : y;
}

std::string MelSpectrogram::to_string() const {
  return fmt::format("MelSpectrogram({}, {})", options_.num_mel_bins, options_.sequence_stride);
}

}  // namespace panto
