// Ops that join and split tensors.

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/create.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

using Dims = SmallVector<int64_t, 8>;

PartialShape to_shape(const Dims& dims) { return PartialShape(std::span<const int64_t>(dims.data(), dims.size())); }

// `from` with dimension `axis` changed.
PartialShape with_dim(const PartialShape& from, int axis, int64_t dim) {
  Dims dims;
  for (int i = 0; i < from.rank(); ++i) dims.push_back(i == axis ? dim : from.dim(i));
  return to_shape(dims);
}

// The merged shape of inputs [0, n), which must be equal except in dimension `except`. Of unknown rank if all inputs
// are.
PartialShape common_shape(const ShapeContext& c, int n, int except) {
  Dims dims;
  int first = -1;  // the input that set the rank
  for (int i = 0; i < n; ++i) {
    const PartialShape& s = c.shape(i);
    if (!s.known_rank()) continue;
    if (first < 0) {
      first = i;
      for (int64_t d : s.dims()) dims.push_back(d);
      continue;
    }
    if (s.rank() != static_cast<int>(dims.size())) {
      invalid("rank of values[{}]: expected {}, that of values[{}], got {}", i, dims.size(), first, s.rank());
    }
    for (int k = 0; k < s.rank(); ++k) {
      int64_t& d = dims[static_cast<size_t>(k)];
      if (k == except || s.dim(k) < 0) continue;
      if (d >= 0 && s.dim(k) != d) {
        invalid("dimension {} of values[{}]: expected {}, that of values[{}], got {}", k, i, d, first, s.dim(k));
      }
      d = s.dim(k);
    }
  }
  return first < 0 ? PartialShape::unknown() : to_shape(dims);
}

// Sets the output's known values: those of inputs [0, n), concatenated.
void join_values(ShapeContext& c, int n) {
  PartialValues all;
  for (int i = 0; i < n; ++i) {
    const int64_t count = c.shape(i).numel();
    if (count < 0 || static_cast<int64_t>(all.size()) + count > kMaxPartialValues) return;
    const std::optional<PartialValues> part = c.values(i);
    for (int64_t k = 0; k < count; ++k) all.push_back(part ? (*part)[static_cast<size_t>(k)] : std::nullopt);
  }
  c.output_values(0, std::move(all));
}

bool carries_values(const ShapeContext& c, const PartialShape& shape) {
  return c.symbolic() && dtypes::kInteger.contains(c.in(0).dtype()) && shape.rank() <= 1;
}

void concat_shape(ShapeContext& c) {
  const int n = c.num_inputs() - 1;
  const std::optional<int64_t> axis = known_scalar(c, n);
  int rank = -1;
  for (int i = 0; i < n && rank < 0; ++i) rank = c.rank(i);
  if (rank == 0) invalid("values: expected a rank of at least 1, got scalars");
  if (rank < 0) return c.output(PartialShape::unknown());
  if (!axis) return c.output(PartialShape::of_rank(rank));
  const int along = c.axis(*axis, rank);
  const PartialShape common = common_shape(c, n, along);
  int64_t total = 0;
  for (int i = 0; i < n && total >= 0; ++i) {
    const int64_t d = c.dim(i, along);
    total = d < 0 ? kUnknownDim : checked_add(total, d, "dimension");
  }
  const PartialShape result = with_dim(common, along, total);
  if (carries_values(c, result)) join_values(c, n);
  c.output(result);
}

// Splits dy along an axis that is only known when the graph runs. `along` is 1 for that axis and 0 for other
// dimensions.
void recorded_concat_gradient(GradContext& g) {
  const int n = g.num_inputs() - 1;
  Tensor begin = zeros_like(cast(g.shape(0), kInt64));
  const Tensor rank = size(begin);
  const Tensor along = one_hot(floor_mod(cast(g.in(n), kInt32), rank), rank, 1, 0);
  for (int i = 0; i < n; ++i) {
    const Tensor dims = cast(g.shape(i), kInt64);
    if (g.needs(i)) g.set(i, slice(g.dy(), begin, dims));
    if (i + 1 < n) begin = add(begin, mul(dims, along));
  }
}

