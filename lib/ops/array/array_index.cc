// Gathering by indices, one-hot vectors.

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/lookup.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

using Dims = SmallVector<int64_t, 8>;

PartialShape to_shape(const Dims& dims) { return PartialShape(std::span<const int64_t>(dims.data(), dims.size())); }

int batch_dims_of(int64_t batch_dims, int index_rank) {
  if (batch_dims < -index_rank || batch_dims > index_rank) {
    invalid("batch_dims: expected one in [{}, {}], got {}", -index_rank, index_rank, batch_dims);
  }
  return static_cast<int>(batch_dims < 0 ? batch_dims + index_rank : batch_dims);
}

void gather_shape(ShapeContext& c) {
  const std::optional<int64_t> axis_value = known_scalar(c, 2);
  const PartialShape& params = c.shape(0);
  const PartialShape& indices = c.shape(1);
  c.expect_rank_at_least(0, 1);
  if (!params.known_rank() || !indices.known_rank()) return c.output(PartialShape::unknown());
  const int batch = batch_dims_of(c.integer("batch_dims"), indices.rank());
  if (batch >= params.rank()) invalid("batch_dims: expected less than {}, got {}", params.rank(), batch);
  const int rank = params.rank() - 1 + indices.rank() - batch;
  if (!axis_value) return c.output(PartialShape::of_rank(rank));
  const int axis = c.axis(*axis_value, params.rank());
  if (axis < batch) invalid("axis: expected at least {}, the number of batch dimensions, got {}", batch, axis);
  Dims dims;
  for (int i = 0; i < axis; ++i) {
    dims.push_back(i < batch ? c.merge(params.dim(i), indices.dim(i), "batch dimensions of params and indices")
                             : params.dim(i));
  }
  for (int i = batch; i < indices.rank(); ++i) dims.push_back(indices.dim(i));
  for (int i = axis + 1; i < params.rank(); ++i) dims.push_back(params.dim(i));
  c.output(to_shape(dims));

  if (!c.symbolic() || params.rank() != 1 || indices.rank() > 1) return;
  const std::optional<PartialValues> from = c.values(0);
  const std::optional<PartialValues> at = c.values(1);
  if (!from || !at) return;
  PartialValues values;
  for (const std::optional<int64_t>& i : *at) {
    if (i && (*i < 0 || *i >= params.dim(0))) return;  // the kernel reports it
    values.push_back(i ? (*from)[static_cast<size_t>(*i)] : std::nullopt);
  }
  c.output_values(0, std::move(values));
}

// The product of some dimensions of input 0, as a number if they are known, else as a recorded int32 scalar.
struct Product {
  int64_t known = 1;
  Tensor recorded;
};
Product product_of(GradContext& g, const std::vector<int64_t>& axes) {
  Product product;
  for (int64_t axis : axes) {
    const int64_t d = g.in_shape(0).dim(static_cast<int>(axis));
    if (d < 0) return {.known = -1, .recorded = reduce_prod(gather(g.shape(0), axes, 0))};
    product.known = checked_mul(product.known, d);
  }
  return product;
}

std::vector<int64_t> sequence(int64_t first, int64_t last) {
  std::vector<int64_t> list;
  for (int64_t i = first; i < last; ++i) list.push_back(i);
  return list;
}

