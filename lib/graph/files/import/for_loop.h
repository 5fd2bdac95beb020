// For, TensorFlow's loop over a range of integers: becomes a While when a graph is read. Internal.
#pragma once

#include <vector>

#include "panto/lib/core/op/attr.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// Adds a While or StatelessWhile that calls `body` for each number in [start, limit) in steps of `delta`, with `values`
// and then with the results of the call before. The run fails if `delta` leads away from `limit`. Throws Unimplemented
// for a body that calls itself.
std::vector<Tensor> for_loop(const Tensor& start, const Tensor& limit, const Tensor& delta,
                             const std::vector<Tensor>& values, const FunctionRef& body);

}  // namespace panto
