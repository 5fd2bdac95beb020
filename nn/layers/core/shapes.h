// What layers ask and make of shapes that a trace may know in part only. Internal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"

namespace panto::detail {

// x in another shape. A dimension below zero, ~k, is dimension k of `like`, known or not: {~0, ~1, 4, 2}.
Tensor reshape_as(const Tensor& x, const Tensor& like, std::vector<int64_t> dims);

// Whether x has `rank` dimensions, and `channels` (-1: any) in the last one, as far as known.
bool has_channels(const Tensor& x, int rank, int64_t channels) noexcept;
// Throws InvalidArgument unless it has. `expected`: how such a shape is written, before the last dimension: "batch,
// height, width".
void expect_channels(std::string_view layer, const Tensor& x, int rank, std::string_view expected, int64_t channels);

// The rank of x. Throws InvalidArgument where it is unknown or below `least`.
int known_rank(std::string_view layer, const Tensor& x, int least = 0);

// `axis`, from the end if it is negative, as one in [0, rank). Throws InvalidArgument for another.
int normal_axis(std::string_view layer, int64_t axis, int rank);

// What stands for "never" among numbers of a floating type whose exponentials are taken: so low that they are zero, and
// finite, so that a row of nothing else has equal shares. Of float64 float32's is enough.
double lowest(DType dtype);

}  // namespace panto::detail