// Splits dy along the axis. The parts' begins follow from the inputs' shapes; from the first unknown shape on, they are
// recorded.
void concat_gradient(GradContext& g) {
  const int n = g.num_inputs() - 1;
  const KnownIntegers axis(g.in(n));
  int rank = g.dy().partial_shape().rank();
  for (int i = 0; i < n && rank < 0; ++i) rank = g.in_shape(i).rank();
  if (rank < 0 || !axis.counted() || !axis.complete()) {
    return recorded_concat_gradient(g);
  }
  const auto along = static_cast<size_t>(axis[0] < 0 ? axis[0] + rank : axis[0]);
  std::vector<int64_t> begin(static_cast<size_t>(rank), 0);
  Tensor recorded_begin;
  for (int i = 0; i < n; ++i) {
    const PartialShape& part = g.in_shape(i);
    const bool known = part.fully_known();
    const std::vector<int64_t> dims(part.dims().begin(), part.dims().end());
    const Tensor size = known && !recorded_begin.defined() ? Tensor() : cast(g.shape(i), kInt64);
    if (g.needs(i)) {
      g.set(i, !size.defined()            ? slice(g.dy(), begin, dims)
               : recorded_begin.defined() ? slice(g.dy(), recorded_begin, size)
                                          : slice(g.dy(), begin, size));
    }
    if (!size.defined()) {
      begin[along] += dims[along];
      continue;
    }
    std::vector<int64_t> only(static_cast<size_t>(rank), 0);
    only[along] = 1;
    const Tensor step = mul(size, only);
    recorded_begin = recorded_begin.defined() ? add(recorded_begin, step) : add(step, begin);
  }
}

void pack_shape(ShapeContext& c) {
  const int n = c.num_inputs();
  const PartialShape common = common_shape(c, n, -1);
  if (!common.known_rank()) return c.output(PartialShape::unknown());
  const int axis = c.axis(c.integer("axis"), common.rank() + 1);
  Dims dims;
  for (int i = 0; i <= common.rank(); ++i) dims.push_back(i == axis ? n : common.dim(i < axis ? i : i - 1));
  c.output(to_shape(dims));
  if (!carries_values(c, common)) return;
  const int64_t each = common.numel();
  if (axis == 0) return join_values(c, n);
  if (each < 0 || each * n > kMaxPartialValues) return;
  // Vectors packed as columns.
  PartialValues values(static_cast<size_t>(each * n));
  for (int i = 0; i < n; ++i) {
    const std::optional<PartialValues> part = c.values(i);
    for (int64_t k = 0; k < each && part; ++k) values[static_cast<size_t>(k * n + i)] = (*part)[static_cast<size_t>(k)];
  }
  c.output_values(0, std::move(values));
}

void unpack_shape(ShapeContext& c) {
  const PartialShape& from = c.shape(0);
  const int64_t num = c.integer("num");
  if (!from.known_rank()) return;
  if (from.rank() == 0) invalid("value: expected a rank of at least 1, got a scalar");
  const int axis = c.axis(c.integer("axis"), from.rank());
  if (from.dim(axis) >= 0 && from.dim(axis) != num) {
    invalid("num: expected {}, dimension {} of value, got {}", from.dim(axis), axis, num);
  }
  Dims dims;
  for (int i = 0; i < from.rank(); ++i) {
    if (i != axis) dims.push_back(from.dim(i));
  }
  const PartialShape each = to_shape(dims);
  for (int k = 0; k < c.num_outputs(); ++k) c.output(k, each);
  if (!carries_values(c, from)) return;
  const std::optional<PartialValues> values = c.values(0);
  for (int k = 0; values && k < c.num_outputs(); ++k) c.output_values(k, {(*values)[static_cast<size_t>(k)]});
}

void split_shape(ShapeContext& c) {
  const std::optional<int64_t> dim = known_scalar(c, 0);
  const PartialShape& from = c.shape(1);
  const int64_t parts = c.integer("num_split");
  if (!from.known_rank()) return;
  if (from.rank() == 0) invalid("value: expected a rank of at least 1, got a scalar");
  if (!dim) {
    for (int k = 0; k < c.num_outputs(); ++k) c.output(k, PartialShape::of_rank(from.rank()));
    return;
  }
  const int axis = c.axis(*dim, from.rank(), "split_dim");
  const int64_t size = from.dim(axis);
  if (size >= 0 && size % parts != 0) {
    invalid("num_split: expected a divisor of {}, dimension {} of value, got {}", size, axis, parts);
  }
  const int64_t each = size < 0 ? kUnknownDim : size / parts;
  const PartialShape part = with_dim(from, axis, each);
  for (int k = 0; k < c.num_outputs(); ++k) c.output(k, part);
  if (!c.symbolic() || from.rank() != 1 || each < 0) return;
  const std::optional<PartialValues> values = c.values(1);
  for (int k = 0; values && k < c.num_outputs(); ++k) {
    const auto first = values->begin() + k * each;
    c.output_values(k, PartialValues(first, first + each));
  }
}

