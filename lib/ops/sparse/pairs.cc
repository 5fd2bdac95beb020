// Ops on two tensors: dense plus sparse, elementwise maximum and minimum of two sparse tensors, and products of
// matrices with many zeros.
#include <vector>

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

// ---- SparseTensorDenseAdd -------------------------------------------------------------------------------------------

void dense_add_shape(ShapeContext& c) {
  const int64_t given = sparse::entries(c, 0, 1, 2).rank;
  const int64_t rank = c.merge(given, c.rank(3), "rank of the entries and of b");
  const KnownIntegers dims(c, 2, rank);
  if (rank < 0 || !dims.counted()) return c.output(c.shape(3));
  std::vector<int64_t> out;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t dim = dims.get(d).value_or(kUnknownDim);
    if (dims.known(d) && dim < 0) invalid("a_shape[{}]: expected at least 0, got {}", d, dim);
    out.push_back(
        c.merge(dim, c.rank(3) < 0 ? kUnknownDim : c.dim(3, static_cast<int>(d)), "dimensions of a_shape and b"));
  }
  c.output(PartialShape(out));
}

// ---- SparseSparseMaximum, SparseSparseMinimum -----------------------------------------------------------------------

void extremes_shape(ShapeContext& c) {
  const int64_t rank_a = sparse::entries(c, 0, 1, 2).rank, rank_b = sparse::entries(c, 3, 4, 5).rank;
  const int64_t rank = c.merge(rank_a, rank_b, "rank of a_indices and b_indices");
  if (rank == 0) c.invalid("a_shape: expected at least one dimension, got none");
  const KnownIntegers a(c, 2, rank), b(c, 5, rank);
  for (int64_t i = 0; a.counted() && i < a.count(); ++i) {
    if (a.known(i) && b.known(i)) c.expect_equal(a[i], b[i], "dimensions of a_shape and b_shape");
  }
  c.output(0, PartialShape{kUnknownDim, rank});
  c.output(1, PartialShape{kUnknownDim});
}

// Where the entries of the result come from `a`, also if both are equal. Missing entries count as 0.
template <bool kLargest>
Tensor chosen(const Tensor& a, const Tensor& a_indices, const Tensor& b, const Tensor& b_indices,
              const Tensor& indices) {
  const Tensor x = sparse::moved(a, a_indices, indices), y = sparse::moved(b, b_indices, indices);
  return kLargest ? greater_equal(x, y) : less_equal(x, y);
}

template <bool kLargest>
void extremes_gradient(GradContext& g) {
  if (!g.has_dy(1)) return;
  const Tensor of_a = chosen<kLargest>(g.in(1), g.in(0), g.in(4), g.in(3), g.out(0)), none = zeros_like(g.dy(1));
  const auto to = [&](const Tensor& dy) { return sparse_add_grad(dy, g.in(0), g.in(3), g.out(0)); };
  if (g.needs(1)) g.set(1, to(select(of_a, g.dy(1), none)).a_val_grad);
  if (g.needs(4)) g.set(4, to(select(of_a, none, g.dy(1))).b_val_grad);
}

template <bool kLargest>
void extremes_tangent(JvpContext& c) {
  const Tensor of_a = chosen<kLargest>(c.in(1), c.in(0), c.in(4), c.in(3), c.out(0)), none = zeros_like(c.out(1));
  const Tensor a = c.has_tangent(1) ? sparse::moved(c.tangent(1), c.in(0), c.out(0)) : none;
  const Tensor b = c.has_tangent(4) ? sparse::moved(c.tangent(4), c.in(3), c.out(0)) : none;
  c.set(1, select(of_a, a, b));
}

// ---- SparseMatMul ---------------------------------------------------------------------------------------------------

Tensor as_floats(const Tensor& t) { return t.dtype() == kFloat32 ? t : cast(t, kFloat32); }

}  // namespace

const Op& kSparseTensorDenseAdd = define_op(
    "SparseTensorDenseAdd(a_indices: Tindices, a_values: T, a_shape: Tindices @host, b: T; T: numeric, Tindices: "
    "index) -> (output: T)",
    {.doc = "`b` with the entries of a sparse tensor of the same shape added; nothing is broadcast. Entries need no "
            "order; those at one place add up, and those out of range are an error.",
     .primary = "T",
     .shape = dense_add_shape,
     .saves = {in(0)},
     .gradient =
         [](GradContext& g) {
           if (g.needs(1)) g.set(1, gather_nd(g.dy(), g.in(0)));
           if (g.needs(3)) g.set(3, g.dy());
         },
     .flops = [](const CostContext& c) { return c.numel(1); },
     .batch = batching::loop,
     .jvp = tangents::linear});

const Op& kSparseSparseMaximum = define_op(
    "SparseSparseMaximum(a_indices: int64, a_values: T, a_shape: int64 @host, b_indices: int64, b_values: T, b_shape: "
    "int64 @host; T: real) -> (output_indices: int64, output_values: T)",
    {.doc =
         "The larger of two sparse tensors of one shape, element by element, where either has an entry: what is "
         "missing is 0, which is an entry of the result where it is larger. Both are in the ascending order of their "
         "indices; indices out of range are an error. NaN beside a number gives NaN. The gradient goes to `a` where "
         "both are equal; TensorFlow has none.",
     .traits = {Trait::kSelfAllocating},
     .shape = extremes_shape,
     .saves = {in(0), in(1), in(3), in(4), out(0)},
     .gradient = extremes_gradient<true>,
     .flops = [](const CostContext& c) { return c.numel(1) + c.numel(4); },
     .batch = batching::loop,
     .jvp = extremes_tangent<true>});

const Op& kSparseSparseMinimum = define_op(
    "SparseSparseMinimum(a_indices: int64, a_values: T, a_shape: int64 @host, b_indices: int64, b_values: T, b_shape: "
    "int64 @host; T: numeric) -> (output_indices: int64, output_values: T)",
    {.doc = "The smaller of two sparse tensors, as SparseSparseMaximum.",
     .traits = {Trait::kSelfAllocating},
     .shape = extremes_shape,
     .saves = {in(0), in(1), in(3), in(4), out(0)},
     .gradient = extremes_gradient<false>,
     .flops = [](const CostContext& c) { return c.numel(1) + c.numel(4); },
     .types_reason = "complex numbers have no order",
     .batch = batching::loop,
     .jvp = extremes_tangent<false>});

const Op& kSparseMatMul = define_op(
    "SparseMatMul(a: Ta, b: Tb; transpose_a: bool = false, transpose_b: bool = false, a_is_sparse: bool = false, "
    "b_is_sparse: bool = false, Ta: float32|bfloat16 = float32, Tb: float32|bfloat16 = float32) -> (product: float32)",
    {.doc = "The product of two matrices, transposed as `transpose_a` and `transpose_b` say, in float32. `a_is_sparse` "
            "and `b_is_sparse` tell of many zeros and change nothing here: a zero times infinity or NaN is NaN, where "
            "TensorFlow may leave it out.",
     .body =
         [](CompositeContext& c) {
           c.set_out(0, mm(as_floats(c.in(0)), as_floats(c.in(1)),
                           {.transpose_a = c.flag("transpose_a"), .transpose_b = c.flag("transpose_b")}));
         },
     .in_tensorflow = true});

}  // namespace panto
