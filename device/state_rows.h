// The frames of kernels that read and change rows and slices of variables, shared by all devices: checks, around which
// each device puts its own loop. Whether indices are in range is for the loop to check.
#pragma once

#include <cstdint>

#include "panto/device/shape/positions.h"
#include "panto/device/state.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::state {

// Rows along the first dimension of a variable; each has `width` elements.
struct Rows {
  int64_t count, width;
};
// Throws InvalidArgument if the variable's value, of `shape`, is a scalar.
PANTO_EXPORT Rows rows_of(const VariableResource& variable, const Shape& shape);
// The slices of a value of `shape` that index rows, input 1, address. Throws InvalidArgument if the rows are longer
// than the shape: an eager variable's value may have another rank than the shape function was told.
PANTO_EXPORT Positions positions_in(const KernelContext& c, const Shape& shape);
// Throws InvalidArgument unless output 0 has room for `count` pieces of `width` elements.
PANTO_EXPORT void expect_pieces(const KernelContext& c, const VariableResource& variable, int64_t count, int64_t width,
                                const char* what);
// Throws InvalidArgument unless input i has `wanted` elements.
PANTO_EXPORT void expect_elements(const KernelContext& c, int i, const char* what, int64_t wanted);

// ResourceGather: calls take(elements of the variable at input 0, its rows). Input 1 has the row numbers.
template <class T, class Take>
void gather_rows(KernelContext& c, const Take& take) {
  VariableResource& variable = variable_of(c.in(0));
  check_dtype(variable, c.type("dtype"));
  const Tensor value = variable.read(c.device());
  const Rows rows = rows_of(variable, value.shape());
  expect_pieces(c, variable, c.numel(1), rows.width, "rows");
  take(static_cast<const T*>(value.impl()->data), rows);
}

// ResourceScatter*: calls change(elements of the variable at input 0, its rows). Input 1 has the row numbers, input 2
// a row for each, or one number for all.
template <class T, class Change>
void change_rows(KernelContext& c, const Change& change) {
  VariableResource& variable = variable_of(c.in(0));
  check_dtype(variable, c.type("dtype"));
  variable.update(c.device(), [&](Tensor& value) {
    const Rows rows = rows_of(variable, value.shape());
    if (c.shape(2).rank() != 0) expect_elements(c, 2, "updates", c.numel(1) * rows.width);
    change(mutable_data<T>(value), rows);
  });
}

// ResourceGatherNd: calls take(elements of the variable at input 0, the slices that input 1 addresses).
template <class T, class Take>
void gather_slices(KernelContext& c, const Take& take) {
  VariableResource& variable = variable_of(c.in(0));
  check_dtype(variable, c.type("dtype"));
  const Tensor value = variable.read(c.device());
  const Positions positions = positions_in(c, value.shape());
  expect_pieces(c, variable, positions.rows, positions.inner, "slices");
  take(static_cast<const T*>(value.impl()->data), positions);
}

// ResourceScatterNd*: calls change(elements of the variable at input 0, the slices that input 1 addresses). Input 2 has
// a slice for each.
template <class T, class Change>
void change_slices(KernelContext& c, const Change& change) {
  VariableResource& variable = variable_of(c.in(0));
  check_dtype(variable, c.type("T"));
  variable.update(c.device(), [&](Tensor& value) {
    const Positions positions = positions_in(c, value.shape());
    expect_elements(c, 2, "updates", positions.rows * positions.inner);
    change(mutable_data<T>(value), positions);
  });
}

}  // namespace panto::state
