#include "panto/lib/ops/numpy/rearranging.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/numpy/axes.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

// The size of a dimension, which must be known.
int64_t known_size(const Tensor& t, int64_t axis, const char* what) {
  const int64_t size = t.partial_shape().dim(static_cast<int>(axis));
  if (size < 0) invalid("{}: expected a known dimension {}, got shape {}", what, axis, t.partial_shape().to_string());
  return size;
}

// Of `count` numbers.
template <class F>
Tensor made(int64_t count, DType dtype, const F& number) {
  if (count < 1) invalid("count: expected at least 1, got {}", count);
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(number(count == 1 ? 0 : double(i) / double(count - 1)));
  return cast(tensor(values), dtype);
}

}  // namespace

Tensor unsqueeze(Arg x, int64_t axis) { return expand_dims(std::move(x), axis); }
Tensor permute(Arg x, const std::vector<int64_t>& order) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(x));
    const int rank = known_rank(t, "permute");
    std::vector<int64_t> counted;
    for (const int64_t axis : order) counted.push_back(normal_axis(axis, rank));
    return transpose(t, counted);
  });
}
Tensor swapaxes(Arg x, int64_t a, int64_t b) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(x));
    const int rank = known_rank(t, "swapaxes");
    return transpose(t, swapped_order(normal_axis(a, rank), normal_axis(b, rank), rank));
  });
}
Tensor moveaxis(Arg x, int64_t from, int64_t to) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(x));
    const int rank = known_rank(t, "moveaxis");
    return transpose(t, moved_order(normal_axis(from, rank), normal_axis(to, rank), rank));
  });
}
Tensor flatten(Arg x, int64_t first, int64_t last) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(x));
    const int rank = known_rank(t, "flatten");
    if (rank == 0) return reshape(t, {1});
    const int64_t from = normal_axis(first, rank), to = normal_axis(last, rank);
    if (from > to) invalid("flatten: expected a first dimension up to the last, got {} and {}", first, last);
    const Tensor dims = sizes_of(t), joined = reduce_prod(part_of(dims, from, to - from + 1), 0, {.keep_dims = true});
    return reshape(t, concat({part_of(dims, 0, from), joined, part_of(dims, to + 1, -1)}, 0));
  });
}
Tensor rot90(Arg x, int64_t times) {
  return from_caller(x.where(), [&]() -> Tensor {
    Tensor t = identity(std::move(x));
    rank_of_at_least(t, 2, "rot90");
    switch ((times % 4 + 4) % 4) {
      case 1: return flip(swapaxes(t, 0, 1), 0);
      case 2: return flip(t, {0, 1});
      case 3: return swapaxes(flip(t, 0), 0, 1);
      default: return t;
    }
  });
}
Tensor fliplr(Arg x) { return flip(std::move(x), 1); }
Tensor flipud(Arg x) { return flip(std::move(x), 0); }

