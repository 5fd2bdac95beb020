// What layers that drop have in common. Internal.
#pragma once

#include <span>
#include <string_view>

#include "panto/lib/core/tensor/tensor.h"

namespace panto::detail {

// `rate`. Throws InvalidArgument unless 0 <= rate < 1.
double dropout_rate(std::string_view layer, double rate);

// Truth values of x's shape, where dimensions in `alike` are 1: false for a random share `rate`.
Tensor kept_at_random(const Tensor& x, double rate, std::span<const int> alike = {});

// What x is multiplied by: 0 for a random share `rate`, else 1 / (1 - rate).
Tensor dropout_factors(const Tensor& x, double rate, std::span<const int> alike = {});

}  // namespace panto::detail