void split_v_shape(ShapeContext& c) {
  const PartialShape& from = c.shape(0);
  const int parts = c.num_outputs();
  const int64_t given = c.vector(1);
  if (given >= 0 && given != parts) invalid("size_splits: expected {} sizes, num_split, got {}", parts, given);
  const std::optional<int64_t> dim = known_scalar(c, 2);
  if (!from.known_rank()) return;
  if (from.rank() == 0) invalid("value: expected a rank of at least 1, got a scalar");
  for (int k = 0; k < parts; ++k) c.output(k, PartialShape::of_rank(from.rank()));
  if (!dim) return;
  const int axis = c.axis(*dim, from.rank(), "split_dim");
  const int64_t whole = from.dim(axis);
  const KnownIntegers sizes(c, 1, parts);
  int64_t sum = 0;
  int rest = -1;  // the part that gets the rest
  for (int k = 0; k < parts && sizes.complete(); ++k) {
    if (sizes[k] < -1) invalid("size_splits[{}]: expected at least -1, got {}", k, sizes[k]);
    if (sizes[k] >= 0) {
      sum = checked_add(sum, sizes[k], "sum of size_splits");
    } else if (rest >= 0) {
      invalid("size_splits: expected at most one -1, got them at {} and {}", rest, k);
    } else {
      rest = k;
    }
  }
  if (sizes.complete() && whole >= 0 && (rest < 0 ? sum != whole : sum > whole)) {
    invalid("size_splits: expected a sum of {}{}, dimension {} of value, got {}", rest < 0 ? "" : "at most ", whole,
            axis, sum);
  }
  for (int k = 0; k < parts; ++k) {
    const int64_t left = sizes.complete() && whole >= 0 ? whole - sum : kUnknownDim;
    const int64_t size = !sizes.known(k) ? kUnknownDim : sizes[k] < 0 ? left : sizes[k];
    c.output(k, with_dim(from, axis, size));
  }
}

void split_v_gradient(GradContext& g) {
  const int n = g.num_outputs();
  std::vector<Tensor> parts, none;
  for (int k = 0; k < n; ++k) {
    if (!g.has_dy(k) && none.empty()) none = split_v(zeros(g.shape(0), g.in_type(0)), g.in(1), g.in(2), n);
    parts.push_back(g.has_dy(k) ? g.dy(k) : none[static_cast<size_t>(k)]);
  }
  g.set(0, n == 1 ? parts[0] : concat(parts, g.in(2)));
}

// The gradients of all outputs, which have the same shape; zeros for outputs without a gradient.
std::vector<Tensor> all_gradients(const GradContext& g) {
  std::vector<Tensor> all;
  int some = 0;
  while (!g.has_dy(some)) ++some;
  for (int k = 0; k < g.num_outputs(); ++k) all.push_back(g.has_dy(k) ? g.dy(k) : zeros_like(g.dy(some)));
  return all;
}

// ---- Inside vmap ----------------------------------------------------------------------------------------------------

int64_t behind_batch(int64_t axis) { return axis < 0 ? axis : axis + 1; }

void concat_batch(BatchContext& c) {
  const int n = c.num_inputs() - 1;
  if (c.batched(n) || c.rank(0) < 0) return c.loop();
  std::vector<Tensor> parts;
  for (int i = 0; i < n; ++i) parts.push_back(c.front(i));
  c.set_out(0, concat(parts, axes_behind_batch(c.in(n), c.rank(0))));
}

void pack_batch(BatchContext& c) { c.set_out(0, pack(c.fronts(), {.axis = behind_batch(c.integer("axis"))})); }

void unpack_batch(BatchContext& c) {
  const std::vector<Tensor> parts = unpack(c.in(0), c.integer("num"), {.axis = behind_batch(c.integer("axis"))});
  for (size_t k = 0; k < parts.size(); ++k) c.set_out(static_cast<int>(k), parts[k]);
}

void split_batch(BatchContext& c) {
  if (c.batched(0) || c.rank(1) < 0) return c.loop();
  const std::vector<Tensor> parts = split(axes_behind_batch(c.in(0), c.rank(1)), c.in(1), c.integer("num_split"));
  for (size_t k = 0; k < parts.size(); ++k) c.set_out(static_cast<int>(k), parts[k]);
}

void split_v_batch(BatchContext& c) {
  if (c.batched(1) || c.batched(2) || c.rank(0) < 0) return c.loop();
  const std::vector<Tensor> parts =
      split_v(c.in(0), c.in(1), axes_behind_batch(c.in(2), c.rank(0)), c.integer("num_split"));
  for (size_t k = 0; k < parts.size(); ++k) c.set_out(static_cast<int>(k), parts[k]);
}