Tensor vstack(const ArgList& values) {
  return from_caller(values.where(), [&]() -> Tensor {
    std::vector<Tensor> rows;
    for (const Tensor& t : values.tensors()) rows.push_back(known_rank(t, "vstack") < 2 ? reshape(t, {1, -1}) : t);
    return concat(rows, 0);
  });
}
Tensor hstack(const ArgList& values) {
  return from_caller(values.where(), [&]() -> Tensor {
    std::vector<Tensor> parts;
    int64_t axis = 0;
    for (const Tensor& t : values.tensors()) {
      const int rank = known_rank(t, "hstack");
      parts.push_back(rank == 0 ? reshape(t, {1}) : t);
      axis = rank < 2 ? 0 : 1;
    }
    return concat(parts, axis);
  });
}
std::vector<Tensor> unstack(Arg x, int64_t axis) {
  return from_caller(x.where(), [&] {
    const Tensor t = identity(std::move(x));
    const int64_t a = normal_axis(axis, rank_of_at_least(t, 1, "unstack"));
    return unpack(t, known_size(t, a, "unstack"), {.axis = a});
  });
}
std::vector<Tensor> unbind(Arg x, int64_t axis) { return unstack(std::move(x), axis); }
std::vector<Tensor> chunk(Arg x, int64_t count, int64_t axis) {
  return from_caller(x.where(), [&] {
    if (count < 1) invalid("chunk: expected a count of at least 1, got {}", count);
    const Tensor t = identity(std::move(x));
    const int64_t a = normal_axis(axis, rank_of_at_least(t, 1, "chunk")), whole = known_size(t, a, "chunk");
    const int64_t each = std::max<int64_t>(1, whole / count + (whole % count == 0 ? 0 : 1));
    std::vector<int64_t> sizes;
    for (int64_t left = whole; left > 0; left -= each) sizes.push_back(std::min(left, each));
    if (sizes.empty()) sizes.push_back(0);
    return split(t, sizes, static_cast<int>(a));
  });
}
Tensor block_diag(const ArgList& matrices) {
  return from_caller(matrices.where(), [&]() -> Tensor {
    if (matrices.tensors().empty()) invalid("block_diag: expected at least one matrix, got none");
    std::vector<Tensor> blocks, widths;
    for (const Tensor& t : matrices.tensors()) {
      const int rank = known_rank(t, "block_diag");
      if (rank > 2) invalid("block_diag: expected matrices, got shape {}", t.partial_shape().to_string());
      blocks.push_back(rank == 2 ? t : reshape(t, {1, -1}));
      widths.push_back(part_of(sizes_of(blocks.back()), 1, 1));
    }
    std::vector<Tensor> rows;
    const Tensor all = concat(widths, 0);
    for (size_t i = 0; i < blocks.size(); ++i) {
      const auto at = static_cast<int64_t>(i);
      const Tensor before = reduce_sum(part_of(all, 0, at)), behind = reduce_sum(part_of(all, at + 1, -1));
      const Tensor none = constant(tensor(std::vector<int64_t>{0, 0}), kInt64);
      rows.push_back(pad(blocks[i], pack({none, pack({before, behind})})));
    }
    return concat(rows, 0);
  });
}
Tensor kron(Arg a, Arg b) {
  return from_caller(a.where(), [&]() -> Tensor {
    Tensor x = identity(std::move(a)), y = identity(std::move(b));
    const int rank = std::max(known_rank(x, "kron"), known_rank(y, "kron"));
    while (known_rank(x, "kron") < rank) x = expand_dims(x, 0);
    while (known_rank(y, "kron") < rank) y = expand_dims(y, 0);
    const Tensor sizes = sizes_of(x) * sizes_of(y);
    for (int64_t k = 0; k < rank; ++k) {
      x = expand_dims(x, 2 * k + 1);
      y = expand_dims(y, 2 * k);
    }
    return reshape(x * y, sizes);
  });
}

Tensor diagonal(Arg x, int64_t offset, int64_t first, int64_t second) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(x));
    const int rank = rank_of_at_least(t, 2, "diagonal");
    const int64_t a = normal_axis(first, rank), b = normal_axis(second, rank);
    if (a == b) invalid("diagonal: expected two dimensions, got {} and {}", first, second);
    std::vector<int64_t> order = other_axes({a, b}, rank);
    order.push_back(a);
    order.push_back(b);
    return matrix_diag_part(transpose(t, order), static_cast<int>(offset), zeros({}, t.dtype()));
  });
}
Tensor diag_embed(Arg x, int64_t offset) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(x));
    return matrix_diag(t, static_cast<int>(offset), -1, -1, zeros({}, t.dtype()));
  });
}

Tensor take(Arg x, Arg positions) {
  return from_caller(x.where(), [&] { return gather(reshape(std::move(x), {-1}), std::move(positions), 0); });
}
Tensor take(Arg x, Arg positions, int64_t axis) { return gather(std::move(x), std::move(positions), axis); }
Tensor index_select(Arg x, int64_t axis, Arg positions) { return gather(std::move(x), std::move(positions), axis); }

