// Ops that gather and scatter by positions in several dimensions, and bands of matrices.
#include <string>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/positions.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

void gather_nd_shape(ShapeContext& c) {
  expect_error_policy(c);
  const PartialShape &params = c.shape(0), &indices = c.shape(1);
  const int64_t depth = depth_of_indices(c, 1, params.rank());
  c.output(shape_at(indices, params, depth));
}

void scatter_nd_shape(ShapeContext& c) {
  expect_error_policy(c);
  const PartialShape out = c.shape_from(2);
  const PartialShape &indices = c.shape(0), &updates = c.shape(1);
  const int64_t depth = depth_of_indices(c, 0, out.rank());
  c.output(out);
  expect_updates(updates, indices, out, depth);
}

void tensor_scatter_shape(ShapeContext& c) {
  expect_error_policy(c);
  const PartialShape &tensor = c.shape(0), &indices = c.shape(1), &updates = c.shape(2);
  const int64_t depth = depth_of_indices(c, 1, tensor.rank());
  c.output(tensor);
  expect_updates(updates, indices, tensor, depth);
}

// For TensorScatterUpdate: whether each update is the last one at its position, in a shape that broadcasts to updates.
Tensor last_at_its_place(GradContext& g) {
  const Tensor& indices = g.in(1);
  const Tensor sizes = shape(indices, {.out_type = kInt64});
  const Tensor last = size(sizes, {.out_type = kInt64}) - 1;
  const Tensor rows = slice(sizes, {0}, reshape(last, {1})), depth = slice(sizes, reshape(last, {1}), {1});
  const Tensor numbers = reshape(range(int64_t{0}, reduce_prod(rows), int64_t{1}), rows);
  const Tensor places = slice(cast(g.shape(0), kInt64), {0}, depth);
  const Tensor owner = tensor_scatter_update(fill(places, int64_t{-1}), indices, numbers);
  const Tensor counts = equal(gather_nd(owner, indices), numbers);
  const Tensor further = size(g.shape(2), {.out_type = kInt64}) - last;  // number of dimensions of one update
  return reshape(counts, concat({rows, fill(reshape(further, {1}), int64_t{1})}, 0));
}

// For TensorScatterMax and TensorScatterMin: all elements and updates equal to the extreme at a position share the
// gradient equally.
struct Shares {
  Tensor of_tensor, of_updates;  // 1 where it equals the extreme, else 0
  Tensor all;                    // the number of extremes at each position
  Shares(const Tensor& tensor, const Tensor& indices, const Tensor& updates, const Tensor& out)
      : of_tensor(cast(equal(tensor, out), out.dtype())),
        of_updates(cast(equal(updates, gather_nd(out, indices)), out.dtype())),
        all(of_tensor + scatter_nd(indices, of_updates, cast(shape(out), indices.dtype()))) {}
};

void extreme_gradient(GradContext& g) {
  const Shares shares(g.in(0), g.in(1), g.in(2), g.out(0));
  const Tensor each = g.dy() / shares.all;
  if (g.needs(0)) g.set(0, each * shares.of_tensor);
  if (g.needs(2)) g.set(2, gather_nd(each, g.in(1)) * shares.of_updates);
}

void extreme_tangent(JvpContext& c) {
  const Shares shares(c.in(0), c.in(1), c.in(2), c.out());
  Tensor total;
  if (c.has_tangent(0)) total = c.tangent(0) * shares.of_tensor;
  if (c.has_tangent(2)) {
    const Tensor part = scatter_nd(c.in(1), c.tangent(2) * shares.of_updates, cast(shape(c.out()), c.in(1).dtype()));
    total = total.defined() ? total + part : part;
  }
  if (total.defined()) c.set(0, total / shares.all);
}

// Input 1, row numbers, as positions. Numbers wrap around: -1 is the last row.
Tensor positions_around(const CompositeContext& c) {
  const Tensor numbers = ensure_shape(c.in(1), PartialShape{kUnknownDim});
  return expand_dims(floor_mod(numbers, gather(shape(c.in(0)), 0, 0)), -1);
}

void band_shape(ShapeContext& c) {
  c.expect_rank_at_least(0, 2);
  known_scalar(c, 1);
  known_scalar(c, 2);
  c.output(c.shape(0));
}

// ---- Inside vmap ----------------------------------------------------------------------------------------------------

// Input i, positions, each prefixed by the example's number: positions in tensors with the batch in front.
Tensor positions_in_batch(BatchContext& c, int i) {
  const Tensor indices = c.front(i);
  std::vector<int64_t> numbers(static_cast<size_t>(c.rank(i) + 1), 1);
  numbers[0] = c.size();
  const Tensor example = reshape(cast(range(int64_t{0}, c.size(), int64_t{1}), indices.dtype()), numbers);
  std::vector<int64_t> dims(indices.shape().dims().begin(), indices.shape().dims().end());
  dims.back() = 1;
  return concat({broadcast_to(example, dims), indices}, -1);
}

