// Shape rules for indices whose last dimension holds a position in another tensor (as of GatherNd). Internal.
#pragma once

#include <cstdint>

#include "panto/lib/core/call/call.h"

namespace panto {

// Throws Unimplemented if attribute bad_indices_policy asks for anything but an error.
void expect_error_policy(const ShapeContext& c);
// The length of a position in input `i`; -1 if unknown. `rank`: of the indexed tensor.
int64_t depth_of_indices(const ShapeContext& c, int i, int rank);
// The shape of the elements or slices at `indices` in a tensor of shape `whole`. `depth`: the length of a position.
PartialShape shape_at(const PartialShape& indices, const PartialShape& whole, int64_t depth);
void expect_updates(const PartialShape& updates, const PartialShape& indices, const PartialShape& whole, int64_t depth);

}  // namespace panto
