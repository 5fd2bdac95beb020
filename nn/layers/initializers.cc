#include "panto/nn/layers/initializers.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/core/tensor/device.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/linalg/linalg.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/random/random.h"
#include "panto/lib/ops/reductions.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

// The standard deviation of a standard normal distribution truncated at 2.
constexpr double kTruncated = 0.87962566103423978;

struct Fans {
  double in = 1;
  double out = 1;
};

double product(const Shape& shape, const std::vector<int64_t>& axes) {
  double all = 1;
  for (int64_t axis : axes) {
    const int rank = shape.rank();
    if (axis < -rank || axis >= rank) invalid("axis: expected one of shape {}, got {}", shape.to_string(), axis);
    all *= static_cast<double>(shape.dim(static_cast<int>(axis < 0 ? axis + rank : axis)));
  }
  return all;
}

Fans fans_of(const Shape& shape) {
  const int rank = shape.rank();
  if (rank == 0) return {};
  double window = 1;
  for (int k = 0; k + 2 < rank; ++k) window *= static_cast<double>(shape.dim(k));
  const auto last = static_cast<double>(shape.dim(rank - 1));
  if (rank == 1) return {last, last};
  return {window * static_cast<double>(shape.dim(rank - 2)), window * last};
}

enum class Mode : uint8_t { kIn, kOut, kMean };
enum class Distribution : uint8_t { kTruncatedNormal, kNormal, kUniform };

Tensor scaled_by_fan(const Shape& shape, DType dtype, const Fans& fans, double scale, Mode mode,
                     Distribution distribution, const Seed& seed) {
  const double fan = mode == Mode::kIn ? fans.in : mode == Mode::kOut ? fans.out : (fans.in + fans.out) / 2;
  // A layer without inputs or outputs has no elements, so any scale will do.
  const double variance = scale / std::max(fan, 1.0), deviation = std::sqrt(variance);
  switch (distribution) {
    case Distribution::kTruncatedNormal:
      return truncated_normal(shape, {.seed = seed, .dtype = dtype, .stddev = deviation / kTruncated});
    case Distribution::kNormal: return random_normal(shape, {.seed = seed, .dtype = dtype, .stddev = deviation});
    case Distribution::kUniform: break;
  }
  const double bound = std::sqrt(3.0 * variance);
  return random_uniform(shape, {.seed = seed, .dtype = dtype, .min = -bound, .max = bound});
}

Initializer by_fan(double scale, Mode mode, Distribution distribution, const Seed& seed) {
  return [=](const Shape& shape, DType dtype) {
    return scaled_by_fan(shape, dtype, fans_of(shape), scale, mode, distribution, seed);
  };
}

}  // namespace

// ---- By name -------------------------------------------------------------------------------------------------------

Initializer::Initializer(std::string_view name) {
  struct Named {
    std::string_view name;
    Initializer (*make)();
  };
  static constexpr Named kNames[] = {
      {"zeros", [] { return zeros_initializer(); }},
      {"ones", [] { return ones_initializer(); }},
      {"glorot_uniform", [] { return glorot_uniform(); }},
      {"glorot_normal", [] { return glorot_normal(); }},
      {"he_uniform", [] { return he_uniform(); }},
      {"he_normal", [] { return he_normal(); }},
      {"lecun_uniform", [] { return lecun_uniform(); }},
      {"lecun_normal", [] { return lecun_normal(); }},
      {"variance_scaling", [] { return variance_scaling(); }},
      {"random_uniform", [] { return uniform_initializer(); }},
      {"uniform", [] { return uniform_initializer(); }},
      {"random_normal", [] { return normal_initializer(); }},
      {"normal", [] { return normal_initializer(); }},
      {"truncated_normal", [] { return truncated_normal_initializer(); }},
      {"orthogonal", [] { return orthogonal_initializer(); }},
      {"identity", [] { return identity_initializer(); }},
  };
  const auto* const found = std::ranges::find(kNames, name, &Named::name);
  if (found == std::end(kNames)) {
    invalid(
        "initializer: expected \"glorot_uniform\", \"he_normal\" or another name of nn/layers/initializers.h, got "
        "\"{}\"",
        printable(name));
  }
  *this = found->make();
}

