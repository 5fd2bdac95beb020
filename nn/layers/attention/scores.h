// Checks of attention's inputs, and masking of scores. Internal.
#pragma once

#include <cstdint>
#include <string_view>

#include "panto/lib/core/tensor/tensor.h"

namespace panto::detail {

// Throws InvalidArgument unless x is [batch, steps, features]; features < 0: any number.
void expect_sequence(std::string_view layer, const char* what, const Tensor& x, int64_t features);

// Masks the scores [batch, steps, length] or, with heads, [batch, heads, steps, length]: scores that do not count
// become so low that their exponential is zero. `mask`, bool[batch, steps, length] or any shape that broadcasts to the
// scores, may be undefined. With `causal` a step does not see later ones; with `to_the_end` the last of `steps` is
// aligned with the last of `length`. Throws InvalidArgument for a mask of another dtype or shape.
Tensor allowed_scores(std::string_view layer, const Tensor& scores, const Tensor& mask, bool causal, bool to_the_end);

}  // namespace panto::detail
