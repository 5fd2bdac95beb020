// First values of variables. An Initializer makes a tensor of a shape and dtype:
//
//   Dense(784, 128, {.kernel_initializer = he_normal(7)})               // with a seed
//   Dense(784, 128, {.kernel_initializer = "he_normal"})                // by its name
//   Dense(784, 128, {.kernel_initializer = [](const Shape& shape, DType dtype) { return ones(shape, dtype); }})
//
// Values have the distribution of Keras's initializer of the same name. Without a seed they come from the process's
// generator (`set_seed`); with a seed they are the same at every call. Fan-in and fan-out are the last two dimensions
// (those of a matrix product), times the product of the others (a convolution's window); for a vector both are its
// length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

class PANTO_EXPORT Initializer {
 public:
  using Function = Callable<Tensor(const Shape& shape, DType dtype)>;

  Initializer() = default;
  // NOLINTBEGIN(google-explicit-constructor): written as {.kernel_initializer = "he_normal"}
  Initializer(std::nullptr_t) {}  // none
  // "zeros", "ones", "glorot_uniform", "glorot_normal", "he_uniform", "he_normal", "lecun_uniform", "lecun_normal",
  // "variance_scaling", "random_uniform" ("uniform"), "random_normal" ("normal"), "truncated_normal", "orthogonal" or
  // "identity", each with its defaults. Throws InvalidArgument for another name.
  Initializer(std::string_view name);
  Initializer(const char* name) : Initializer(std::string_view(name)) {}
  Initializer(const std::string& name) : Initializer(std::string_view(name)) {}
  // Anything that can be called with a shape and a dtype and returns a tensor.
  template <class F>
    requires(!std::is_same_v<std::decay_t<F>, Initializer>) && (!std::is_convertible_v<F, std::string_view>) &&
            (std::is_invocable_r_v<Tensor, F&, const Shape&, DType>)
  Initializer(F function) : function_(std::move(function)) {}
  // NOLINTEND(google-explicit-constructor)

  explicit operator bool() const noexcept { return static_cast<bool>(function_); }
  // Throws FailedPrecondition if there is none.
  Tensor operator()(const Shape& shape, DType dtype) const { return function_(shape, dtype); }

 private:
  Function function_;
};

// Without a seed: the process's generator (`set_seed`).
using Seed = std::optional<int64_t>;

// ---- By the number of inputs and outputs ---------------------------------------------------------------------------

struct VarianceScalingOptions {
  double scale = 1;                                    // positive
  std::string_view mode = "fan_in";                    // or "fan_out", or "fan_avg", the mean of both
  std::string_view distribution = "truncated_normal";  // ("normal"), "untruncated_normal" or "uniform"
  Seed seed = std::nullopt;
  std::vector<int64_t> input_axes = {};  // if given with output_axes: fan-in is the product of these
  std::vector<int64_t> output_axes = {};
};
// Numbers of variance scale / n, where n is the fan, at least 1: uniform in +-sqrt(3 scale / n), or normal. The
// truncated normal distribution has no numbers beyond 2 standard deviations; its stddev is sqrt(scale / n) / 0.8796, so
// that the truncated numbers have the variance. Throws InvalidArgument for options out of range, and at use for axes
// that the shape lacks.
PANTO_EXPORT Initializer variance_scaling(const VarianceScalingOptions& options = {});

// Uniform in +-sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010).
PANTO_EXPORT Initializer glorot_uniform(Seed seed = std::nullopt);
// Truncated normal with standard deviation sqrt(2 / (fan_in + fan_out)).
PANTO_EXPORT Initializer glorot_normal(Seed seed = std::nullopt);
// Uniform in +-sqrt(6 / fan_in) (He et al. 2015): for layers followed by relu.
PANTO_EXPORT Initializer he_uniform(Seed seed = std::nullopt);
// Truncated normal with standard deviation sqrt(2 / fan_in).
PANTO_EXPORT Initializer he_normal(Seed seed = std::nullopt);
// Uniform in +-sqrt(3 / fan_in) (LeCun et al. 1998): for layers followed by selu.
PANTO_EXPORT Initializer lecun_uniform(Seed seed = std::nullopt);
// Truncated normal with standard deviation sqrt(1 / fan_in).
PANTO_EXPORT Initializer lecun_normal(Seed seed = std::nullopt);

// ---- Of given distributions ----------------------------------------------------------------------------------------

// Uniform in [min, max). Throws InvalidArgument at use unless min < max.
PANTO_EXPORT Initializer uniform_initializer(double min = -0.05, double max = 0.05, Seed seed = std::nullopt);
PANTO_EXPORT Initializer normal_initializer(double mean = 0, double stddev = 0.05, Seed seed = std::nullopt);
// Without numbers farther than 2 stddev from the mean.
PANTO_EXPORT Initializer truncated_normal_initializer(double mean = 0, double stddev = 0.05, Seed seed = std::nullopt);
// A matrix whose columns (or rows, if these are fewer) are orthogonal and of length `gain`; with more dimensions the
// last one counts columns (Saxe et al. 2014). Throws InvalidArgument at use for fewer than two dimensions.
PANTO_EXPORT Initializer orthogonal_initializer(double gain = 1, Seed seed = std::nullopt);

// ---- Of given values -----------------------------------------------------------------------------------------------

PANTO_EXPORT Initializer zeros_initializer();
PANTO_EXPORT Initializer ones_initializer();
PANTO_EXPORT Initializer constant_initializer(double value);
// The tensor, broadcast and cast.
PANTO_EXPORT Initializer constant_initializer(const Tensor& value);
// `gain` on the diagonal, else 0. Throws InvalidArgument at use unless the shape is a matrix's.
PANTO_EXPORT Initializer identity_initializer(double gain = 1);

struct StftInitializerOptions {
  std::string_view side = "real";        // or "imag"
  std::string_view window = "hann";      // "hamming", or "" for none
  std::string_view scaling = "density";  // what the window is divided by; "spectrum", or "" for 1
  bool periodic = false;                 // true: a periodic window; false: a symmetric one
};
// The kernel [frame, channels, frequencies] of a convolution that computes one part of a short-time Fourier transform
// of length 2 (frequencies - 1): each channel's is cos or sin of -2 pi time frequency / length, times the window.
// "density" divides by the root of the sum of the window's squares, "spectrum" by its sum. Throws InvalidArgument for
// options of other names; where it is used, for fewer than 2 frequencies.
PANTO_EXPORT Initializer stft_initializer(const StftInitializerOptions& options = {});

}  // namespace panto
