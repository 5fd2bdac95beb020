// What the blocks of ops on lists share: what is known of a list and its elements, and what gradients ask for.
#pragma once

#include <cstdint>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/ops/array.h"

namespace panto {

// What is known of the list that input i holds: dtype kInvalid where nothing is.
HandleInfo list_info(const ShapeContext& c, int i);
// Output 0 is a list of such elements.
void give_list(ShapeContext& c, DType dtype, PartialShape shape);
// The list of input i with attribute element_dtype, whose elements have the shape that input `spelled` tells, too.
HandleInfo read_list(const ShapeContext& c, int i, int spelled);

// [first, rest...]; of the dimensions behind the first.
PartialShape behind(int64_t first, const PartialShape& rest);
PartialShape shape_of_rows(const PartialShape& shape);
// The second as a vector, of something of `shape`, whose vector of dimensions is `dims()` where they are not known.
template <class Dims>
Tensor row_shape(const PartialShape& shape, const Dims& dims) {
  const PartialShape rows = shape_of_rows(shape);
  return rows.fully_known() ? shape_literal(rows) : slice(dims(), {1}, {-1});
}

// A list like `like` in size and shape of elements, none of which is set: zeros.
Tensor unset_like(const Tensor& like, DType dtype);

}  // namespace panto