void append(std::vector<int64_t>& list, const std::vector<int64_t>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

// The gradient for unknown ranks or axis. Without batch dimensions, dy is [O, J, I] and params is [O, K, I], whatever
// ranks and axis turn out to be.
Tensor recorded_gather_gradient(GradContext& g) {
  if (g.integer("batch_dims") != 0) {
    fail(Code::kUnimplemented,
         "gradient of GatherV2 with batch_dims: expected ranks and an axis that the trace knows, got unknown ones");
  }
  const Tensor dims = cast(g.shape(0), kInt64);
  const Tensor axis = reshape(floor_mod(cast(g.in(2), kInt64), size(dims)), {1});
  const Tensor outer = reduce_prod(slice(dims, {0}, axis));
  const Tensor inner = reduce_prod(slice(dims, add(axis, 1), {-1}));
  const Tensor rows = transpose(reshape(g.dy(), pack({outer, size(g.in(1), {.out_type = kInt64}), inner})), {1, 0, 2});
  const Tensor sums = unsorted_segment_sum(rows, reshape(g.in(1), {-1}), reshape(gather(dims, axis, 0), Shape{}));
  return reshape(transpose(sums, {1, 0, 2}), dims);
}

// A segment sum. Let B be the batch dimensions, O those of params before the axis, J those of the indices, I those of
// params after the axis: dy is [B, O, J, I] and params is [B, O, K, I]. J is moved before O, each batch gets its own
// segments, and the sums, [B K, O, I], are transposed back.
void gather_gradient(GradContext& g) {
  if (!g.needs(0)) return;
  const PartialShape& params = g.in_shape(0);
  const PartialShape& index_shape = g.in(1).partial_shape();
  const KnownIntegers axis_value(g.in(2));
  if (!params.known_rank() || !index_shape.known_rank() || !axis_value.counted() || !axis_value.complete()) {
    return g.set(0, recorded_gather_gradient(g));
  }
  const int rank = params.rank();
  const int index_rank = index_shape.rank();
  const int64_t axis = axis_value[0] < 0 ? axis_value[0] + rank : axis_value[0];
  const int64_t batch = batch_dims_of(g.integer("batch_dims"), index_rank);
  const int64_t inner = index_rank - batch;  // dimensions in J
  if (axis == 0 && batch == 0 && g.takes_slices()) {
    const Product count = product_of(g, {0});
    const Tensor num_rows = count.known >= 0 ? constant(tensor(count.known), kInt64) : count.recorded;
    if (auto rows = rows_of(g.dy(), g.in(1), num_rows)) return g.set_slices(std::move(*rows));
  }

  Tensor rows = g.dy();
  if (axis > batch) {
    std::vector<int64_t> perm = sequence(0, batch);
    append(perm, sequence(axis, axis + inner));
    append(perm, sequence(batch, axis));
    append(perm, sequence(axis + inner, rank - 1 + inner));
    rows = transpose(rows, perm);
  }
  Tensor segments = g.in(1);
  std::vector<int64_t> segment_axes = sequence(0, batch);
  if (batch > 0) {
    const Product batches = product_of(g, segment_axes);
    const Product each = product_of(g, {axis});
    const Tensor numbers = batches.known >= 0 ? range(0, batches.known, 1) : range(0, batches.recorded, 1);
    const Tensor offsets = cast(each.known >= 0 ? mul(numbers, each.known) : mul(numbers, each.recorded), kInt64);
    std::vector<int64_t> spread(static_cast<size_t>(index_rank), 1);
    Tensor shaped;
    if (batch == 1) {
      spread[0] = -1;
      shaped = reshape(offsets, spread);
    } else {
      const Tensor batch_shape = slice(g.shape(0), {0}, {batch});
      shaped = reshape(offsets, concat({batch_shape, fill({inner}, 1)}, 0));
    }
    segments = add(cast(segments, kInt64), shaped);
  }
  segment_axes.push_back(axis);
  const Product count = product_of(g, segment_axes);
  Tensor sums = count.known >= 0 ? unsorted_segment_sum(rows, segments, count.known)
                                 : unsorted_segment_sum(rows, segments, count.recorded);
  if (axis == 0) return g.set(0, sums);

  std::vector<int64_t> order = segment_axes;  // positions of [B, K, O, I] among params' dimensions
  append(order, sequence(batch, axis));
  append(order, sequence(axis + 1, rank));
  if (params.fully_known()) {
    std::vector<int64_t> dims;
    for (int64_t i : order) dims.push_back(params.dim(static_cast<int>(i)));
    sums = reshape(sums, dims);
  } else {
    sums = reshape(sums, gather(g.shape(0), order, 0));
  }
  if (axis > batch) {
    std::vector<int64_t> back = sequence(0, batch);
    append(back, sequence(batch + 1, axis + 1));
    back.push_back(batch);
    append(back, sequence(axis + 1, rank));
    sums = transpose(sums, back);
  }
  g.set(0, sums);
}

void one_hot_shape(ShapeContext& c) {
  const PartialShape& indices = c.shape(0);
  const std::optional<int64_t> depth = known_scalar(c, 1);
  c.expect_scalar(2);
  c.expect_scalar(3);
  if (depth && *depth < 0) invalid("depth: expected at least 0, got {}", *depth);
  const int64_t axis = c.integer("axis");
  if (axis < -1) invalid("axis: expected at least -1, got {}", axis);
  if (!indices.known_rank()) return c.output(PartialShape::unknown());
  const int at = c.axis(axis, indices.rank() + 1);
  Dims dims;
  for (int i = 0; i <= indices.rank(); ++i) {
    dims.push_back(i == at ? depth.value_or(kUnknownDim) : indices.dim(i < at ? i : i - 1));
  }
  c.output(to_shape(dims));
}

// ---- Inside vmap ----------------------------------------------------------------------------------------------------

void gather_batch(BatchContext& c) {
  if (c.batched(2) || c.rank(0) < 0 || c.rank(1) < 0) return c.loop();
  const int batch = batch_dims_of(c.integer("batch_dims"), c.rank(1));
  const auto axis_value = all_integers(c.in(2));
  if (!axis_value) return c.loop();
  const int64_t axis = (*axis_value)[0] < 0 ? (*axis_value)[0] + c.rank(0) : (*axis_value)[0];
  if (!c.batched(1) && batch == 0) return c.set_out(0, gather(c.in(0), c.in(1), axis + 1));
  if (!c.batched(0) && batch == 0) {
    const Tensor taken = gather(c.in(0), c.in(1), axis);
    std::vector<int64_t> perm = {axis};  // the batch's dimension is at the position of the indices
    append(perm, sequence(0, axis));
    append(perm, sequence(axis + 1, c.rank(0) + c.rank(1)));
    return c.set_out(0, axis == 0 ? taken : transpose(taken, perm));
  }
  c.set_out(0, gather(c.front(0), c.front(1), axis + 1, {.batch_dims = batch + 1}));
}

void one_hot_batch(BatchContext& c) {
  if (c.batched(1) || c.batched(2) || c.batched(3)) return c.loop();
  const int64_t axis = c.integer("axis");
  c.set_out(0, one_hot(c.in(0), c.in(1), c.in(2), c.in(3), {.axis = axis < 0 ? axis : axis + 1}));
}

void unravel_shape(ShapeContext& c) {
  const PartialShape& indices = c.shape(0);
  const int64_t rank = c.vector(1);
  const KnownIntegers dims(c, 1);
  for (int64_t i = 0; dims.counted() && i < dims.count(); ++i) {
    if (dims.known(i) && dims[i] < 1) invalid("dims[{}]: expected at least 1, got {}", i, dims[i]);
  }
  if (!indices.known_rank()) return c.output(PartialShape::unknown());
  if (indices.rank() > 1) invalid("indices: expected a scalar or a vector, got shape {}", indices.to_string());
  indices.rank() == 0 ? c.output({rank}) : c.output({rank, indices.dim(0)});
}

}  // namespace

