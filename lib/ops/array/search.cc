// Search ops: positions, largest elements, unique elements, counts.
#include <cstdint>
#include <string>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

void top_shape(ShapeContext& c) {
  c.expect_rank_at_least(0, 1);
  const std::optional<int64_t> k = known_scalar(c, 1);
  const PartialShape& in = c.shape(0);
  if (k && *k < 0) c.invalid("k: expected at least 0, got " + std::to_string(*k));
  if (!in.known_rank()) {
    c.output(0, PartialShape());
    return c.output(1, PartialShape());
  }
  const int64_t size = in.dim(in.rank() - 1);
  if (c.type("index_type") == kInt16 && size > int64_t{INT16_MAX} + 1) {
    c.invalid("index_type: expected one that has positions up to " + std::to_string(size - 1) + ", got int16");
  }
  if (k && size >= 0 && *k > size) {
    c.invalid("k: expected at most " + std::to_string(size) + ", the size of the last dimension, got " +
              std::to_string(*k));
  }
  SmallVector<int64_t, 8> dims;
  for (int i = 0; i + 1 < in.rank(); ++i) dims.push_back(in.dim(i));
  dims.push_back(k.value_or(kUnknownDim));
  const PartialShape out{std::span<const int64_t>(dims)};
  c.output(0, out);
  c.output(1, out);
}

// Scatters the gradient of each of the largest elements to its position. Positions are numbered over all rows of
// `input`.
void top_gradient(GradContext& g) {
  if (!g.has_dy(0)) return;
  const Tensor shape = cast(g.shape(0), kInt64);
  const Tensor last = size(shape, {.out_type = kInt64}) - 1;
  const Tensor batch = slice(shape, {0}, reshape(last, {1}));
  const Tensor columns = gather(shape, last, 0);
  const Tensor rows = reduce_prod(batch);
  const Tensor one = constant(tensor({int64_t{1}}), kInt64);
  const Tensor first = reshape(range(int64_t{0}, rows, int64_t{1}) * columns, concat({batch, one}, 0));
  const Tensor positions = reshape(cast(g.out(1), kInt64) + first, {-1});
  g.set(0, reshape(unsorted_segment_sum(reshape(g.dy(0), {-1}), positions, rows * columns), shape));
}

void bins_shape(ShapeContext& c) {
  const PartialShape& in = c.shape(0);
  if (in.known_rank() && in.rank() != 1 && in.rank() != 2) {
    c.invalid("input: expected a rank of 1 or 2, got shape " + in.to_string());
  }
  c.expect_scalar(1);
  const std::optional<int64_t> size = known_scalar(c, 1);
  if (size && *size < 0) c.invalid("size: expected at least 0, got " + std::to_string(*size));
  const PartialShape& weights = c.shape(2);
  if (!weights.compatible_with(in) && !weights.compatible_with(PartialShape{0})) {
    c.invalid("weights: expected the shape " + in.to_string() + " of input, or [0] for none, got " +
              weights.to_string());
  }
  const int64_t bins = size.value_or(kUnknownDim);
  if (!in.known_rank()) return c.output(PartialShape());
  in.rank() == 1 ? c.output({bins}) : c.output({in.dim(0), bins});
}

void top_tangent(JvpContext& c) {
  if (c.has_tangent(0)) c.set(0, gather(c.tangent(0), cast(c.out(1), kInt64), -1, {.batch_dims = -1}));
}

void histogram_shape(ShapeContext& c) {
  c.expect_equal(2, c.vector(1), "numbers in value_range");
  const std::optional<int64_t> bins = known_scalar(c, 2);
  if (bins && *bins < 1) c.invalid("nbins: expected at least 1, got " + std::to_string(*bins));
  c.output({bins.value_or(kUnknownDim)});
}

