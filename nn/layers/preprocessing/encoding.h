// Categories as vectors. Internal.
#pragma once

#include <string_view>

#include "panto/nn/layers/preprocessing/preprocessing.h"

namespace panto::detail {

// Integers in the form that CategoryEncoding describes; themselves for kInt. Those outside of [0, categories) are
// zeros.
Tensor encoded_categories(std::string_view layer, const Tensor& x, int64_t categories, CategoryOutput output);

}  // namespace panto::detail
