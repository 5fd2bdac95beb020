// Ops on sparse and dense tensors: conversion, products, reductions, elementwise arithmetic.
#include <optional>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/tensor/index.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/linalg/linalg.h"
#include "panto/lib/ops/math/complex.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/lib/ops/sparse/coo.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/sparse.h"

namespace panto {
namespace {

// ---- SparseToDense --------------------------------------------------------------------------------------------------

void to_dense_shape(ShapeContext& c) {
  const int rank = c.rank(0);
  if (rank > 2) invalid("sparse_indices: expected a scalar, vector or matrix, got shape {}", c.shape(0).to_string());
  const int64_t count = rank == 0 ? 1 : rank < 0 ? kUnknownDim : c.dim(0, 0);
  const int64_t depth = c.vector(1);
  if (rank >= 0) c.merge(rank == 2 ? c.dim(0, 1) : 1, depth, "length of indices and output_shape");
  if (c.rank(2) != 0 && c.rank(2) >= 0) {
    c.merge(count, c.vector(2), "number of sparse_indices and sparse_values");
  }
  c.expect_scalar(3);
  c.output(c.shape_from(1));
}

// The indices of SparseToDense as a matrix, one row per entry.
Tensor index_rows(const Tensor& indices, const Tensor& output_shape) {
  if (indices.partial_shape().rank() == 2) return indices;
  return reshape(indices, concat({fill({1}, -1), shape(output_shape)}, 0));
}

// The element of `dense` at each entry; 0 for entries that a later one at the same position has overwritten.
Tensor of_entries(const Tensor& dense, const Tensor& indices, const Tensor& output_shape, bool distinct) {
  const Tensor rows = index_rows(indices, output_shape);
  Tensor taken = gather_nd(dense, rows);
  if (distinct) return taken;
  const Tensor numbers = range(int64_t{0}, size(taken, {.out_type = kInt64}), int64_t{1});
  const Tensor seen = sparse_to_dense(rows, output_shape, numbers, int64_t{-1}, {.validate_indices = false});
  return select(equal(gather_nd(seen, rows), numbers), taken, zeros_like(taken));
}

void to_dense_gradient(GradContext& g) {
  const bool distinct = g.flag("validate_indices");
  const Tensor &indices = g.in(0), &dims = g.in(1);
  if (g.needs(2)) {
    const Tensor each = of_entries(g.dy(), indices, dims, distinct);
    const int rank = g.in_shape(2).rank();
    if (rank == 1) g.set(2, each);
    if (rank == 0) g.set(2, reduce_sum(each));
    if (rank < 0) {
      // The values are a single number for all entries, or one per entry.
      const Tensor values = size(zeros_like(g.in(2)));
      const Tensor owners = minimum(range(0, size(each), 1), values - 1);
      g.set(2, reshape(unsorted_segment_sum(each, owners, values), g.shape(2)));
    }
  }
  if (g.needs(3)) {
    const DType type = g.dy().dtype();
    g.set(3, reduce_sum(g.dy() *
                        sparse_to_dense(indices, dims, cast(0, type), cast(1, type), {.validate_indices = distinct})));
  }
}

// ---- SparseTensorDenseMatMul ----------------------------------------------------------------------------------------

void product_shape(ShapeContext& c) {
  sparse::entries(c, 0, 1, 2);
  c.expect_equal(2, c.vector(2), "number of dimensions in a_shape");
  const KnownIntegers dims(c, 2, 2);
  const auto dim = [&](int i) { return dims.get(i).value_or(kUnknownDim); };
  for (int i = 0; i < 2; ++i) {
    if (dims.known(i) && dims[i] < 0) invalid("a_shape: expected dimensions of at least 0, got {}", dims[i]);
  }
  const bool adjoint_a = c.flag("adjoint_a");
  const auto [inner, columns] = c.matrix(3, c.flag("adjoint_b"));
  c.expect_equal(dim(adjoint_a ? 0 : 1), inner, "inner dimensions");
  c.output({dim(adjoint_a ? 1 : 0), columns});
}

void product_gradient(GradContext& g) {
  const bool adjoint_a = g.flag("adjoint_a"), adjoint_b = g.flag("adjoint_b");
  if (g.needs(1)) {
    // The elements of dy b' (or b dy', with adjoint_a) at the entries.
    const Tensor rows = g.in(0)(Slice(), 0), columns = g.in(0)(Slice(), 1);
    const Tensor b = adjoint_b ? linalg::adjoint(g.in(3)) : g.in(3);
    const Tensor left = gather(g.dy(), adjoint_a ? columns : rows, 0);
    const Tensor right = gather(b, adjoint_a ? rows : columns, 0);
    g.set(1, reduce_sum(adjoint_a ? conjugate(left) * right : left * conjugate(right), {1}));
  }
  if (g.needs(3)) {
    const Tensor db = sparse_tensor_dense_mat_mul(g.in(0), g.in(1), g.in(2), g.dy(), {.adjoint_a = !adjoint_a});
    g.set(3, adjoint_b ? linalg::adjoint(db) : db);
  }
}

// ---- SparseReduceSum, SparseReduceMax ------------------------------------------------------------------------------

void reduction_shape(ShapeContext& c) {
  const int64_t rank = sparse::entries(c, 0, 1, 2).rank;
  if (c.rank(3) > 1) {
    invalid("reduction_axes: expected a scalar or vector, got shape {}", c.shape(3).to_string());
  }
  const KnownIntegers dims(c, 2, rank), axes(c.in(3));
  if (!dims.counted()) return c.output(PartialShape::unknown());
  for (int64_t i = 0; i < dims.count(); ++i) {
    if (dims.known(i) && dims[i] < 0) invalid("input_shape: expected dimensions of at least 0, got {}", dims[i]);
  }
  c.shape_from(2);  // checks that the shape's number of elements does not overflow
  AxisFlags reduced;
  bool complete = axes.counted() && axes.complete();
  for (int64_t i = 0; complete && i < axes.count(); ++i) {
    reduced.set(static_cast<size_t>(c.axis(axes[i], static_cast<int>(dims.count()), "reduction_axes")));
  }
  const bool keep = c.flag("keep_dims");
  if (!complete) return c.output(keep ? PartialShape::of_rank(static_cast<int>(dims.count())) : PartialShape());
  std::vector<int64_t> out;
  for (int64_t i = 0; i < dims.count(); ++i) {
    if (!reduced[static_cast<size_t>(i)]) {
      out.push_back(dims.get(i).value_or(kUnknownDim));
    } else if (keep) {
      out.push_back(1);
    }
  }
  c.output(PartialShape(out));
}

void reduction_gradient(GradContext& g) {
  const Tensor &indices = g.in(0), &dims = g.in(2);
  const Tensor rank = size(dims);
  const Tensor axes = expand_dims(floor_mod(reshape(g.in(3), {-1}), rank), -1);
  const Tensor kept = tensor_scatter_update(ones_like(dims), axes, fill(reshape(size(axes), {1}), int64_t{0}));
  const Tensor shape = select(equal(kept, int64_t{1}), dims, ones_like(dims));
  g.set(1, gather_nd(reshape(g.dy(), shape), indices * kept));
}

// ---- Elementwise ops with a dense tensor ---------------------------------------------------------------------------

void elementwise_shape(ShapeContext& c) {
  const sparse::Entries e = sparse::entries(c, 0, 1, 2);
  if (e.rank == 0) c.invalid("sp_shape: expected at least one dimension, got none");
  if (e.rank > 0 && c.rank(3) > e.rank) {
    invalid("rank of dense: expected at most {}, that of the entries, got {}", e.rank, c.rank(3));
  }
  const KnownIntegers dims(c, 2, e.rank);
  for (int64_t i = 0; dims.counted() && i < dims.count(); ++i) {
    if (!dims.known(i)) continue;
    if (dims[i] < 0) invalid("sp_shape[{}]: expected at least 0, got {}", i, dims[i]);
    const int64_t k = c.rank(3) < 0 ? -1 : i - (dims.count() - c.rank(3));
    const int64_t size = k < 0 ? kUnknownDim : c.dim(3, static_cast<int>(k));
    if (size >= 0 && size != 1 && size != dims[i]) {
      invalid("dense: expected a shape that broadcasts to that of the entries, of dimension {} {}, got {}", i, dims[i],
              c.shape(3).to_string());
    }
  }
  c.output({e.count});
}

// Sums the entries' gradients at their positions in the dense input.
Tensor in_dense(GradContext& g, const Tensor& each) {
  const Tensor dims = cast(g.shape(3), kInt64);
  return scatter_nd(sparse::broadcast_positions(g.in(0), dims), each, dims);
}
Tensor at_entries(const Tensor& indices, const Tensor& dense) {
  return gather_nd(dense, sparse::broadcast_positions(indices, shape(dense, {.out_type = kInt64})));
}

void add_gradient(GradContext& g) {
  if (g.needs(1)) g.set(1, g.dy());
  if (g.needs(3)) g.set(3, in_dense(g, g.dy()));
}
void mul_gradient(GradContext& g) {
  if (g.needs(1)) g.set(1, g.dy() * conjugate(at_entries(g.in(0), g.in(3))));
  if (g.needs(3)) g.set(3, in_dense(g, g.dy() * conjugate(g.in(1))));
}
void div_gradient(GradContext& g) {
  const Tensor dense = conjugate(at_entries(g.in(0), g.in(3)));
  if (g.needs(1)) g.set(1, g.dy() / dense);
  if (g.needs(3)) g.set(3, in_dense(g, -g.dy() * conjugate(g.in(1)) / square(dense)));
}
void div_tangent(JvpContext& c) {
  Tensor change;
  if (c.has_tangent(3)) change = -c.out() * at_entries(c.in(0), c.tangent(3));
  change = add_tangents(c.tangent(1), change);
  if (change.defined()) c.set(0, change / at_entries(c.in(0), c.in(3)));
}

int64_t one_flop_each(const CostContext& c) { return c.numel(1); }

constexpr const char* kNoNumbers = "only numbers are multiplied";

}  // namespace

const Op& kSparseToDense = define_op(
    "SparseToDense(sparse_indices: Tindices, output_shape: Tindices @host, sparse_values: T, default_value: T; "
    "validate_indices: bool = true, T: type, Tindices: index) -> (dense: T)",
    {.doc =
         "A tensor of `output_shape` that has `sparse_values` at `sparse_indices` and `default_value` elsewhere. The "
         "indices are rows of a matrix [entries, rank], a vector of positions in a vector, or one of them; the "
         "values are a vector of as many, or one for all. Indices out of range are an error; with "
         "`validate_indices` also those that are not in ascending order, and repeated ones, else the last of "
         "several counts.",
     .primary = "T",
     .shape = to_dense_shape,
     .saves = {in(0), in(1), shape_of(2)},
     .gradient = to_dense_gradient,
     .batch = batching::loop,
     .jvp = tangents::linear});

const Op& kSparseTensorDenseMatMul = define_op(
    "SparseTensorDenseMatMul(a_indices: Tindices, a_values: T, a_shape: int64 @host, b: T; T: type, Tindices: index = "
    "int64, adjoint_a: bool = false, adjoint_b: bool = false) -> (product: T)",
    {.doc =
         "The product of a sparse matrix, which has `a_values` at the rows and columns `a_indices` [entries, 2], and "
         "a dense one. `adjoint_a` and `adjoint_b` transpose a factor and conjugate it. Entries need no order; those "
         "at one place add up, and those out of range are an error.",
     .primary = "T",
     .shape = product_shape,
     .saves = {in(0), in(1), in(2), in(3)},
     .gradient = product_gradient,
     .flops = [](const CostContext& c) { return 2 * c.numel(1) * c.dim(3, c.flag("adjoint_b") ? 0 : 1); },
     .types_reason = kNoNumbers,
     .batch = batching::loop,
     .jvp = tangents::multilinear});

const Op& kSparseReduceSum = define_op(
    "SparseReduceSum(input_indices: int64, input_values: T, input_shape: int64 @host, reduction_axes: int32 @host; "
    "keep_dims: bool = false, T: numeric) -> (output: T)",
    {.doc =
         "The sum of a sparse tensor along `reduction_axes`, a vector or a scalar, as a dense one: 0 where there are "
         "no entries. Negative axes count from the end; none: nothing is added up but entries at one place. With "
         "`keep_dims` what is reduced stays as dimensions of 1. An index out of range in a dimension that is kept is "
         "an error.",
     .shape = reduction_shape,
     .saves = {in(0), in(2), in(3)},
     .gradient = reduction_gradient,
     .flops = one_flop_each,
     .batch = batching::loop,
     .jvp = tangents::linear});

const Op& kSparseReduceMax = define_op(
    "SparseReduceMax(input_indices: int64, input_values: T, input_shape: int64 @host, reduction_axes: int32 @host; "
    "keep_dims: bool = false, T: real) -> (output: T)",
    {.doc =
         "The largest entries of a sparse tensor along `reduction_axes`, as SparseReduceSum: 0 where there are none, "
         "also if all others are negative. A NaN gives way to an entry that comes after it.",
     .shape = reduction_shape,
     .no_gradient = "TensorFlow has none",
     .flops = one_flop_each,
     .batch = batching::loop});

const Op& kSparseDenseCwiseAdd = define_op(
    "SparseDenseCwiseAdd(sp_indices: int64, sp_values: T, sp_shape: int64 @host, dense: T; T: numeric) -> (output: T)",
    {.doc = "The values of a sparse tensor, each with what `dense`, broadcast to `sp_shape`, has at its index added. "
            "Where there are no entries `dense` does not count. An index out of range is an error. TensorFlow has no "
            "gradient.",
     .shape = elementwise_shape,
     .saves = {in(0), shape_of(3)},
     .gradient = add_gradient,
     .flops = one_flop_each,
     .batch = batching::loop,
     .jvp = tangents::linear});

const Op& kSparseDenseCwiseMul = define_op(
    "SparseDenseCwiseMul(sp_indices: int64, sp_values: T, sp_shape: int64 @host, dense: T; T: numeric) -> (output: T)",
    {.doc = "The values of a sparse tensor, each multiplied with what `dense`, broadcast to `sp_shape`, has at its "
            "index. Infinities and NaN of `dense` where there are no entries do not count. An index out of range is an "
            "error.",
     .shape = elementwise_shape,
     .saves = {in(0), in(1), in(3)},
     .gradient = mul_gradient,
     .flops = one_flop_each,
     .batch = batching::loop,
     .jvp = tangents::multilinear});

const Op& kSparseDenseCwiseDiv = define_op(
    "SparseDenseCwiseDiv(sp_indices: int64, sp_values: T, sp_shape: int64 @host, dense: T; T: numeric) -> (output: T)",
    {.doc = "The values of a sparse tensor, each divided by what `dense`, broadcast to `sp_shape`, has at its index: a "
            "zero there is an error, also of floats. Quotients of integers are truncated. An index out of range is an "
            "error.",
     .shape = elementwise_shape,
     .saves = {in(0), in(1), in(3)},
     .gradient = div_gradient,
     .flops = one_flop_each,
     .batch = batching::loop,
     .jvp = div_tangent});

}  // namespace panto
