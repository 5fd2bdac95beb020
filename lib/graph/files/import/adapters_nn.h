// Bodies of adapters (adapters.cc) for old image ops. Internal.
#pragma once

#include <cstdint>
#include <vector>

#include "panto/lib/graph/files/import/adapters.h"

namespace panto::adapters {

using Tensors = std::vector<Tensor>;
using Ints = std::vector<int64_t>;

Tensors max_pool_v2(const AdapterCall& c);
Tensors max_pool_grad_v2(const AdapterCall& c);
Tensors max_pool_grad_grad_v2(const AdapterCall& c);

Tensors conv2d_by_input(const AdapterCall& c);
Tensors conv2d_by_filter(const AdapterCall& c);
Tensors conv3d_by_input(const AdapterCall& c);
Tensors conv3d_by_filter(const AdapterCall& c);
Tensors conv_of_any_rank(const AdapterCall& c);
Tensors padded_conv2d(const AdapterCall& c);
Tensors resized_conv2d(const AdapterCall& c);

Tensor suppressed(const AdapterCall& c, const Tensor& overlap);

Tensors batch_norm_grad(const AdapterCall& c);
Tensors global_normalization(const AdapterCall& c);
Tensors global_normalization_grad(const AdapterCall& c);

}  // namespace panto::adapters
