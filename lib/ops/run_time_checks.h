// Run-time checks for bodies of composite ops: conditions on inputs that cannot be checked while a graph is built, as
// shapes may be unknown. They are made of ops that other programs know too, as the graph may be saved.
#pragma once

#include <vector>

#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// Returns copies of the tensors; fails at run time unless all have the same shape.
std::vector<Tensor> of_one_shape(const std::vector<Tensor>& tensors);

// Returns `t`; fails at run time unless it has the shape of `like`. Almost free if at most one dimension is unknown.
Tensor with_shape_of(const Tensor& t, const Tensor& like);

// Returns an int64 vector with one 0; fails at run time unless the int64 vectors `a` and `b`, of `count` elements, are
// equal.
Tensor zero_if_equal(const Tensor& a, const Tensor& b, int64_t count);

}  // namespace panto
