// First values of variables. An Initializer makes a tensor of a shape and dtype; fan-in and fan-out are the last two
// dimensions (a matrix product's), times the product of the others (a convolution's window).
#pragma once

#include <cstdint>
#include <optional>

#include "panto/lib/base/callable.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

using Initializer = Callable<Tensor(const Shape& shape, DType dtype)>;

// Without a seed: the process's generator (`set_seed`).
using Seed = std::optional<int64_t>;

// Uniform in +-sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010).
PANTO_EXPORT Initializer glorot_uniform(Seed seed = std::nullopt);
// Normal with standard deviation sqrt(2 / (fan_in + fan_out)).
PANTO_EXPORT Initializer glorot_normal(Seed seed = std::nullopt);
// Uniform in +-sqrt(6 / fan_in) (He et al. 2015): for layers followed by relu.
PANTO_EXPORT Initializer he_uniform(Seed seed = std::nullopt);
// Normal with standard deviation sqrt(2 / fan_in).
PANTO_EXPORT Initializer he_normal(Seed seed = std::nullopt);
// Uniform in [min, max). Throws InvalidArgument, where it is used, unless min < max.
PANTO_EXPORT Initializer uniform_initializer(double min, double max, Seed seed = std::nullopt);
PANTO_EXPORT Initializer constant_initializer(double value);

}  // namespace panto
