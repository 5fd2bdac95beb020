// Reshapes and slices of sparse tensors.
#include <algorithm>
#include <vector>

#include "panto/lib/base/checked.h"
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

// ---- SparseReshape --------------------------------------------------------------------------------------------------

void reshape_shape(ShapeContext& c) {
  const int64_t count = sparse::entries(c, 0, -1, 1).count, rank = c.vector(2);
  c.output(0, PartialShape{count, rank});
  c.output(1, PartialShape{rank});
  const KnownIntegers from(c, 1), to(c, 2);
  if (from.counted() && from.complete() && to.counted() && to.complete()) {
    const std::vector<int64_t> dims = sparse::reshaped(from.values(), to.values());
    if (count > 0 && !std::ranges::equal(from.values(), dims) && std::ranges::count(dims, 0) > 0) {
      invalid("input_indices: expected none in a shape without elements, got some");
    }
    c.output_values(1, PartialValues(dims.begin(), dims.end()));
  }
}

// ---- SparseSlice ----------------------------------------------------------------------------------------------------

void slice_shape(ShapeContext& c) {
  int64_t rank = sparse::entries(c, 0, 1, 2).rank;
  rank = c.merge(rank, c.vector(3), "rank of indices and start");
  rank = c.merge(rank, c.vector(4), "rank of indices and size");
  const KnownIntegers size(c, 4, rank);
  sparse::expect_none_negative(size, "size");
  c.output(0, PartialShape{kUnknownDim, rank});
  c.output(1, PartialShape{kUnknownDim});
  c.output(2, PartialShape{rank});
}

void slice_grad_shape(ShapeContext& c) {
  c.expect_rank(1, 2);
  c.expect_rank(3, 2);
  c.merge(c.vector(0), c.dim(3, 0), "number of gradients and output_indices");
  c.merge(c.merge(c.dim(1, 1), c.dim(3, 1), "rank of input_indices and output_indices"), c.vector(2),
          "rank of input_indices and input_start");
  c.output({c.dim(1, 0)});
}

// For SparseSliceGrad: the elements of `dy` whose entries are in the slice.
void slice_grad_gradient(GradContext& g) {
  const Tensor ones = cast(ones_like(gather(transpose(g.in(3)), 0, 0)), g.dy().dtype());
  const Tensor taken = sparse_slice_grad(ones, g.in(1), g.in(2), g.in(3));
  g.set(0, gather_nd(g.dy(), where(not_equal(taken, zeros_like(taken)))));
}

}  // namespace

const Op& kSparseReshape = define_op(
    "SparseReshape(input_indices: int64, input_shape: int64 @host, new_shape: int64 @host) -> (output_indices: int64, "
    "output_shape: int64)",
    {.doc = "The indices of a sparse tensor's entries in another shape of as many elements, of which one dimension may "
            "be -1: what the others leave. Whether an index is within the shape is not asked.",
     .shape = reshape_shape,
     .no_gradient = "indices are not differentiable",
     .batch = batching::loop});

const Op& kSparseSlice = define_op(
    "SparseSlice(indices: int64, values: T, shape: int64 @host, start: int64 @host, size: int64 @host; T: type) -> "
    "(output_indices: int64, output_values: T, output_shape: int64)",
    {.doc = "The entries of a sparse tensor whose indices are at least `start` and less than `start + size`, in their "
            "order, with indices that count from `start`. The shape is `size`, or what there is behind `start`.",
     .traits = {Trait::kSelfAllocating},
     .shape = slice_shape,
     .saves = {in(0), in(3), out(0)},
     .gradient =
         [](GradContext& g) {
           if (g.has_dy(1)) g.set(1, sparse_slice_grad(g.dy(1), g.in(0), g.in(3), g.out(0)));
         },
     .batch = batching::loop,
     .jvp =
         [](JvpContext& c) {
           if (!c.has_tangent(1)) return;
           c.set(1, sparse_slice(c.in(0), c.tangent(1), c.in(2), c.in(3), c.in(4)).output_values);
         }});

const Op& kSparseSliceGrad = define_op(
    "SparseSliceGrad(backprop_val_grad: T, input_indices: int64, input_start: int64, output_indices: int64; T: "
    "numeric) -> (val_grad: T)",
    {.doc =
         "The gradient of SparseSlice: for each entry that was sliced the gradient of its like in the slice, 0 where "
         "it has none. Both are in one order; a gradient whose entry is not there is an error. TensorFlow has no "
         "gradient of it.",
     .shape = slice_grad_shape,
     .saves = {in(1), in(2), in(3)},
     .gradient = slice_grad_gradient,
     .batch = batching::loop,
     .jvp = tangents::linear});

}  // namespace panto
