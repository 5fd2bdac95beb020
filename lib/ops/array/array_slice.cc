// Ops that take parts of tensors and pad tensors.

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/strided_slice.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

using Dims = SmallVector<int64_t, 8>;

PartialShape to_shape(const Dims& dims) { return PartialShape(std::span<const int64_t>(dims.data(), dims.size())); }

std::optional<int64_t> value_at(const KnownIntegers& values, int i) {
  return values.counted() ? values.get(i) : std::nullopt;
}

// Sets the output's known values: those of vector input 0 at begin, begin + stride, ...
void slice_values(ShapeContext& c, int64_t begin, int64_t stride, int64_t size) {
  if (!c.symbolic()) return;
  const std::optional<PartialValues> from = c.values(0);
  if (!from || size > static_cast<int64_t>(from->size())) return;
  PartialValues values;
  for (int64_t i = 0; i < size; ++i) values.push_back((*from)[static_cast<size_t>(begin + i * stride)]);
  c.output_values(0, std::move(values));
}

void slice_shape(ShapeContext& c) {
  const PartialShape& from = c.shape(0);
  int64_t rank = c.merge(c.vector(1), c.vector(2), "lengths of begin and size");
  if (from.known_rank() && rank >= 0 && rank != from.rank()) {
    invalid("begin and size: expected {} numbers, one for each dimension of input, got {}", from.rank(), rank);
  }
  if (from.known_rank()) rank = from.rank();
  if (rank < 0) return c.output(PartialShape::unknown());
  const KnownIntegers begins(c, 1);
  const KnownIntegers sizes(c, 2);
  Dims dims;
  std::optional<int64_t> begin;
  for (int i = 0; i < rank; ++i) {
    const int64_t d = from.known_rank() ? from.dim(i) : kUnknownDim;
    begin = value_at(begins, i);
    const std::optional<int64_t> size = value_at(sizes, i);
    if (begin && (*begin < 0 || (d >= 0 && *begin > d))) {
      invalid("begin[{}]: expected one in [0, {}], got {}", i, d < 0 ? "?" : std::to_string(d), *begin);
    }
    if (size && *size < -1) invalid("size[{}]: expected at least -1, got {}", i, *size);
    if (size && begin && d >= 0 && *size > d - *begin) {
      invalid("size[{}]: expected at most {}, what is left after begin {}, got {}", i, d - *begin, *begin, *size);
    }
    if (!size) {
      dims.push_back(kUnknownDim);
    } else if (*size >= 0) {
      dims.push_back(*size);
    } else {
      dims.push_back(begin && d >= 0 ? d - *begin : kUnknownDim);
    }
  }
  if (rank == 1 && begin && dims[0] >= 0) slice_values(c, *begin, 1, dims[0]);
  c.output(to_shape(dims));
}

// Pads dy with zeros.
void slice_gradient(GradContext& g) {
  const PartialShape& from = g.in_shape(0);
  const PartialShape& dy = g.dy().partial_shape();
  const KnownIntegers begins(g.in(1));
  if (from.fully_known() && dy.fully_known() && begins.counted() && begins.complete()) {
    std::vector<int64_t> pads;
    for (int i = 0; i < from.rank(); ++i) {
      pads.push_back(begins[i]);
      pads.push_back(from.dim(i) - begins[i] - dy.dim(i));
    }
    return g.set(0, pad(g.dy(), reshape(constant_integers(pads), {-1, 2})));
  }
  const Tensor before = cast(g.in(1), kInt64);
  const Tensor after = sub(sub(cast(g.shape(0), kInt64), before), shape(g.dy(), {.out_type = kInt64}));
  g.set(0, pad(g.dy(), pack({before, after}, {.axis = 1})));
}

void strided_slice_shape(ShapeContext& c) {
  const int64_t n = c.merge(c.merge(c.vector(1), c.vector(2), "lengths of begin, end and strides"), c.vector(3),
                            "lengths of begin, end and strides");
  const PartialShape& from = c.shape(0);
  if (!from.known_rank() || n < 0) return c.output(PartialShape::unknown());
  StridedSlice slice =
      plan_strided_slice(from, KnownIntegers(c, 1, n), KnownIntegers(c, 2, n), KnownIntegers(c, 3, n), masks_of(c));
  if (from.rank() == 1 && slice.exact()) {
    slice_values(c, slice.axes[0].begin, slice.axes[0].stride, slice.axes[0].size);
  }
  c.output(std::move(slice.shape));
}

// `index` in a type that StridedSliceGrad takes.
Tensor wide_index(const Tensor& index) { return index.dtype() == kInt16 ? cast(index, kInt32) : index; }

