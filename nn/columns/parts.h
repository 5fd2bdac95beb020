// What columns share. Internal.
#pragma once

#include <cstdint>
#include <string>

#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/ops/sparse/sparse_tensor.h"

namespace panto {

// x, once `condition`, a bool scalar, is found to be true; else InvalidArgument with `message` and x.
Tensor asserted(const Tensor& x, const Tensor& condition, const std::string& message);

// int64 [batch]: how many steps each example has, of which each is `numbers_each` places along the second dimension.
Tensor sequence_lengths(const SparseTensor& sparse, int64_t numbers_each);

}  // namespace panto
