// What attention takes, and which scores count. Internal.
#pragma once

#include <cstdint>
#include <string_view>

#include "panto/lib/core/tensor/tensor.h"

namespace panto::detail {

// Throws InvalidArgument unless x is [batch, steps, features]; features < 0: any number.
void expect_sequence(std::string_view layer, const char* what, const Tensor& x, int64_t features);

// The scores that count, of [batch, steps, length] or, with heads, [batch, heads, steps, length]; others so low that
// their exponential is zero. `mask`, bool[batch, steps, length] or what broadcasts to the scores, may be undefined.
// With `causal` no step counts a later one; with `to_the_end` the last of the steps is the last of the length. Throws
// InvalidArgument for a mask of another dtype or shape.
Tensor allowed_scores(std::string_view layer, const Tensor& scores, const Tensor& mask, bool causal, bool to_the_end);

}  // namespace panto::detail