void strided_slice_grad_shape(ShapeContext& c) {
  c.vector(0);
  const KnownIntegers dims(c, 0);
  if (!dims.counted()) return c.output(PartialShape::unknown());
  Dims known;
  for (int64_t i = 0; i < dims.count(); ++i) {
    if (dims.known(i) && dims[i] < 0) invalid("shape[{}]: expected at least 0, got {}", i, dims[i]);
    known.push_back(dims.known(i) ? dims[i] : kUnknownDim);
  }
  PartialShape to = to_shape(known);
  const int64_t n = c.merge(c.merge(c.vector(1), c.vector(2), "lengths of begin, end and strides"), c.vector(3),
                            "lengths of begin, end and strides");
  if (n >= 0) {
    const KnownIntegers begin(c, 1, n), end(c, 2, n), strides(c, 3, n);
    const StridedSlice slice = plan_strided_slice(to, begin, end, strides, masks_of(c));
    // Check this only if all indices are known: an index that is out of range must be reported first.
    const bool all_known = to.fully_known() && begin.complete() && end.complete() && strides.complete();
    if (all_known && !slice.shape.compatible_with(c.shape(4))) {
      invalid("dy: expected the shape of the slice, {}, got {}", slice.shape.to_string(), c.shape(4).to_string());
    }
  }
  c.output(std::move(to));
}

void pad_shape(ShapeContext& c) {
  c.expect_rank(1, 2);
  const PartialShape& from = c.shape(0);
  c.expect_equal(c.dim(1, 1), 2, "dimension 1 of paddings");
  const int64_t rows = c.dim(1, 0);
  if (from.known_rank() && rows >= 0 && rows != from.rank()) {
    invalid("paddings: expected {} rows, one for each dimension of input, got {}", from.rank(), rows);
  }
  const int64_t rank = from.known_rank() ? from.rank() : rows;
  if (rank < 0) return c.output(PartialShape::unknown());
  const KnownIntegers pads(c, 1);
  Dims dims;
  for (int i = 0; i < rank; ++i) {
    int64_t d = from.known_rank() ? from.dim(i) : kUnknownDim;
    for (int side = 0; side < 2; ++side) {
      const std::optional<int64_t> extra = value_at(pads, 2 * i + side);
      if (extra && *extra < 0) invalid("paddings[{}, {}]: expected at least 0, got {}", i, side, *extra);
      d = d < 0 || !extra ? kUnknownDim : checked_add(d, *extra, "dimension");
    }
    dims.push_back(d);
  }
  c.output(to_shape(dims));
}

// Slices the unpadded part of dy.
void pad_gradient(GradContext& g) {
  const PartialShape& from = g.in_shape(0);
  const KnownIntegers pads(g.in(1));
  if (from.fully_known() && pads.counted() && pads.complete()) {
    std::vector<int64_t> begin;
    for (int i = 0; i < from.rank(); ++i) begin.push_back(pads[2 * i]);
    return g.set(0, slice(g.dy(), begin, std::vector<int64_t>(from.dims().begin(), from.dims().end())));
  }
  const Tensor begin = unpack(cast(g.in(1), kInt32), 2, {.axis = 1})[0];
  g.set(0, slice(g.dy(), begin, g.shape(0)));
}

// For PadV2: the gradient of the padding is summed for the padding value.
void pad_with_gradient(GradContext& g) {
  if (g.needs(0)) pad_gradient(g);
  if (!g.needs(2)) return;
  const Tensor is_padding =
      pad_with(fill(g.shape(0), constant(tensor(false), kBool)), g.in(1), constant(tensor(true), kBool));
  g.set(2, sum(select(is_padding, g.dy(), zeros_like(g.dy()))));
}

void slice_update_shape(ShapeContext& c) {
  const int64_t n = c.merge(c.merge(c.vector(1), c.vector(2), "lengths of begin, end and strides"), c.vector(3),
                            "lengths of begin, end and strides");
  const PartialShape& whole = c.shape(0);
  c.output(whole);
  if (!whole.known_rank() || n < 0) return;
  expect_slice(
      plan_strided_slice(whole, KnownIntegers(c, 1, n), KnownIntegers(c, 2, n), KnownIntegers(c, 3, n), masks_of(c)),
      c.shape(4));
}

template <class Attrs>
Attrs given_masks(const SliceMasks& m) {
  return {.begin_mask = m.begin,
          .end_mask = m.end,
          .ellipsis_mask = m.ellipsis,
          .new_axis_mask = m.new_axis,
          .shrink_axis_mask = m.shrink_axis};
}

// Sums dy over the dimensions along which a tensor of shape `dims` was broadcast.
Tensor sum_of_repeated(const Tensor& dy, const PartialShape& known, const Tensor& dims) {
  if (known.fully_known() && dy.partial_shape() == known) return dy;
  const Tensor have = shape(dy);
  const auto [axes, others] = broadcast_gradient_args(dims, have);
  return reshape(sum(reshape(dy, broadcast_args(dims, have)), axes), dims);
}