Tensor take_along_axis(Arg x, Arg positions, int64_t axis) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(x)), at = identity(std::move(positions));
    const int rank = rank_of_at_least(t, 1, "take_along_axis");
    if (known_rank(at, "take_along_axis") != rank) {
      invalid("take_along_axis: expected positions of rank {}, got shape {}", rank, at.partial_shape().to_string());
    }
    const std::vector<int64_t> there = moved_order(normal_axis(axis, rank), rank - 1, rank);
    const std::vector<int64_t> back = moved_order(rank - 1, normal_axis(axis, rank), rank);
    const Tensor lines = transpose(t, there), wanted = transpose(at, there);
    const Tensor sizes = sizes_of(lines), wanted_sizes = sizes_of(wanted);
    const Tensor outer = broadcast_args(part_of(sizes, 0, rank - 1), part_of(wanted_sizes, 0, rank - 1));
    const Tensor length = part_of(sizes, rank - 1, 1);
    const Tensor all = broadcast_to(lines, concat({outer, length}, 0));
    const Tensor places = broadcast_to(wanted, concat({outer, part_of(wanted_sizes, rank - 1, 1)}, 0));
    const Tensor counted = select(places < 0, places + cast(length, places.dtype()), places);
    return transpose(gather(all, counted, rank - 1, {.batch_dims = rank - 1}), back);
  });
}

Tensor index_add(Arg x, int64_t axis, Arg positions, Arg values) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(x));
    const int rank = rank_of_at_least(t, 1, "index_add");
    const std::vector<int64_t> there = moved_order(normal_axis(axis, rank), 0, rank);
    const std::vector<int64_t> back = moved_order(0, normal_axis(axis, rank), rank);
    const Tensor at = expand_dims(std::move(positions), -1);
    return transpose(tensor_scatter_add(transpose(t, there), at, transpose(std::move(values), there)), back);
  });
}

Tensor masked_select(Arg x, Arg mask) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(x)), m = identity(std::move(mask));
    const Tensor sizes = broadcast_args(sizes_of(t), sizes_of(m));
    const Tensor places = nonzero(reshape(broadcast_to(m, sizes), {-1}));
    return gather_nd(reshape(broadcast_to(t, sizes), {-1}), places);
  });
}
Tensor masked_fill(Arg x, Arg mask, Arg value) {
  return from_caller(x.where(), [&] { return select(std::move(mask), std::move(value), std::move(x)); });
}
Tensor argwhere(Arg condition) { return nonzero(std::move(condition)); }
Tensor isin(Arg x, Arg values) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(x)), flat = reshape(std::move(values), {-1});
    // NaN is equal to nothing, and has no place in the order that a search relies on.
    const Tensor sorted = sort(masked_select(flat, flat == flat));
    return logical_and(searchsorted(sorted, t, {.right = true}) > searchsorted(sorted, t), t == t);
  });
}

Tensor full_like(Arg x, Arg value) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(x));
    return fill(shape(t), cast(std::move(value), t.dtype()));
  });
}
Tensor rand_like(Arg x) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(x));
    return random_uniform(shape(t), {.dtype = t.dtype()});
  });
}
Tensor randn_like(Arg x) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(x));
    return random_normal(shape(t), {.dtype = t.dtype()});
  });
}
Tensor logspace(double start, double stop, int64_t count, double base, DType dtype) {
  return made(count, dtype, [&](double part) { return std::pow(base, start + part * (stop - start)); });
}
Tensor geomspace(double start, double stop, int64_t count, DType dtype) {
  if (!(start * stop > 0)) invalid("geomspace: expected numbers of one sign, got {} and {}", start, stop);
  return made(count, dtype, [&](double part) { return part == 1 ? stop : start * std::pow(stop / start, part); });
}
Tensor tri(int64_t rows, std::optional<int64_t> columns, int64_t k) {
  return tril(ones({rows, columns.value_or(rows)}), k);
}
Tensor vander(Arg x, std::optional<int64_t> count, bool increasing) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(x));
    const Tensor powers = cast(count ? range(int64_t{0}, *count, int64_t{1}) : range(0, size(t), 1), t.dtype());
    const Tensor all = pow(expand_dims(t, -1), powers);
    return increasing ? all : reverse(all, {-1});
  });
}

}  // namespace panto