// ---- By the number of inputs and outputs ---------------------------------------------------------------------------

Initializer variance_scaling(const VarianceScalingOptions& options) {
  const double scale = options.scale;
  if (!(scale > 0) || !std::isfinite(scale)) invalid("scale: expected a positive number, got {}", scale);
  if (options.mode != "fan_in" && options.mode != "fan_out" && options.mode != "fan_avg") {
    invalid("mode: expected \"fan_in\", \"fan_out\" or \"fan_avg\", got \"{}\"", printable(options.mode));
  }
  const Mode mode = options.mode == "fan_in" ? Mode::kIn : options.mode == "fan_out" ? Mode::kOut : Mode::kMean;
  Distribution distribution = Distribution::kUniform;
  if (options.distribution == "truncated_normal" || options.distribution == "normal") {
    distribution = Distribution::kTruncatedNormal;
  } else if (options.distribution == "untruncated_normal") {
    distribution = Distribution::kNormal;
  } else if (options.distribution != "uniform") {
    invalid("distribution: expected \"truncated_normal\", \"untruncated_normal\" or \"uniform\", got \"{}\"",
            printable(options.distribution));
  }
  if (options.input_axes.empty() || options.output_axes.empty()) return by_fan(scale, mode, distribution, options.seed);
  return [=, in = options.input_axes, out = options.output_axes, seed = options.seed](const Shape& shape, DType dtype) {
    return scaled_by_fan(shape, dtype, {product(shape, in), product(shape, out)}, scale, mode, distribution, seed);
  };
}

Initializer glorot_uniform(Seed seed) { return by_fan(1, Mode::kMean, Distribution::kUniform, seed); }
Initializer glorot_normal(Seed seed) { return by_fan(1, Mode::kMean, Distribution::kTruncatedNormal, seed); }
Initializer he_uniform(Seed seed) { return by_fan(2, Mode::kIn, Distribution::kUniform, seed); }
Initializer he_normal(Seed seed) { return by_fan(2, Mode::kIn, Distribution::kTruncatedNormal, seed); }
Initializer lecun_uniform(Seed seed) { return by_fan(1, Mode::kIn, Distribution::kUniform, seed); }
Initializer lecun_normal(Seed seed) { return by_fan(1, Mode::kIn, Distribution::kTruncatedNormal, seed); }

// ---- Of given distributions ----------------------------------------------------------------------------------------

Initializer uniform_initializer(double min, double max, Seed seed) {
  return [min, max, seed](const Shape& shape, DType dtype) {
    return random_uniform(shape, {.seed = seed, .dtype = dtype, .min = min, .max = max});
  };
}

Initializer normal_initializer(double mean, double stddev, Seed seed) {
  return [mean, stddev, seed](const Shape& shape, DType dtype) {
    return random_normal(shape, {.seed = seed, .dtype = dtype, .mean = mean, .stddev = stddev});
  };
}

Initializer truncated_normal_initializer(double mean, double stddev, Seed seed) {
  return [mean, stddev, seed](const Shape& shape, DType dtype) {
    return truncated_normal(shape, {.seed = seed, .dtype = dtype, .mean = mean, .stddev = stddev});
  };
}

