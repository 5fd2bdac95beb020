// Helpers of layers for shapes that a trace may know only in part. Internal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"

namespace panto::detail {

// Reshapes x. A dimension below zero, ~k, is dimension k of `like`, known or not: {~0, ~1, 4, 2}.
Tensor reshape_as(const Tensor& x, const Tensor& like, std::vector<int64_t> dims);

// Whether x has `rank` dimensions and `channels` (-1: any) in the last one, as far as known.
bool has_channels(const Tensor& x, int rank, int64_t channels) noexcept;
// Throws InvalidArgument unless it does. `expected`: the dimensions before the last, as messages write them: "batch,
// height, width".
void expect_channels(std::string_view layer, const Tensor& x, int rank, std::string_view expected, int64_t channels);

// The rank of x. Throws InvalidArgument if it is unknown or below `least`.
int known_rank(std::string_view layer, const Tensor& x, int least = 0);

// Returns `axis` in [0, rank); a negative one counts from the end. Throws InvalidArgument if it is out of range.
int normal_axis(std::string_view layer, int64_t axis, int rank);

// A number that stands for minus infinity in scores: so low that its exponential is zero, but finite, so that a row of
// only this number has equal shares. float64 uses float32's.
double lowest(DType dtype);

}  // namespace panto::detail
