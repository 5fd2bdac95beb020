// What ops ask of positions: indices whose last dimension spells where in something they are. Internal.
#pragma once

#include <cstdint>

#include "panto/lib/core/call/call.h"

namespace panto {

// Throws Unimplemented for another attribute bad_indices_policy than that they are errors.
void expect_error_policy(const ShapeContext& c);
// How many dimensions the indices in input `i` go along; -1 unknown. `rank`: of what they are positions in.
int64_t depth_of_indices(const ShapeContext& c, int i, int rank);
// The shape of what is at `indices`, of this depth, in something of shape `whole`.
PartialShape shape_at(const PartialShape& indices, const PartialShape& whole, int64_t depth);
void expect_updates(const PartialShape& updates, const PartialShape& indices, const PartialShape& whole, int64_t depth);

}  // namespace panto
