// Decodes and encodes sound, and computes spectrograms.
#include <cmath>
#include <numbers>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/fft.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

int64_t wanted(const ShapeContext& c, AttrName name, const char* text) {
  const int64_t count = c.integer(name);
  if (count < -1) invalid("{}: expected at least -1, got {}", text, count);
  return count < 0 ? kUnknownDim : count;
}

// The length to which a window is padded: a power of two.
int64_t transform_length(int64_t window) {
  int64_t length = 1;
  while (length < window) length *= 2;
  return length;
}

// Attribute checks, for the shape function and for the body, which runs without it.
void expect_spectrogram(const CallView& c) {
  constexpr int64_t kLongest = int64_t{1} << 30;
  const int64_t window = c.integer("window_size"), stride = c.integer("stride");
  if (window < 2 || window > kLongest) invalid("window_size: expected 2 to {}, got {}", kLongest, window);
  if (stride < 1 || stride > kLongest) invalid("stride: expected 1 to {}, got {}", kLongest, stride);
  const PartialShape& shape = c.in(0).partial_shape();
  if (shape.known_rank() && shape.rank() != 2) {
    invalid("input: expected a matrix, got shape {}", whole(shape.to_string()));
  }
}

void spectrogram_shape(ShapeContext& c) {
  expect_spectrogram(c);
  const int64_t window = c.integer("window_size"), stride = c.integer("stride");
  const int64_t samples = c.dim(0, 0);
  const int64_t windows = samples == kUnknownDim ? kUnknownDim : samples < window ? 0 : 1 + (samples - window) / stride;
  c.output({c.dim(0, 1), windows, 1 + transform_length(window) / 2});
}

// Uses a periodic Hann window, and a Fourier transform in float64.
void spectrogram_body(CompositeContext& c) {
  expect_spectrogram(c);
  const int64_t window = c.integer("window_size"), stride = c.integer("stride");
  Tensor hann = allocate_tensor(cpu_device(), kFloat64, Shape{window});
  for (int64_t i = 0; i < window; ++i) {
    const double turn = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(window);
    mutable_data<double>(hann)[i] = 0.5 - 0.5 * std::cos(turn);
  }
  const Tensor samples = cast(transpose(c.in(0), {1, 0}), kFloat64);
  const Tensor count =
      maximum(floor_div(squeeze(slice(shape(c.in(0)), {0}, {1})) - static_cast<int>(window) + static_cast<int>(stride),
                        static_cast<int>(stride)),
              0);
  const Tensor firsts = expand_dims(range(0, count, 1) * static_cast<int>(stride), 1);
  const Tensor places = firsts + range(0, static_cast<int>(window), 1);
  const auto more = static_cast<int>(transform_length(window) - window);
  const Tensor frames = pad(gather(samples, places, 1) * hann, tensor({{0, 0}, {0, 0}, {0, more}}));
  const Tensor y = real_fft(frames, {static_cast<int>(transform_length(window))}, {.Tcomplex = kComplex128});
  const Tensor power = cast(square(real(y)) + square(imag(y)), kFloat32);
  c.set_out(0, c.flag("magnitude_squared") ? power : sqrt(power));
}

void mfcc_shape(ShapeContext& c) {
  c.expect_rank(0, 3);
  c.expect_scalar(1);
  const int64_t bands = c.integer("filterbank_channel_count"), count = c.integer("dct_coefficient_count");
  constexpr int64_t kMostBands = 1 << 16;
  if (bands < 1 || bands > kMostBands) {
    invalid("filterbank_channel_count: expected 1 to {}, got {}", kMostBands, bands);
  }
  if (count < 1 || count > bands) invalid("dct_coefficient_count: expected 1 to {}, got {}", bands, count);
  const float low = c.real("lower_frequency_limit"), high = c.real("upper_frequency_limit");
  if (!(low >= 0)) invalid("lower_frequency_limit: expected at least 0, got {}", low);
  if (!(high > low)) invalid("upper_frequency_limit: expected more than {}, got {}", low, high);
  const int64_t bins = c.dim(0, 2);
  if (bins != kUnknownDim && bins < 2) invalid("dimension 2 of spectrogram: expected at least 2, got {}", bins);
  c.output({c.dim(0, 0), c.dim(0, 1), count});
}

}  // namespace

const Op& kAudioSpectrogram = define_op(
    "AudioSpectrogram(input: float32; window_size: int, stride: int, magnitude_squared: bool = false)"
    " -> (spectrogram: float32)",
    {.doc = "How loud each frequency is over time: of the samples [frames, channels], for each channel and each window "
            "of `window_size` frames, one every `stride`, the absolute values (or, `magnitude_squared`, their squares) "
            "of Fourier's transform of the window, under Hann's bell and filled up to a power of two: [channels, "
            "windows, 1 + that / 2].",
     .shape = spectrogram_shape,
     .body = spectrogram_body,
     .in_tensorflow = true});

const Op& kMfcc = define_op(
    "Mfcc(spectrogram: float32, sample_rate: int32; upper_frequency_limit: float = 4000,"
    " lower_frequency_limit: float = 20, filterbank_channel_count: int = 40, dct_coefficient_count: int = 13)"
    " -> (output: float32)",
    {.doc = "Mel-frequency cepstral coefficients (Davis and Mermelstein 1980) of spectrograms of squares [channels, "
            "windows, bins]: of sums under `filterbank_channel_count` triangles, that overlap and are as far from each "
            "other as ears have it, between the two limits in hertz, the logarithms, and of these the first "
            "`dct_coefficient_count` cosines: [channels, windows, coefficients].",
     .shape = mfcc_shape,
     .no_gradient = "TensorFlow has none",
     .batch = batching::loop});

const Op& kDecodeWav = define_op(
    "DecodeWav(contents: string; desired_channels: int = -1, desired_samples: int = -1)"
    " -> (audio: float32, sample_rate: int32)",
    {.doc = "The samples [frames, channels] in the bytes of a WAV of 16 bits (PCM), from -1 to 1, and how many frames "
            "there are in a second. More `desired_channels` than the file has repeat its last one; more "
            "`desired_samples` (frames) are silent at the end. Throws DataLoss for damaged and truncated files, "
            "Unimplemented for other kinds of WAV, ResourceExhausted beyond 2 GiB.",
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(0);
           c.output(0, PartialShape{wanted(c, "desired_samples", "desired_samples"),
                                    wanted(c, "desired_channels", "desired_channels")});
           c.output(1, Shape{});
         },
     .no_gradient = "bytes are not differentiable",
     .batch = batching::loop});

const Op& kEncodeWav =
    define_op("EncodeWav(audio: float32, sample_rate: int32) -> (contents: string)",
              {.doc = "The samples [frames, channels] as a WAV of 16 bits (PCM). What is beyond -1 or 1 is cut off.",
               .shape =
                   [](ShapeContext& c) {
                     c.expect_rank(0, 2);
                     c.expect_scalar(1);
                     c.output(Shape{});
                   },
               .no_gradient = "bytes are not differentiable",
               .batch = batching::loop});

}  // namespace panto