Initializer orthogonal_initializer(double gain, Seed seed) {
  return [gain, seed](const Shape& shape, DType dtype) -> Tensor {
    const int rank = shape.rank();
    if (rank < 2) invalid("orthogonal_initializer: expected two dimensions or more, got shape {}", shape.to_string());
    if (shape.numel() == 0) return zeros(shape, dtype);
    const int64_t columns = shape.dim(rank - 1), rows = shape.numel() / columns;
    // The decomposition supports these types, on CPUs only.
    const DeviceScope only_there("CPU:0");
    const DType wide = dtype == kFloat64 ? kFloat64 : kFloat32;
    const auto [q, r] =
        linalg::qr(random_normal({std::max(rows, columns), std::min(rows, columns)}, {.seed = seed, .dtype = wide}));
    // Choose signs so that all orthogonal matrices are equally likely (Mezzadri 2007).
    const Tensor turned = q * where(matrix_diag_part_main(r) < 0.0, -gain, gain).cast(wide);
    return cast(reshape(rows < columns ? transpose(turned) : turned, shape), dtype);
  };
}

// ---- Of given values -----------------------------------------------------------------------------------------------

Initializer constant_initializer(double value) {
  return [value](const Shape& shape, DType dtype) { return fill(shape, cast(value, dtype)); };
}
Initializer constant_initializer(const Tensor& value) {
  if (!value.defined()) invalid("constant_initializer: expected a tensor, got none");
  return [value](const Shape& shape, DType dtype) { return broadcast_to(cast(value, dtype), shape); };
}
Initializer zeros_initializer() { return constant_initializer(0); }
Initializer ones_initializer() { return constant_initializer(1); }

Initializer identity_initializer(double gain) {
  return [gain](const Shape& shape, DType dtype) -> Tensor {
    if (shape.rank() != 2) invalid("identity_initializer: expected a matrix's shape, got {}", shape.to_string());
    return eye(shape.dim(0), shape.dim(1), dtype) * gain;
  };
}

namespace {

// A window of `size` values; in a symmetric window the last value equals the first.
Tensor window_of(std::string_view name, int64_t size, bool periodic) {
  const double around = static_cast<double>(periodic ? size : size - 1);
  if (around == 0) return ones({size}, kFloat64);
  const double least = name == "hann" ? 0.5 : 0.54;
  return least -
         (1 - least) * cos(cast(range(int64_t{0}, size, int64_t{1}), kFloat64) * (2 * std::numbers::pi / around));
}

}  // namespace

Initializer stft_initializer(const StftInitializerOptions& options) {
  if (options.side != "real" && options.side != "imag") {
    invalid("side: expected \"real\" or \"imag\", got \"{}\"", printable(options.side));
  }
  if (options.window != "hann" && options.window != "hamming" && !options.window.empty()) {
    invalid("window: expected \"hann\", \"hamming\" or \"\", got \"{}\"", printable(options.window));
  }
  if (options.scaling != "density" && options.scaling != "spectrum" && !options.scaling.empty()) {
    invalid("scaling: expected \"density\", \"spectrum\" or \"\", got \"{}\"", printable(options.scaling));
  }
  return [real = options.side == "real", window = std::string(options.window), scaling = std::string(options.scaling),
          periodic = options.periodic](const Shape& shape, DType dtype) -> Tensor {
    if (shape.rank() != 3 || shape.dim(2) < 2) {
      invalid("stft_initializer: expected shape [frame, channels, frequencies] with 2 frequencies or more, got {}",
              shape.to_string());
    }
    const auto counted = [](int64_t n) { return cast(range(int64_t{0}, n, int64_t{1}), kFloat64); };
    const double step = -2 * std::numbers::pi / static_cast<double>(2 * (shape.dim(2) - 1));
    const Tensor angles = expand_dims(counted(shape.dim(0)), -1) * counted(shape.dim(2)) * step;
    Tensor kernel = real ? cos(angles) : sin(angles);
    if (!window.empty()) {
      Tensor values = window_of(window, shape.dim(0), periodic);
      if (scaling == "density") values = values / sqrt(sum(square(values)));
      if (scaling == "spectrum") values = values / sum(abs(values));
      kernel = kernel * expand_dims(values, -1);
    }
    return cast(broadcast_to(expand_dims(kernel, 1), shape), dtype);
  };
}

}  // namespace panto
