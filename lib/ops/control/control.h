// What conditionals and loops mean by a condition, a number of a branch and what holds in every round. Internal.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/op/function_body.h"
#include "panto/lib/core/tensor/shape.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto::detail {

// A bool, a number that is not 0, a string that is not empty; of another tensor than a scalar, whether it has elements
// (TensorFlow's ToBool). Throws InvalidArgument for dtypes that are neither, and for symbolic tensors.
bool is_true(const Tensor& condition);
// `index` where there is such a branch, else the last one.
PANTO_EXPORT size_t branch_index(const Tensor& index, size_t branches);
// What is known of a value that is like `a` or like `b`.
PANTO_EXPORT PartialShape known_of_both(const PartialShape& a, const PartialShape& b);
// What is known of a loop's values before its first round and after every one: symbolic tensors. `inputs`: what is
// known of the first ones, symbolic or not.
PANTO_EXPORT std::vector<Tensor> loop_invariant(const FunctionBody& body, std::span<const Tensor* const> inputs);

}  // namespace panto::detail