bool knows_positions(const BatchContext& c, int i) { return c.size() >= 0 && c.shape(i).fully_known(); }

void gather_nd_batch(BatchContext& c) {
  if (!c.batched(0)) return c.set_out(0, gather_nd(c.in(0), c.in(1)));
  if (!knows_positions(c, 1)) return c.loop();
  c.set_out(0, gather_nd(c.in(0), positions_in_batch(c, 1)));
}

void scatter_nd_batch(BatchContext& c) {
  if (c.batched(2) || !knows_positions(c, 0)) return c.loop();
  c.set_out(0, scatter_nd(positions_in_batch(c, 0), c.front(1), put_before({c.size()}, c.in(2))));
}

void tensor_scatter_batch(BatchContext& c) {
  if (!knows_positions(c, 1)) return c.loop();
  c.set_all(c.again({c.front(0), positions_in_batch(c, 1), c.front(2)}));
}

}  // namespace

const Op& kGatherNd = define_op(
    "GatherNd(params: Tparams, indices: Tindices; Tparams: type, Tindices: int16|int32|int64,"
    " bad_indices_policy: string = \"\") -> (output: Tparams)",
    {.doc = "The elements of `params`, or its slices, at the positions that the last dimension of `indices` spells: "
            "[i, j] is params[i, j]. The result has the other dimensions of `indices` and what is left of those of "
            "`params`. A position out of range is an error.",
     .traits = {Trait::kDataMovement},
     .primary = "Tparams",
     .shape = gather_nd_shape,
     .saves = {shape_of(0), in(1)},
     .gradient = [](GradContext& g) { g.set(0, scatter_nd(g.in(1), g.dy(), cast(g.shape(0), g.in_type(1)))); },
     .batch = gather_nd_batch});

const Op& kScatterNd = define_op(
    "ScatterNd(indices: Tindices, updates: T, shape: Tindices @host; T: numeric, Tindices: int16|int32|int64,"
    " bad_indices_policy: string = \"\") -> (output: T)",
    {.doc = "Zeros of the given shape with `updates`, numbers or slices, added at the positions that the last "
            "dimension of `indices` spells. A position out of range is an error.",
     .primary = "T",
     .shape = scatter_nd_shape,
     .saves = {in(0)},
     .gradient = [](GradContext& g) { g.set(1, gather_nd(g.dy(), g.in(0))); },
     .flops = [](const CostContext& c) { return c.numel(1); },
     .batch = scatter_nd_batch,
     .jvp = tangents::linear});

const Op& kTensorScatterUpdate = define_op(
    "TensorScatterUpdate(tensor: T, indices: Tindices, updates: T; T: type, Tindices: int16|int32|int64,"
    " bad_indices_policy: string = \"\") -> (output: T)",
    {.doc =
         "`tensor` with `updates`, elements or slices, at the positions that the last dimension of `indices` spells; "
         "of one that occurs twice the last update counts. A position out of range is an error.",
     .primary = "T",
     .shape = tensor_scatter_shape,
     .saves = {shape_of(0), in(1), shape_of(2)},
     .gradient =
         [](GradContext& g) {
           if (g.needs(0)) g.set(0, tensor_scatter_update(g.dy(), g.in(1), zeros(g.shape(2), g.in_type(0))));
           if (!g.needs(2)) return;
           const Tensor there = gather_nd(g.dy(), g.in(1));
           g.set(2, select(last_at_its_place(g), there, zeros_like(there)));
         },
     .batch = tensor_scatter_batch,
     .jvp = tangents::linear});

const Op& kTensorScatterAdd = define_op(
    "TensorScatterAdd(tensor: T, indices: Tindices, updates: T; T: numeric, Tindices: int16|int32|int64,"
    " bad_indices_policy: string = \"\") -> (output: T)",
    {.doc = "`tensor` with `updates`, elements or slices, added at the positions that the last dimension of `indices` "
            "spells, one after the other. A position out of range is an error.",
     .aliases = {"ScatterNdNonAliasingAdd"},
     .shape = tensor_scatter_shape,
     .saves = {in(1)},
     .gradient =
         [](GradContext& g) {
           g.set(0, g.dy());
           if (g.needs(2)) g.set(2, gather_nd(g.dy(), g.in(1)));
         },
     .flops = [](const CostContext& c) { return c.numel(2); },
     .batch = tensor_scatter_batch,
     .jvp = tangents::linear});