const Op& kGatherV2 = define_op(
    "GatherV2(params: Tparams, indices: Tindices, axis: Taxis @host; batch_dims: int = 0, Tparams: type, "
    "Tindices: int16|int32|int64, Taxis: index) -> (output: Tparams)",
    {.doc = "The slices of `params` along dimension `axis` whose numbers are in `indices`. The first `batch_dims` "
            "dimensions of both are the same, and each batch is looked up in its own slice. An index out of range is "
            "an error.",
     .traits = {Trait::kDataMovement},
     .primary = "Tparams",
     .shape = gather_shape,
     .saves = {shape_of(0), in(1), in(2)},
     .gradient = gather_gradient,
     .batch = gather_batch});

const Op& kOneHot = define_op(
    "OneHot(indices: TI, depth: int32 @host, on_value: T, off_value: T; axis: int = -1, T: type, "
    "TI: uint8|int8|int32|int64 = int64) -> (output: T)",
    {.doc =
         "For each index i a vector of length `depth` along a new dimension `axis` (-1: the last one): `on_value` at "
         "position i and `off_value` elsewhere; only that where i is not in [0, depth).",
     .primary = "T",
     .shape = one_hot_shape,
     .no_gradient = "its values say which, not how much; TensorFlow has none either",
     .batch = one_hot_batch});

const Op& kUnravelIndex = define_op(
    "UnravelIndex(indices: Tidx, dims: Tidx; Tidx: index = int32) -> (output: Tidx)",
    {.doc =
         "What positions in an array of shape `dims`, whose elements are counted in row-major order, are as one index "
         "for each dimension: row k of the result has those of dimension k. A position out of range is an error.",
     .shape = unravel_shape,
     .no_gradient = "integers have none",
     .batch = batching::loop});

}  // namespace panto
