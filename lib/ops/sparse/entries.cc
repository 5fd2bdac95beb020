// Ops on entries of sparse tensors: reorder, add, fill empty rows, softmax.
#include <optional>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/sparse/coo.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/sparse.h"

namespace panto {
namespace {

using sparse::moved;

// ---- SparseReorder --------------------------------------------------------------------------------------------------

void reorder_shape(ShapeContext& c) {
  const sparse::Entries e = sparse::entries(c, 0, 1, 2);
  c.output(0, PartialShape{e.count, e.rank});
  c.output(1, PartialShape{e.count});
}

// The entry numbers, in sorted order of the entries.
Tensor order_of(const Tensor& indices, const Tensor& dims) {
  const Tensor count = gather(shape(indices, {.out_type = kInt64}), 0, 0);
  return sparse_reorder(indices, range(int64_t{0}, count, int64_t{1}), dims).output_values;
}

// ---- SparseAdd ------------------------------------------------------------------------------------------------------

void add_shape(ShapeContext& c) {
  const int64_t rank_a = sparse::entries(c, 0, 1, 2).rank, rank_b = sparse::entries(c, 3, 4, 5).rank;
  const int64_t rank = c.merge(rank_a, rank_b, "rank of a_indices and b_indices");
  if (rank == 0) c.invalid("a_shape: expected at least one dimension, got none");
  const KnownIntegers a(c, 2, rank), b(c, 5, rank);
  for (int64_t i = 0; a.counted() && i < a.count(); ++i) {
    if (a.known(i) && b.known(i)) c.expect_equal(a[i], b[i], "dimensions of a_shape and b_shape");
  }
  c.expect_scalar(6);
  c.output(0, PartialShape{kUnknownDim, rank});
  c.output(1, PartialShape{kUnknownDim});
  c.output(2, PartialShape{rank});
  pass_values(c, 2, 2);
}

void add_grad_shape(ShapeContext& c) {
  for (int i = 1; i < 4; ++i) c.expect_rank(i, 2);
  c.merge(c.vector(0), c.dim(3, 0), "number of gradients and sum_indices");
  c.merge(c.merge(c.dim(1, 1), c.dim(2, 1), "rank of a_indices and b_indices"), c.dim(3, 1),
          "rank of a_indices and sum_indices");
  c.output(0, PartialShape{c.dim(1, 0)});
  c.output(1, PartialShape{c.dim(2, 0)});
}

void add_tangent(JvpContext& c) {
  Tensor a, b;
  if (c.has_tangent(1)) a = moved(c.tangent(1), c.in(0), c.out(0));
  if (c.has_tangent(4)) b = moved(c.tangent(4), c.in(3), c.out(0));
  if (const Tensor both = add_tangents(a, b); both.defined()) c.set(1, both);
}

void add_grad_gradient(GradContext& g) {
  Tensor a, b;
  if (g.has_dy(0)) a = moved(g.dy(0), g.in(1), g.in(3));
  if (g.has_dy(1)) b = moved(g.dy(1), g.in(2), g.in(3));
  if (const Tensor both = add_tangents(a, b); both.defined()) g.set(0, both);
}

// ---- SparseFillEmptyRows --------------------------------------------------------------------------------------------

void fill_shape(ShapeContext& c) {
  const sparse::Entries e = sparse::entries(c, 0, 1, 2);
  if (e.rank == 0) c.invalid("dense_shape: expected at least one dimension, got none");
  c.expect_scalar(3);
  const KnownIntegers dims(c, 2, e.rank);
  const int64_t rows = dims.counted() ? dims.get(0).value_or(kUnknownDim) : kUnknownDim;
  if (dims.counted() && dims.known(0) && rows < 0) invalid("dense_shape: expected at least 0 rows, got {}", rows);
  c.output(0, PartialShape{kUnknownDim, e.rank});
  c.output(1, PartialShape{kUnknownDim});
  c.output(2, PartialShape{rows});
  c.output(3, PartialShape{e.count});
}

void fill_grad_shape(ShapeContext& c) {
  const int64_t count = c.vector(0);
  c.vector(1);
  c.output(0, PartialShape{count});
  c.output(1, PartialShape::of_rank(0));
}

// A vector of `count` elements with `values` at the positions in `map`, and `filled` elsewhere. An undefined one counts
// as zeros.
Tensor in_filled(const Tensor& map, const Tensor& values, const Tensor& filled, const Tensor& count) {
  const Tensor at = expand_dims(map, -1), dims = reshape(cast(count, kInt64), {1});
  Tensor result;
  if (values.defined()) result = scatter_nd(at, values, dims);
  if (filled.defined()) {
    const Tensor taken = scatter_nd(at, ones_like(map), dims);
    const Tensor rest = cast(equal(taken, int64_t{0}), filled.dtype()) * filled;
    result = add_tangents(result, rest);
  }
  return result;
}

void fill_tangent(JvpContext& c) {
  const Tensor change = in_filled(c.out(3), c.tangent(1), c.tangent(3), size(c.out(1)));
  if (change.defined()) c.set(1, change);
}

void fill_gradient(GradContext& g) {
  if (!g.has_dy(1)) return;
  const auto [values, filled] = sparse_fill_empty_rows_grad(g.out(3), g.dy(1));
  g.set(1, values);
  g.set(3, filled);
}

void fill_grad_gradient(GradContext& g) {
  const Tensor change = in_filled(g.in(0), g.dy(0), g.dy(1), gather(g.shape(1), 0, 0));
  if (change.defined()) g.set(1, change);
}

// ---- SparseSoftmax --------------------------------------------------------------------------------------------------

void softmax_shape(ShapeContext& c) {
  const sparse::Entries e = sparse::entries(c, 0, 1, 2);
  if (e.rank >= 0 && e.rank < 2) invalid("sp_shape: expected at least 2 dimensions, got {}", e.rank);
  c.shape_from(2);  // checks that the number of elements does not overflow
  c.output({e.count});
}

// The derivative of softmax for sorted entries: y (t - sum of y t over the row). It is its own transpose.
Tensor softmax_derivative(const Tensor& indices, const Tensor& dims, const Tensor& y, const Tensor& t) {
  const Tensor sums = sparse_reduce_sum(indices, y * t, dims, {-1}, {.keep_dims = true});
  return y * sparse_dense_cwise_add(indices, t, dims, -sums);
}

void softmax_gradient(GradContext& g) {
  const Tensor order = order_of(g.in(0), g.in(2));
  const Tensor sorted = softmax_derivative(gather(g.in(0), order, 0), g.in(2), g.out(0), g.dy());
  g.set(1, gather(sorted, invert_permutation(order), 0));
}

void softmax_tangent(JvpContext& c) {
  if (!c.has_tangent(1)) return;
  const Tensor order = order_of(c.in(0), c.in(2));
  c.set(0, softmax_derivative(gather(c.in(0), order, 0), c.in(2), c.out(), gather(c.tangent(1), order, 0)));
}

int64_t one_flop_each(const CostContext& c) { return c.numel(1); }

constexpr const char* kNoNumbers = "only numbers are added up";

}  // namespace

const Op& kSparseReorder = define_op(
    "SparseReorder(input_indices: int64, input_values: T, input_shape: int64; T: type) -> (output_indices: int64, "
    "output_values: T)",
    {.doc = "The entries of a sparse tensor in the ascending order of their indices, the last dimension changing "
            "fastest; those with equal indices stay as they are among themselves. Whether an index is within the shape "
            "is not asked.",
     .shape = reorder_shape,
     .saves = {in(0), in(2)},
     .gradient =
         [](GradContext& g) {
           if (g.has_dy(1)) g.set(1, gather(g.dy(1), invert_permutation(order_of(g.in(0), g.in(2))), 0));
         },
     .batch = batching::loop,
     .jvp =
         [](JvpContext& c) {
           if (c.has_tangent(1)) c.set(1, gather(c.tangent(1), order_of(c.in(0), c.in(2)), 0));
         }});

const Op& kSparseAdd = define_op(
    "SparseAdd(a_indices: int64, a_values: T, a_shape: int64 @host, b_indices: int64, b_values: T, b_shape: int64 "
    "@host, thresh: Treal; T: numeric, Treal: real) -> (sum_indices: int64, sum_values: T, sum_shape: int64 @host)",
    {.doc = "The sum of two sparse tensors of one shape, whose entries are in the ascending order of their indices, as "
            "a sparse tensor. Where both have an entry and the magnitude of the sum is less than `thresh`, or NaN, "
            "there is none.",
     .traits = {Trait::kSelfAllocating},
     .primary = "T",
     .shape = add_shape,
     .saves = {in(0), in(3), out(0)},
     .gradient =
         [](GradContext& g) {
           if (!g.has_dy(1)) return;
           const auto [a, b] = sparse_add_grad(g.dy(1), g.in(0), g.in(3), g.out(0));
           g.set(1, a);
           g.set(4, b);
         },
     .batch = batching::loop,
     .jvp = add_tangent});

const Op& kSparseAddGrad = define_op(
    "SparseAddGrad(backprop_val_grad: T, a_indices: int64, b_indices: int64, sum_indices: int64; T: numeric) -> "
    "(a_val_grad: T, b_val_grad: T)",
    {.doc = "The gradient of SparseAdd: for each index of a and of b the gradient of the sum's entry there, 0 where it "
            "has none. Indices are in ascending order. TensorFlow has no gradient of it.",
     .shape = add_grad_shape,
     .saves = {in(1), in(2), in(3)},
     .gradient = add_grad_gradient,
     .batch = batching::loop,
     .jvp = tangents::linear});

const Op& kSparseFillEmptyRows = define_op(
    "SparseFillEmptyRows(indices: int64, values: T, dense_shape: int64 @host, default_value: T; T: type) -> "
    "(output_indices: int64, output_values: T, empty_row_indicator: bool, reverse_index_map: int64)",
    {.doc =
         "The entries of a sparse tensor in the order of their rows, the first dimension, in which they stay as they "
         "are among themselves; a row without any has one, `default_value`, whose other indices are 0. Also which "
         "rows had none, and where each entry went. A row out of range is an error.",
     .traits = {Trait::kSelfAllocating},
     .shape = fill_shape,
     .saves = {out(3)},
     .gradient = fill_gradient,
     .batch = batching::loop,
     .jvp = fill_tangent});

const Op& kSparseFillEmptyRowsGrad = define_op(
    "SparseFillEmptyRowsGrad(reverse_index_map: int64, grad_values: T; T: type) -> (d_values: T, d_default_value: T)",
    {.doc = "The gradient of SparseFillEmptyRows: the elements of `grad_values` at the places in `reverse_index_map`, "
            "and the sum of the others. A place out of range is an error. TensorFlow has no gradient of it.",
     .shape = fill_grad_shape,
     .saves = {in(0), shape_of(1)},
     .gradient = fill_grad_gradient,
     .flops = one_flop_each,
     .types_reason = kNoNumbers,
     .batch = batching::loop,
     .jvp = tangents::linear});

const Op& kSparseSoftmax = define_op(
    "SparseSoftmax(sp_indices: int64, sp_values: T, sp_shape: int64 @host; T: float16|float32|float64) -> (output: T)",
    {.doc = "Softmax along the last dimension of a sparse tensor, of two dimensions or more, over the entries that are "
            "there: exp(x) over the sum of those of the row. The result is in the ascending order of the indices, also "
            "where they are not, as TensorFlow's.",
     .shape = softmax_shape,
     .saves = {in(0), in(2), out(0)},
     .gradient = softmax_gradient,
     .flops = one_flop_each,
     .batch = batching::loop,
     .jvp = softmax_tangent});

}  // namespace panto