void slice_update_gradient(GradContext& g) {
  const SliceMasks masks = {g.integer("begin_mask"), g.integer("end_mask"), g.integer("ellipsis_mask"),
                            g.integer("new_axis_mask"), g.integer("shrink_axis_mask")};
  const Tensor &begin = g.in(1), &end = g.in(2), &strides = g.in(3);
  if (g.needs(0)) {
    const Tensor none = zeros(g.shape(4), g.in_type(0));
    g.set(0, tensor_strided_slice_update(g.dy(), begin, end, strides, none,
                                         given_masks<TensorStridedSliceUpdateAttrs>(masks)));
  }
  if (!g.needs(4)) return;
  const Tensor part = strided_slice(g.dy(), begin, end, strides, given_masks<StridedSliceAttrs>(masks));
  g.set(4, sum_of_repeated(part, g.in_shape(4), g.shape(4)));
}

// ---- Inside vmap ----------------------------------------------------------------------------------------------------

void slice_batch(BatchContext& c) {
  if (c.batched(1) || c.batched(2)) return c.loop();
  c.set_out(0, slice(c.in(0), put_before({0}, c.in(1)), put_before({-1}, c.in(2))));
}

// The masks for indices with the whole batch dimension in front.
SliceMasks masks_behind_batch(const CallView& c) {
  const SliceMasks m = masks_of(c);
  return {.begin = m.begin * 2 + 1,
          .end = m.end * 2 + 1,
          .ellipsis = m.ellipsis * 2,
          .new_axis = m.new_axis * 2,
          .shrink_axis = m.shrink_axis * 2};
}

void strided_slice_batch(BatchContext& c) {
  if (c.batched(1) || c.batched(2) || c.batched(3)) return c.loop();
  const SliceMasks m = masks_behind_batch(c);
  c.set_out(0, strided_slice(c.in(0), put_before({0}, c.in(1)), put_before({0}, c.in(2)), put_before({1}, c.in(3)),
                             {.begin_mask = m.begin,
                              .end_mask = m.end,
                              .ellipsis_mask = m.ellipsis,
                              .new_axis_mask = m.new_axis,
                              .shrink_axis_mask = m.shrink_axis}));
}

void strided_slice_grad_batch(BatchContext& c) {
  for (int i = 0; i < 4; ++i) {
    if (c.batched(i)) return c.loop();
  }
  if (c.size() < 0) return c.loop();
  const SliceMasks m = masks_behind_batch(c);
  c.set_out(0, strided_slice_grad(put_before({c.size()}, c.in(0)), put_before({0}, c.in(1)), put_before({0}, c.in(2)),
                                  put_before({1}, c.in(3)), c.in(4),
                                  {.begin_mask = m.begin,
                                   .end_mask = m.end,
                                   .ellipsis_mask = m.ellipsis,
                                   .new_axis_mask = m.new_axis,
                                   .shrink_axis_mask = m.shrink_axis}));
}

void pad_batch(BatchContext& c) {
  const bool given = c.op().signature().inputs.size() == 3;  // has a padding value
  if (c.batched(1) || (given && c.batched(2))) return c.loop();
  const Tensor none = cast(reshape(constant_integers({0, 0}), {1, 2}), c.in(1).dtype());
  const Tensor paddings = concat({none, c.in(1)}, 0);
  c.set_out(0, given ? pad_with(c.in(0), paddings, c.in(2)) : pad(c.in(0), paddings));
}

void slice_update_batch(BatchContext& c) {
  const KnownIntegers begin(c.in(1)), end(c.in(2)), strides(c.in(3));
  const bool known = !c.batched(1) && !c.batched(2) && !c.batched(3) && begin.counted() && end.counted() &&
                     strides.counted() && c.rank(0) >= 0;
  // A batched value of lower rank would broadcast wrongly.
  if (!known || plan_strided_slice(c.shape(0), begin, end, strides, masks_of(c)).shape.rank() != c.rank(4)) {
    return c.loop();
  }
  c.set_out(0, tensor_strided_slice_update(c.front(0), put_before({0}, c.in(1)), put_before({0}, c.in(2)),
                                           put_before({1}, c.in(3)), c.front(4),
                                           given_masks<TensorStridedSliceUpdateAttrs>(masks_behind_batch(c))));
}

}  // namespace

const Op& kSlice = define_op(
    "Slice(input: T, begin: Index @host, size: Index @host; T: type, Index: index) -> (output: T)",
    {.doc = "The part of `input` that begins at `begin` and has size `size`; a size of -1 is all that is left.",
     .traits = {Trait::kDataMovement, Trait::kSelfAllocating},
     .shape = slice_shape,
     .saves = {shape_of(0), in(1)},
     .gradient = slice_gradient,
     .batch = slice_batch});

