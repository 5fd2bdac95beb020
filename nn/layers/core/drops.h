// Helpers shared by the layers that drop elements. Internal.
#pragma once

#include <span>
#include <string_view>

#include "panto/lib/core/tensor/tensor.h"

namespace panto::detail {

// Returns `rate`. Throws InvalidArgument unless 0 <= rate < 1.
double dropout_rate(std::string_view layer, double rate);

// bools of x's shape, with dimensions in `alike` of size 1: false for a random share `rate`.
Tensor kept_at_random(const Tensor& x, double rate, std::span<const int> alike = {});

// The factors for x: 0 for a random share `rate`, else 1 / (1 - rate).
Tensor dropout_factors(const Tensor& x, double rate, std::span<const int> alike = {});

}  // namespace panto::detail
