// What the body of a composite op expects of its inputs and does not know when it runs, as a graph's shapes may be
// unknown then: ops that refuse at run time. Every one is an op that other programs know too, as it may be saved.
#pragma once

#include <vector>

#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// The tensors as they are, refused unless all have one shape. They are copied.
std::vector<Tensor> of_one_shape(const std::vector<Tensor>& tensors);

// `t` as it is, refused unless it has the shape of `like`. Costs next to nothing where no more than one dimension is
// unknown.
Tensor with_shape_of(const Tensor& t, const Tensor& like);

// An int64 vector with one 0, refused unless the int64 vectors `a` and `b`, of `count` elements, are equal.
Tensor zero_if_equal(const Tensor& a, const Tensor& b, int64_t count);

}  // namespace panto