// The shape of each input, one row; together the inputs have the shape in attribute `shape`. Checks what is known of
// the inputs.
template <class Context>
PartialShape parallel_row(const Context& c) {
  const PartialShape& whole = c.shape_attr("shape");
  if (!whole.fully_known() || whole.rank() == 0) {
    invalid("shape: expected a known one of rank 1 or more, got {}", whole.to_string());
  }
  if (whole.dim(0) != c.num_inputs()) {
    invalid("dimension 0 of shape: expected {}, the number of values, got {}", c.num_inputs(), whole.dim(0));
  }
  const PartialShape row = with_dim(whole, 0, 1);
  for (int i = 0; i < c.num_inputs(); ++i) {
    const PartialShape& value = c.in(i).partial_shape();
    if (!value.compatible_with(row)) {
      invalid("values[{}]: expected shape {}, got {}", i, row.to_string(), value.to_string());
    }
  }
  return row;
}

}  // namespace

const Op& kConcatV2 =
    define_op("ConcatV2(values: N*T, axis: Tidx @host; N: int >= 2, T: type, Tidx: index = int32) -> (output: T)",
              {.doc = "The tensors one after the other along `axis`; their other dimensions are the same.",
               .traits = {Trait::kDataMovement},
               .shape = concat_shape,
               .saves = {shape_of(0), in(1)},
               .gradient = concat_gradient,
               .batch = concat_batch});

const Op& kSplit =
    define_op("Split(split_dim: int32 @host, value: T; num_split: int >= 1, T: type) -> (output: num_split*T)",
              {.doc = "`value` cut into `num_split` equal parts along dimension `split_dim`.",
               .traits = {Trait::kDataMovement, Trait::kSelfAllocating},
               .shape = split_shape,
               .saves = {in(0)},
               .gradient =
                   [](GradContext& g) {
                     const std::vector<Tensor> parts = all_gradients(g);
                     g.set(1, parts.size() == 1 ? parts[0] : concat(parts, g.in(0)));
                   },
               .batch = split_batch});

const Op& kSplitV = define_op(
    "SplitV(value: T, size_splits: Tlen @host, split_dim: int32 @host; num_split: int >= 1, T: type,"
    " Tlen: int8|int32|int64 = int64) -> (output: num_split*T)",
    {.doc = "`value` cut into `num_split` parts of these sizes along dimension `split_dim`. One size may be -1: what "
            "is left.",
     .traits = {Trait::kDataMovement, Trait::kSelfAllocating},
     .shape = split_v_shape,
     .saves = {shape_of(0), in(1), in(2)},
     .gradient = split_v_gradient,
     .batch = split_v_batch});

const Op& kPack = define_op("Pack(values: N*T; N: int >= 1, T: type, axis: int = 0) -> (output: T)",
                            {.doc = "Tensors of one shape, stacked along a new dimension `axis` of the result.",
                             .traits = {Trait::kDataMovement},
                             .shape = pack_shape,
                             .gradient =
                                 [](GradContext& g) {
                                   const int n = g.num_inputs();
                                   const auto parts = unpack(g.dy(), n, {.axis = g.integer("axis")});
                                   for (int i = 0; i < n; ++i) g.set(i, parts[static_cast<size_t>(i)]);
                                 },
                             .batch = pack_batch});

const Op& kUnpack =
    define_op("Unpack(value: T; num: int >= 0, T: type, axis: int = 0) -> (output: num*T)",
              {.doc = "The `num` slices of `value` along dimension `axis`, which they lack.",
               .traits = {Trait::kDataMovement, Trait::kSelfAllocating},
               .shape = unpack_shape,
               .gradient = [](GradContext& g) { g.set(0, pack(all_gradients(g), {.axis = g.integer("axis")})); },
               .batch = unpack_batch});

const Op& kParallelConcat =
    define_op("ParallelConcat(values: N*T; N: int >= 1, T: type, shape: shape) -> (output: T)",
              {.doc = "`values`, whose dimension 0 is 1, one after the other along it. `shape` is that of the result.",
               .shape =
                   [](ShapeContext& c) {
                     parallel_row(c);
                     c.output(c.shape_attr("shape"));
                   },
               .body =
                   [](CompositeContext& c) {
                     const PartialShape row = parallel_row(c);
                     std::vector<Tensor> rows;
                     for (int i = 0; i < c.num_inputs(); ++i) {
                       const bool known = c.in(i).partial_shape().fully_known();
                       rows.push_back(known ? c.in(i) : ensure_shape(c.in(i), row));
                     }
                     c.set_out(0, rows.size() == 1 ? identity(rows[0]) : concat(rows, 0));
                   },
               .in_tensorflow = true});

}  // namespace panto
