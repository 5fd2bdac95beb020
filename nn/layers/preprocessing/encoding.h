// Encodes categories as vectors. Internal.
#pragma once

#include <string_view>

#include "panto/nn/layers/preprocessing/preprocessing.h"

namespace panto::detail {

// Encodes integers as CategoryEncoding describes; kInt returns them. Integers outside [0, categories) become zeros.
Tensor encoded_categories(std::string_view layer, const Tensor& x, int64_t categories, CategoryOutput output);

}  // namespace panto::detail