const Op& kStridedSlice = define_op(
    "StridedSlice(input: T, begin: Index @host, end: Index @host, strides: Index @host; T: type, "
    "Index: int16|int32|int64, begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0, "
    "new_axis_mask: int = 0, shrink_axis_mask: int = 0) -> (output: T)",
    {.doc = "What x[b0:e0:s0, b1:e1:s1, ...] is in Python. Bit i of a mask changes the meaning of index i: begin and "
            "end at the first or last element (begin_mask, end_mask), all dimensions not mentioned (ellipsis_mask), a "
            "new dimension of 1 (new_axis_mask), one element, whose dimension goes (shrink_axis_mask).",
     .traits = {Trait::kDataMovement, Trait::kSelfAllocating},
     .shape = strided_slice_shape,
     .saves = {shape_of(0), in(1), in(2), in(3)},
     .gradient =
         [](GradContext& g) {
           const Tensor begin = wide_index(g.in(1));
           const Tensor shape = begin.dtype() == kInt32 ? g.shape(0) : cast(g.shape(0), begin.dtype());
           g.set(0, strided_slice_grad(shape, begin, wide_index(g.in(2)), wide_index(g.in(3)), g.dy(),
                                       {.begin_mask = g.integer("begin_mask"),
                                        .end_mask = g.integer("end_mask"),
                                        .ellipsis_mask = g.integer("ellipsis_mask"),
                                        .new_axis_mask = g.integer("new_axis_mask"),
                                        .shrink_axis_mask = g.integer("shrink_axis_mask")}));
         },
     .batch = strided_slice_batch});

const Op& kStridedSliceGrad = define_op(
    "StridedSliceGrad(shape: Index @host, begin: Index @host, end: Index @host, strides: Index @host, dy: T; T: type, "
    "Index: index, begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0, new_axis_mask: int = 0, "
    "shrink_axis_mask: int = 0) -> (output: T)",
    {.doc = "Zeros of the given shape, with `dy` where StridedSlice would have taken its elements from.",
     .traits = {Trait::kDataMovement},
     .primary = "T",
     .shape = strided_slice_grad_shape,
     .saves = {in(1), in(2), in(3)},
     .gradient =
         [](GradContext& g) {
           g.set(4, strided_slice(g.dy(), g.in(1), g.in(2), g.in(3),
                                  {.begin_mask = g.integer("begin_mask"),
                                   .end_mask = g.integer("end_mask"),
                                   .ellipsis_mask = g.integer("ellipsis_mask"),
                                   .new_axis_mask = g.integer("new_axis_mask"),
                                   .shrink_axis_mask = g.integer("shrink_axis_mask")}));
         },
     .types_reason = "no resource or variant is zero",
     .batch = strided_slice_grad_batch});

const Op& kPad = define_op(
    "Pad(input: T, paddings: Tpaddings @host; T: type, Tpaddings: index = int32) -> (output: T)",
    {.doc = "`input` with paddings[i, 0] zeros before and paddings[i, 1] zeros after it along each dimension i.",
     .traits = {Trait::kDataMovement},
     .shape = pad_shape,
     .saves = {shape_of(0), in(1)},
     .gradient = pad_gradient,
     .types_reason = "no resource or variant is zero",
     .batch = pad_batch});

const Op& kPadV2 = define_op(
    "PadV2(input: T, paddings: Tpaddings @host, constant_values: T; T: type, Tpaddings: index = int32) -> (output: T)",
    {.doc = "`input` with paddings[i, 0] times the scalar `constant_values` before and paddings[i, 1] times after it "
            "along each dimension i.",
     .cpp = "pad_with",
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(2);
           pad_shape(c);
         },
     .saves = {shape_of(0), in(1)},
     .gradient = pad_with_gradient,
     .batch = pad_batch,
     .jvp = tangents::linear});

const Op& kTensorStridedSliceUpdate = define_op(
    "TensorStridedSliceUpdate(input: T, begin: Index @host, end: Index @host, strides: Index @host, value: T; T: type, "
    "Index: index, begin_mask: int = 0, end_mask: int = 0, ellipsis_mask: int = 0, new_axis_mask: int = 0, "
    "shrink_axis_mask: int = 0) -> (output: T)",
    {.doc = "`input` with `value`, which broadcasts, in the place of the part that StridedSlice takes.",
     .primary = "T",
     .shape = slice_update_shape,
     .saves = {in(1), in(2), in(3), shape_of(4)},
     .gradient = slice_update_gradient,
     .batch = slice_update_batch,
     .jvp = tangents::linear});

}  // namespace panto
