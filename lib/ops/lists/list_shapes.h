// Shared code of list ops: what is known of a list and its elements, and helpers for gradients.
#pragma once

#include <cstdint>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/ops/array.h"

namespace panto {

// What is known of the list in input i; dtype kInvalid if nothing is known.
HandleInfo list_info(const ShapeContext& c, int i);
// Declares output 0 as a list of elements of this type and shape.
void give_list(ShapeContext& c, DType dtype, PartialShape shape);
// The list in input i, checked against attribute element_dtype and the element shape in input `spelled`.
HandleInfo read_list(const ShapeContext& c, int i, int spelled);

// behind: [first, rest...]. shape_of_rows: `shape` without its first dimension.
PartialShape behind(int64_t first, const PartialShape& rest);
PartialShape shape_of_rows(const PartialShape& shape);
// shape_of_rows(shape) as a vector. If it is not fully known, taken from `dims()`, which returns all dimensions as a
// tensor.
template <class Dims>
Tensor row_shape(const PartialShape& shape, const Dims& dims) {
  const PartialShape rows = shape_of_rows(shape);
  return rows.fully_known() ? shape_literal(rows) : slice(dims(), {1}, {-1});
}

// A list of the size and element shape of `like` with no element set; unset elements read as zeros.
Tensor unset_like(const Tensor& like, DType dtype);

}  // namespace panto