// Input 1 names the dimension, or is empty, and then input 0 must be a vector.
void unique_slices_shape(ShapeContext& c) {
  const PartialShape& x = c.shape(0);
  const int64_t count = c.vector(1);
  c.output(0, PartialShape::unknown());
  c.output(1, PartialShape{kUnknownDim});
  if (count > 1) invalid("axis: expected one at most, got {}", count);
  if (count == 0) c.expect_rank(0, 1);
  if (count < 0 || !x.known_rank()) return;
  const KnownIntegers axes(c, 1, count);
  if (!axes.complete()) return c.output(0, PartialShape::of_rank(x.rank()));
  const auto axis = static_cast<size_t>(count == 0 ? 0 : c.axis(axes[0], x.rank()));
  SmallVector<int64_t, 8> dims;
  for (const int64_t d : x.dims()) dims.push_back(d);
  c.output(1, PartialShape{dims[axis]});
  dims[axis] = kUnknownDim;
  c.output(0, PartialShape(std::span<const int64_t>(dims.data(), dims.size())));
}

// dense_bincount of a matrix counts by row.
void bincount_batch(BatchContext& c) {
  if (c.batched(1) || c.rank(0) != 1) return c.loop();
  const bool weighed = c.shape(2) == c.shape(0) && c.shape(0).numel() != 0;
  c.set_out(0, dense_bincount(c.front(0), c.in(1), weighed ? c.front(2) : fill({0}, cast(0, c.in(2).dtype())),
                              {.binary_output = c.flag("binary_output")}));
}

}  // namespace

const Op& kTopK = define_op(
    "TopKV2(input: T, k: Tk @host; sorted: bool = true, T: real, Tk: int16|int32|int64 = int32, index_type: "
    "int16|int32|int64 = int32) -> (values: T, indices: index_type)",
    {.doc = "The `k` largest elements of the last dimension, the largest first, and their positions. Of equal ones the "
            "first comes first; NaN is larger than any number. (They are in order without `sorted` too.)",
     .shape = top_shape,
     .saves = {shape_of(0), out(1)},
     .gradient = top_gradient,
     .flops = [](const CostContext& c) { return 8 * c.numel(0); },
     .batch = batching::trailing,
     .jvp = top_tangent});

const Op& kWhere = define_op(
    "Where(input: T; T: numeric|bool = bool) -> (index: int64)",
    {.doc = "The positions of elements that are not zero (or false), in row-major order: [count, rank of `input`].",
     .cpp = "nonzero",
     .traits = {Trait::kSelfAllocating},
     .shape = [](ShapeContext& c) { c.output(PartialShape{kUnknownDim, c.rank(0) < 0 ? kUnknownDim : c.rank(0)}); },
     .no_gradient = "positions are not differentiable"});

const Op& kUnique = define_op(
    "Unique(x: T; T: type, out_idx: index = int32) -> (y: T, idx: out_idx)",
    {.doc = "The different elements of vector `x` in the order in which they come first, and for each element of `x` "
            "the position of its like in `y`. No NaN is like another.",
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           const int64_t size = c.vector(0);
           c.output(0, PartialShape{kUnknownDim});
           c.output(1, PartialShape{size});
         },
     .no_gradient = "which elements are alike is not differentiable; gather(y, idx) is x",
     .types_reason = "nothing compares resources and variants"});

constexpr const char* kNoGradientOfCounts =
    "counts are whole numbers; sums of weights that have a gradient are unsorted_segment_sum";

const Op& kDenseBincount = define_op(
    "DenseBincount(input: Tidx, size: Tidx @host, weights: T; Tidx: index, T: int32|int64|float32|float64, "
    "binary_output: bool = false) -> (output: T)",
    {.doc =
         "How often each of the numbers 0, 1, ..., size - 1 is in vector `input`, or the sum of its weights; of a "
         "matrix, for each row. Larger numbers count nowhere, negative ones are InvalidArgument. Without elements in "
         "`weights` each counts as 1; with `binary_output` the result is 1 where there is one at all. In C++ use "
         "bincount.",
     .primary = "T",
     .shape = bins_shape,
     .no_gradient = kNoGradientOfCounts,
     .batch = bincount_batch});

const Op& kUniqueWithCounts =
    define_op("UniqueWithCounts(x: T; T: type, out_idx: index = int32) -> (y: T, idx: out_idx, count: out_idx)",
              {.doc = "Unique, and how often each of the different elements occurs.",
               .shape =
                   [](ShapeContext& c) {
                     const int64_t size = c.vector(0);
                     c.output(0, PartialShape{kUnknownDim});
                     c.output(1, PartialShape{size});
                     c.output(2, PartialShape{kUnknownDim});
                   },
               .body =
                   [](CompositeContext& c) {
                     const DType type = c.type("out_idx");
                     const auto [y, idx] = unique(c.in(0), {.out_idx = type});
                     const Tensor none = fill({0}, cast(0, type));
                     c.set_out(0, y);
                     c.set_out(1, idx);
                     c.set_out(2, dense_bincount(idx, size(y, {.out_type = type}), none));
                   },
               .in_tensorflow = true,
               .no_gradient = "which elements are alike is not differentiable; gather(y, idx) is x"});

