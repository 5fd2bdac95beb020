// What conditionals and loops mean by a condition, a number of a branch and what holds in every round. Internal.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
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

// Throws InvalidArgument where the function does not give tensors of these types: of one that calls itself nobody
// knows that before it is called. `of`: what it is, "function".
PANTO_EXPORT void expect_outputs(const FunctionBody& body, std::span<const DType> types,
                                 std::string_view of = "function");
// The same of a loop's condition: one output, of any type.
PANTO_EXPORT void expect_condition(const FunctionBody& condition);

}  // namespace panto::detail
