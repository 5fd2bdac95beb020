// Functions under the names of NumPy and PyTorch that reorder, join, pick and make.
//
//   moveaxis(x, 0, -1);  swapaxes(x, 0, 1);  permute(x, {1, 0});  unsqueeze(x, 0);  flatten(x);  rot90(x)
//   vstack({a, b});  hstack({a, b});  chunk(x, 3);  unstack(x);  block_diag({a, b});  kron(a, b);  diagonal(x)
//   take(x, positions, 1);  take_along_axis(x, positions, 1);  masked_select(x, x > 0);  isin(x, values)
//   full_like(x, 7.f);  logspace(0, 3, 4);  geomspace(1, 1000, 4);  tri(3);  vander(x)
//
// They are built from ops, so a trace records them and a tape differentiates them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"

namespace panto {

// ---- Dimensions --------------------------------------------------------------------------------------------------

PANTO_EXPORT Tensor unsqueeze(Arg x, int64_t axis);  // expand_dims
PANTO_EXPORT Tensor permute(Arg x, const std::vector<int64_t>& order);
PANTO_EXPORT Tensor swapaxes(Arg x, int64_t a, int64_t b);
// Dimension `from` becomes dimension `to`; the others keep their order.
PANTO_EXPORT Tensor moveaxis(Arg x, int64_t from, int64_t to);
// Joins the dimensions from `first` to `last` to one.
PANTO_EXPORT Tensor flatten(Arg x, int64_t first = 0, int64_t last = -1);
// Turns dimension 0 toward dimension 1, `times` quarters of a turn.
PANTO_EXPORT Tensor rot90(Arg x, int64_t times = 1);
PANTO_EXPORT Tensor fliplr(Arg x);  // reverses dimension 1
PANTO_EXPORT Tensor flipud(Arg x);  // reverses dimension 0

// ---- Joining and taking apart ------------------------------------------------------------------------------------

// Tensors below each other; vectors become rows.
PANTO_EXPORT Tensor vstack(const ArgList& values);
// Tensors side by side, along dimension 1; vectors one after the other.
PANTO_EXPORT Tensor hstack(const ArgList& values);
// The slices along a dimension of known size.
PANTO_EXPORT std::vector<Tensor> unstack(Arg x, int64_t axis = 0);
PANTO_EXPORT std::vector<Tensor> unbind(Arg x, int64_t axis = 0);
// At most `count` parts along a dimension of known size, all as large as the first, the last one perhaps smaller.
PANTO_EXPORT std::vector<Tensor> chunk(Arg x, int64_t count, int64_t axis = 0);
// Matrices along the diagonal of one, zeros elsewhere.
PANTO_EXPORT Tensor block_diag(const ArgList& matrices);
// Each element of `a` times all of `b`, at its place.
PANTO_EXPORT Tensor kron(Arg a, Arg b);

// ---- Diagonals ---------------------------------------------------------------------------------------------------

// The `offset`-th diagonal of the matrices in dimensions `first` and `second`, as the last dimension.
PANTO_EXPORT Tensor diagonal(Arg x, int64_t offset = 0, int64_t first = 0, int64_t second = 1);
// Matrices with the vectors of x (its last dimension) on their `offset`-th diagonal.
PANTO_EXPORT Tensor diag_embed(Arg x, int64_t offset = 0);

// ---- Picking -----------------------------------------------------------------------------------------------------

// Elements of flat x at these positions, or slices along `axis`.
PANTO_EXPORT Tensor take(Arg x, Arg positions);
PANTO_EXPORT Tensor take(Arg x, Arg positions, int64_t axis);
PANTO_EXPORT Tensor index_select(Arg x, int64_t axis, Arg positions);
// For each of `positions`, which has x's rank, the element of the same line along `axis` there; negative ones count
// from the end. Other dimensions broadcast. (torch.gather with its last two arguments exchanged.)
PANTO_EXPORT Tensor take_along_axis(Arg x, Arg positions, int64_t axis);
// x with slices of `values` added at these positions of dimension `axis`; a position may occur more than once.
PANTO_EXPORT Tensor index_add(Arg x, int64_t axis, Arg positions, Arg values);
// The elements where the mask is true, as a vector; x and the mask broadcast.
PANTO_EXPORT Tensor masked_select(Arg x, Arg mask);
PANTO_EXPORT Tensor masked_fill(Arg x, Arg mask, Arg value);
// The positions at which the condition is true, [count, rank].
PANTO_EXPORT Tensor argwhere(Arg condition);
// Whether each element of x is one of `values`.
PANTO_EXPORT Tensor isin(Arg x, Arg values);

// ---- Making ------------------------------------------------------------------------------------------------------

// Of the shape and type of x.
PANTO_EXPORT Tensor full_like(Arg x, Arg value);
PANTO_EXPORT Tensor rand_like(Arg x);
PANTO_EXPORT Tensor randn_like(Arg x);
// base ^ e for `count` equally spaced e from `start` to `stop` inclusive; and `count` numbers from `start` to `stop`
// with equal quotients. Computed in float64. Throw InvalidArgument for a count below 1; geomspace also unless both
// numbers have the same sign.
PANTO_EXPORT Tensor logspace(double start, double stop, int64_t count, double base = 10, DType dtype = kFloat32);
PANTO_EXPORT Tensor geomspace(double start, double stop, int64_t count, DType dtype = kFloat32);
// Ones on and below the k-th diagonal: float32[rows, columns]; by default square.
PANTO_EXPORT Tensor tri(int64_t rows, std::optional<int64_t> columns = std::nullopt, int64_t k = 0);
// Powers of the elements of vector x, as rows of `count` columns: the highest first, unless `increasing`. Default for
// `count`: the elements.
PANTO_EXPORT Tensor vander(Arg x, std::optional<int64_t> count = std::nullopt, bool increasing = false);

}  // namespace panto