const Op& kUniqueV2 = define_op(
    "UniqueV2(x: T, axis: Taxis @host; T: type, Taxis: index = int64, out_idx: index = int32) -> (y: T, idx: out_idx)",
    {.doc = "The different slices of `x` along the dimension that vector `axis` names, in the order in which they come "
            "first, and for each slice the position of its like in `y`. Without an axis `x` is a vector. No NaN is "
            "like another.",
     .cpp = "unique_slices",
     .traits = {Trait::kSelfAllocating},
     .shape = unique_slices_shape,
     .no_gradient = "which slices are alike is not differentiable; gather(y, idx, axis) is x",
     .types_reason = "nothing compares resources and variants",
     .batch = batching::loop});

const Op& kUniqueWithCountsV2 = define_op(
    "UniqueWithCountsV2(x: T, axis: Taxis @host; T: type, Taxis: index = int64, out_idx: index = int32) -> "
    "(y: T, idx: out_idx, count: out_idx)",
    {.doc = "UniqueV2, and how often each of the different slices occurs.",
     .cpp = "unique_slices_with_counts",
     .shape =
         [](ShapeContext& c) {
           unique_slices_shape(c);
           c.output(2, PartialShape{kUnknownDim});
         },
     .body =
         [](CompositeContext& c) {
           const DType type = c.type("out_idx");
           const auto [y, idx] = unique_slices(c.in(0), c.in(1), {.out_idx = type});
           const Tensor none = fill({0}, cast(0, type));
           // The number of unique elements follows from the largest position.
           const Tensor count = reduce_max(concat({reshape(cast(-1, type), {1}), idx}, 0), {0}) + 1;
           c.set_out(0, y);
           c.set_out(1, idx);
           c.set_out(2, dense_bincount(idx, count, none));
         },
     .in_tensorflow = true,
     .no_gradient = "which slices are alike is not differentiable; gather(y, idx, axis) is x"});

const Op& kListDiff = define_op(
    "ListDiff(x: T, y: T; T: type, out_idx: index = int32) -> (out: T, idx: out_idx)",
    {.doc =
         "The elements of vector `x` that are not in vector `y`, in their order and as often as they occur, and their "
         "positions in `x`. No NaN is like another.",
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           c.vector(0);
           c.vector(1);
           c.output(0, PartialShape{kUnknownDim});
           c.output(1, PartialShape{kUnknownDim});
         },
     .no_gradient = "which elements are left is not differentiable; gather(x, idx) is out",
     .types_reason = "nothing compares resources and variants",
     .batch = batching::loop});

const Op& kBincount =
    define_op("Bincount(arr: int32, size: int32 @host, weights: T; T: int32|int64|float32|float64) -> (bins: T)",
              {.doc = "DenseBincount of all elements of `arr`, whatever its shape.",
               .body =
                   [](CompositeContext& c) {
                     c.set_out(0, dense_bincount(reshape(c.in(0), {-1}), c.in(1), reshape(c.in(2), {-1})));
                   },
               .in_tensorflow = true,
               .no_gradient = kNoGradientOfCounts});

const Op& kHistogramFixedWidth = define_op(
    "HistogramFixedWidth(values: T, value_range: T, nbins: int32 @host; T: int32|int64|float32|float64, "
    "dtype: index = int32) -> (out: dtype)",
    {.doc = "How many of `values` are in each of `nbins` bins of equal width, of which value_range[0] is the lower end "
            "of the first and value_range[1] the upper end of the last. Lesser values count in the first bin, greater "
            "ones in the last; NaN is InvalidArgument.",
     .shape = histogram_shape,
     .no_gradient = "counts are whole numbers",
     .flops = [](const CostContext& c) { return 4 * c.numel(0); },
     .batch = batching::loop});

}  // namespace panto