const Op& kTensorScatterSub = define_op(
    "TensorScatterSub(tensor: T, indices: Tindices, updates: T; T: numeric, Tindices: int16|int32|int64,"
    " bad_indices_policy: string = \"\") -> (output: T)",
    {.doc = "`tensor` with `updates`, elements or slices, subtracted at the positions that the last dimension of "
            "`indices` "
            "spells, one after the other. A position out of range is an error.",
     .shape = tensor_scatter_shape,
     .saves = {in(1)},
     .gradient =
         [](GradContext& g) {
           g.set(0, g.dy());
           if (g.needs(2)) g.set(2, -gather_nd(g.dy(), g.in(1)));
         },
     .flops = [](const CostContext& c) { return c.numel(2); },
     .batch = tensor_scatter_batch,
     .jvp = tangents::linear});

const Op& kTensorScatterMax = define_op(
    "TensorScatterMax(tensor: T, indices: Tindices, updates: T; T: real, Tindices: int16|int32|int64,"
    " bad_indices_policy: string = \"\") -> (output: T)",
    {.doc = "The largest of `tensor` and those `updates`, elements or slices, at each of the positions that the last "
            "dimension of `indices` spells; NaN if there is one among them. Equal elements share the gradient. A "
            "position out of range is an error.",
     .shape = tensor_scatter_shape,
     .saves = {in(0), in(1), in(2), out(0)},
     .gradient = extreme_gradient,
     .flops = [](const CostContext& c) { return c.numel(2); },
     .batch = tensor_scatter_batch,
     .jvp = extreme_tangent});

const Op& kTensorScatterMin = define_op(
    "TensorScatterMin(tensor: T, indices: Tindices, updates: T; T: real, Tindices: int16|int32|int64,"
    " bad_indices_policy: string = \"\") -> (output: T)",
    {.doc = "The smallest of `tensor` and those `updates`, elements or slices, at each of the positions that the last "
            "dimension of `indices` spells; NaN if there is one among them. Equal elements share the gradient. A "
            "position out of range is an error.",
     .shape = tensor_scatter_shape,
     .saves = {in(0), in(1), in(2), out(0)},
     .gradient = extreme_gradient,
     .flops = [](const CostContext& c) { return c.numel(2); },
     .batch = tensor_scatter_batch,
     .jvp = extreme_tangent});

const Op& kMatrixBandPart = define_op(
    "MatrixBandPart(input: T, num_lower: Tindex @host, num_upper: Tindex @host; T: numeric|bool, Tindex: index = int64)"
    " -> (band: T)",
    {.doc = "Matrices, in the last two dimensions, with zeros outside of a band of `num_lower` diagonals below the "
            "main one and `num_upper` above it; a negative number means all.",
     .aliases = {"BatchMatrixBandPart"},
     .primary = "T",
     .shape = band_shape,
     .saves = {in(1), in(2)},
     .gradient = [](GradContext& g) { g.set(0, matrix_band_part(g.dy(), g.in(1), g.in(2))); },
     .batch = batching::trailing,
     .jvp = tangents::linear});

const Op& kInplaceUpdate = define_op(
    "InplaceUpdate(x: T, i: int32, v: T; T: type) -> (y: T)",
    {.doc = "`x` with rows `v` in the place of those whose numbers are in `i`; of a number that occurs twice the last "
            "row counts. "
            "Numbers are taken modulo the number of rows. `x` itself stays as it is, which TensorFlow changes.",
     .body = [](CompositeContext& c) { c.set_out(0, tensor_scatter_update(c.in(0), positions_around(c), c.in(2))); },
     .in_tensorflow = true});

const Op& kInplaceAdd = define_op(
    "InplaceAdd(x: T, i: int32, v: T; T: type) -> (y: T)",
    {.doc = "`x` with rows `v` added to those whose numbers are in `i`. "
            "Numbers are taken modulo the number of rows. `x` itself stays as it is, which TensorFlow changes.",
     .body = [](CompositeContext& c) { c.set_out(0, tensor_scatter_add(c.in(0), positions_around(c), c.in(2))); },
     .in_tensorflow = true});

const Op& kInplaceSub = define_op(
    "InplaceSub(x: T, i: int32, v: T; T: type) -> (y: T)",
    {.doc = "`x` with rows `v` subtracted from those whose numbers are in `i`. "
            "Numbers are taken modulo the number of rows. `x` itself stays as it is, which TensorFlow changes.",
     .body = [](CompositeContext& c) { c.set_out(0, tensor_scatter_sub(c.in(0), positions_around(c), c.in(2))); },
     .in_tensorflow = true});

}  // namespace panto
