// Matrix products.
#include <algorithm>

#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/linalg/matrices.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

void product_shape(ShapeContext& c) {
  const bool adj_x = c.flag("adj_x"), adj_y = c.flag("adj_y");
  c.expect_rank_at_least(0, 2);
  c.expect_rank_at_least(1, 2);
  if (c.rank(0) >= 0 && c.rank(1) >= 0) {
    c.expect_equal(c.dim(0, adj_x ? -2 : -1), c.dim(1, adj_y ? -1 : -2), "inner dimensions");
  }
  matrix::broadcast_batch(c, {c.dim(0, adj_x ? -1 : -2), c.dim(1, adj_y ? -2 : -1)});
}

// ---- Inside vmap ----------------------------------------------------------------------------------------------------

// If the second factor is the same for all examples, merge their rows into one matrix.
void matmul_batch(BatchContext& c) {
  const bool ta = c.flag("transpose_a"), tb = c.flag("transpose_b");
  if (!c.batched(1) && !ta) {
    return c.set_out(0,
                     split_front(mm(merge_front(c.in(0)), c.in(1), {.transpose_b = tb}), c.size(), c.shape(0).dim(0)));
  }
  const bool swap = dtypes::kComplex.contains(c.in(0).dtype());  // adj_x conjugates
  const Tensor a = ta && swap ? matrix::swapped(c.in(0)) : c.in(0), b = tb && swap ? matrix::swapped(c.in(1)) : c.in(1);
  c.set_out(0, batch_matmul(a, b, {.adj_x = ta && !swap, .adj_y = tb && !swap}));
}

// The leading dimensions broadcast.
void batch_matmul_batch(BatchContext& c) {
  const int rank = std::max(c.rank(0), c.rank(1));
  const auto factor = [&](int i) { return c.batched(i) ? c.with_rank(i, rank) : c.in(i); };
  c.set_out(0, batch_matmul(factor(0), factor(1), {.adj_x = c.flag("adj_x"), .adj_y = c.flag("adj_y")}));
}

}  // namespace

// grad_a and grad_b mark products made by gradients; nothing here reads them.
const Op& kMatMul = define_op(
    "MatMul(a: T, b: T; transpose_a: bool = false, transpose_b: bool = false,"
    " T: floating|complex|int32|int64|uint8|uint16|uint32|uint64, grad_a: bool = false, grad_b: bool = false)"
    " -> (product: T)",
    {.doc = "Matrix product of `a` [m, k] and `b` [k, n], each transposed first where its attribute says so. Integers "
            "wrap.",
     .cpp = "mm",
     .traits = {Trait::kContraction},
     .shape =
         [](ShapeContext& c) {
           const auto [m, k] = c.matrix(0, c.flag("transpose_a"));
           const auto [k2, n] = c.matrix(1, c.flag("transpose_b"));
           c.expect_equal(k, k2, "inner dimensions");
           c.output({m, n});
         },
     .saves = {in(0), in(1)},
     .gradient =
         [](GradContext& g) {
           const bool ta = g.flag("transpose_a"), tb = g.flag("transpose_b");
           const Tensor a = g.conj_in(0), b = g.conj_in(1);
           const Tensor& dy = g.dy();
           if (g.needs(0)) {
             g.set(0, ta ? mm(b, dy, {.transpose_a = tb, .transpose_b = true}) : mm(dy, b, {.transpose_b = !tb}));
           }
           if (g.needs(1)) {
             g.set(1, tb ? mm(dy, a, {.transpose_a = true, .transpose_b = ta}) : mm(a, dy, {.transpose_a = !ta}));
           }
         },
     .flops = [](const CostContext& c) { return 2 * c.out_numel(0) * c.dim(0, c.flag("transpose_a") ? 0 : 1); },
     .batch = matmul_batch,
     .jvp = tangents::multilinear});

const Op& kBatchMatMul = define_op(
    "BatchMatMulV2(x: T, y: T; adj_x: bool = false, adj_y: bool = false,"
    " T: floating|int16|int32|int64|uint8|uint16|uint32|uint64|complex, grad_x: bool = false, grad_y: bool = false)"
    " -> (output: T)",
    {.doc = "Matrix products of `x` [..., m, k] and `y` [..., k, n], each transposed first where its attribute says so "
            "(and conjugated, where complex); the leading dimensions broadcast. Integers wrap.",
     .cpp = "batch_matmul",
     .aliases = {"BatchMatMul"},
     .traits = {Trait::kContraction, Trait::kBroadcasts},
     .shape = product_shape,
     .saves = {in(0), in(1)},
     .gradient =
         [](GradContext& g) {
           const bool ax = g.flag("adj_x"), ay = g.flag("adj_y");
           const Tensor &x = g.in(0), &y = g.in(1), &dy = g.dy();
           if (g.needs(0)) {
             g.set(0, ax ? batch_matmul(y, dy, {.adj_x = ay, .adj_y = true}) : batch_matmul(dy, y, {.adj_y = !ay}));
           }
           if (g.needs(1)) {
             g.set(1, ay ? batch_matmul(dy, x, {.adj_x = true, .adj_y = ax}) : batch_matmul(x, dy, {.adj_x = !ax}));
           }
         },
     .flops = [](const CostContext& c) { return 2 * c.out_numel(0) * c.dim(0, c.flag("adj_x") ? -2 : -1); },
     .batch = batch_matmul_batch,
     .jvp = tangents::multilinear});

}  // namespace panto
