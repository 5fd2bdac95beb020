// Spectrograms against Keras's (tests/reference/training/image_layer_cases.py).
#include "panto/nn/layers/sound/spectrogram.h"

#include <map>

#include "panto/autograd/tape.h"
#include "panto/lib/core/io/npy.h"
#include "panto/lib/ops/arrays.h"
#include "panto/tests/expect.h"
#include "panto/tests/nn/layers/layers.h"

namespace panto {
namespace {

const Tensor& keras(const std::string& name) {
  static const auto* const arrays = [] {
    auto* all = new std::map<std::string, Tensor>;
    for (const auto& [key, value] : read_npz(PANTO_TEST_SOURCE "/tests/reference/values/image_layers.npz")) {
      (*all)[key] = value;
    }
    return all;
  }();
  return arrays->at(name);
}
void expect_keras(const Layer& layer, const Tensor& x, const std::string& name, double tolerance) {
  BOOST_TEST_CONTEXT(name) {
    const Tensor& expected = keras("spectrogram/" + name);
    expect_near(layer(x), expected.shape(), values_of(expected), tolerance, 1);
    // Of any length.
    std::vector<int64_t> dims(x.shape().dims().begin(), x.shape().dims().end());
    for (size_t k = 0; k < 2 && k < dims.size(); ++k) dims[k] = -1;
    const Function traced =
        trace([&](const Tensor& t) { return layer(t); }, {TensorSpec(kFloat32, PartialShape(dims))});
    expect_near(traced(x), expected.shape(), values_of(expected), tolerance, 1);
  }
}
STFTSpectrogramOptions few(const std::string& mode) {
  return {.mode = mode, .frame_length = 16, .frame_step = 6, .fft_length = 32};
}

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(spectrograms)

BOOST_AUTO_TEST_CASE(stft_as_keras) {
  const Tensor sound = reshape(keras("sound"), {2, 60, 2});
  for (const char* mode : {"log", "magnitude", "psd", "real", "imag", "stft"}) {
    expect_keras(STFTSpectrogram(few(mode)), sound, std::string("stft/") + mode,
                 mode == std::string("log") ? 5e-4 : 2e-5);  // of small numbers, which are sums of large ones
  }
  STFTSpectrogramOptions o = few("magnitude");
  o.padding = Padding::kSame;
  o.window = "hamming";
  expect_keras(STFTSpectrogram(o), sound, "stft/same", 2e-5);
  o = few("magnitude");
  o.expand_dims = true;
  o.scaling = "spectrum";
  expect_keras(STFTSpectrogram(o), sound, "stft/images", 2e-5);
  expect_keras(STFTSpectrogram({.mode = "psd", .frame_length = 12, .window = "", .scaling = ""}), sound, "stft/plain",
               2e-4);
  o = few("real");
  o.periodic = true;
  expect_keras(STFTSpectrogram(o), sound, "stft/periodic", 2e-5);
  // Of frequencies without a part the angle is any: where there is one, it is Keras's.
  const Tensor angle = STFTSpectrogram(few("angle"))(sound), size = STFTSpectrogram(few("magnitude"))(sound);
  const Tensor apart = where(size > 1e-2F, angle - keras("spectrogram/stft/angle"), zeros_like(size));
  // -pi and pi are one.
  expect_near(sin(apart), size.shape(), std::vector<double>(static_cast<size_t>(size.numel()), 0.0), 1e-3, 1);
}

BOOST_AUTO_TEST_CASE(mel_as_keras) {
  const Tensor sound = reshape(keras("sound"), {2, 120});
  const MelSpectrogramOptions o{.fft_length = 32, .sequence_stride = 10, .sampling_rate = 1000, .num_mel_bins = 6};
  expect_keras(MelSpectrogram(o), sound, "mel", 1e-3);
  expect_keras(MelSpectrogram(o), sound[0], "mel/one", 1e-3);
  MelSpectrogramOptions other = o;
  other.power_to_db = false;
  other.mag_exp = 1;
  other.sequence_length = 20;
  expect_keras(MelSpectrogram(other), sound, "mel/power", 1e-4);
  other = o;
  other.window = "hamming";
  other.top_db = 5;
  other.ref_power = 2;
  other.max_freq = 300;
  expect_keras(MelSpectrogram(other), sound, "mel/hamming", 1e-3);
  // Keras's weights are float32's: near a band's edge they have few digits.
  const Tensor& expected = keras("spectrogram/mel/long");
  expect_near(MelSpectrogram()(wave({1, 5000}, 2)), expected.shape(), values_of(expected), 0.05, 1);
}

BOOST_AUTO_TEST_CASE(kernels_are_trained) {
  const STFTSpectrogram layer(few("psd"));
  BOOST_TEST(layer.variables().size() == 2U);
  GradientTape tape;
  const Tensor loss = sum(square(layer(wave({1, 40, 1}))));
  for (const Tensor& g : tape.gradient(loss, layer.variables())) BOOST_TEST(g.shape() == Shape({16, 1, 17}));
  BOOST_TEST(STFTSpectrogram(few("imag")).variables().size() == 1U);
}

BOOST_AUTO_TEST_CASE(misuse) {
  expect_error_begins([] { STFTSpectrogram({.mode = "loud"}); }, "InvalidArgument: STFTSpectrogram: expected mode");
  expect_error_begins([] { STFTSpectrogram({.frame_length = 4, .frame_step = 5}); },
                      "InvalidArgument: STFTSpectrogram: expected a frame_step in [1, 4], got 5");
  expect_error_begins([] { STFTSpectrogram({.frame_length = 4, .fft_length = 2}); },
                      "InvalidArgument: STFTSpectrogram: expected an fft_length of at least 4, got 2");
  expect_error_begins([] { STFTSpectrogram()(ones({2, 2})); },
                      "InvalidArgument: STFTSpectrogram: expected an input of shape");
  expect_error_begins([] { MelSpectrogram({.fft_length = 4, .sequence_length = 5}); },
                      "InvalidArgument: MelSpectrogram: expected a sequence_length of at most 4, got 5");
  expect_error_begins([] { MelSpectrogram({.fft_length = 8})(ones({4})); },
                      "InvalidArgument: MelSpectrogram: expected more than 4 samples, got 4");
  expect_error_begins([] { MelSpectrogram({.window = "round"}); }, "InvalidArgument: MelSpectrogram: expected window");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
