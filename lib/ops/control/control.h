// Shared semantics of conditionals and loops: conditions, branch numbers, loop invariants. Internal.
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

// Whether a condition is true, as TensorFlow's ToBool: a true bool, a nonzero number, or a nonempty string; a tensor
// that is not a scalar is true if it has elements. Throws InvalidArgument for other dtypes and for symbolic tensors.
bool is_true(const Tensor& condition);
// `index` if there is such a branch, else the last one.
PANTO_EXPORT size_t branch_index(const Tensor& index, size_t branches);
// The shape known of a value whose shape is `a` or `b`.
PANTO_EXPORT PartialShape known_of_both(const PartialShape& a, const PartialShape& b);
// Returns, as symbolic tensors, what is known of a loop's values before the first round and after every round.
// `inputs`: the initial values, symbolic or not.
PANTO_EXPORT std::vector<Tensor> loop_invariant(const FunctionBody& body, std::span<const Tensor* const> inputs);

// Throws InvalidArgument unless the function's outputs have these types. Checked at the call, as the outputs of a
// recursive function are not known earlier. `of`: names the function in messages.
PANTO_EXPORT void expect_outputs(const FunctionBody& body, std::span<const DType> types,
                                 std::string_view of = "function");
// The same for a loop's condition: one output, of any type.
PANTO_EXPORT void expect_condition(const FunctionBody& condition);

}  // namespace panto::detail
