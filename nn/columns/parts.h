// Helpers shared by the columns. Internal.
#pragma once

#include <cstdint>
#include <string>

#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/ops/sparse/sparse_tensor.h"

namespace panto {

// Returns x after checking that `condition`, a bool scalar, is true; otherwise throws InvalidArgument with `message`
// and x.
Tensor asserted(const Tensor& x, const Tensor& condition, const std::string& message);

// int64 [batch]: the number of steps of each example; one step takes `numbers_each` positions along the second
// dimension.
Tensor sequence_lengths(const SparseTensor& sparse, int64_t numbers_each);

}  // namespace panto
