#include "panto/lib/ops/arrays.h"

#include <algorithm>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/numpy/axes.h"
#include "panto/lib/ops/operators.h"

namespace panto {
namespace {

// Values and positions sorted along the last dimension, in descending order.
TopKOutputs ordered(const Tensor& x) {
  const PartialShape& shape = x.partial_shape();
  if (shape.known_rank() && shape.rank() == 0) invalid("sort: expected at least one dimension, got a scalar");
  if (shape.known_rank() && shape.dim(shape.rank() - 1) >= 0) return top_k(x, shape.dim(shape.rank() - 1));
  const Tensor dims = panto::shape(x, {.out_type = kInt64});
  return top_k(x, gather(dims, size(dims, {.out_type = kInt64}) - int64_t{1}, 0));
}

Tensor last_reversed(const Tensor& x) { return reverse(x, {-1}); }

}  // namespace

Tensor arange(Arg stop) {
  // The type is that of the end: arange(5) gives integers, arange(5.f) floats.
  const Arg::Where where = stop.where();
  return range(Arg(0, where), std::move(stop), Arg(1));
}
Tensor arange(Arg start, Arg stop) { return range(std::move(start), std::move(stop), 1); }
Tensor arange(Arg start, Arg stop, Arg step) { return range(std::move(start), std::move(stop), std::move(step)); }

Tensor full(Arg shape, Arg value) { return fill(std::move(shape), std::move(value)); }
Tensor randn(Arg shape, const RandomNormalOptions& options) { return random_normal(std::move(shape), options); }
Tensor rand(Arg shape, const RandomUniformOptions& options) { return random_uniform(std::move(shape), options); }

Tensor transpose(Arg x) {
  return from_caller(x.where(), [&] {
    const Tensor t = identity(std::move(x));
    return transpose(t, range(rank(t) - 1, -1, -1));
  });
}

Tensor stack(const ArgList& values, int64_t axis) { return pack(values, {.axis = axis}); }
Tensor cat(const ArgList& values, int64_t axis) { return concat(values, axis); }

Tensor repeat(Arg x, int64_t times) {
  return from_caller(x.where(), [&] { return repeat(reshape(std::move(x), {-1}), times, 0); });
}
Tensor repeat(Arg x, int64_t times, int64_t axis) {
  return from_caller(x.where(), [&]() -> Tensor {
    if (times < 0) invalid("times: expected at least 0, got {}", times);
    const Tensor t = identity(std::move(x));
    const int rank = known_rank(t, "repeat");
    const int64_t a = normal_axis(axis, rank);
    std::vector<int64_t> multiples(static_cast<size_t>(rank) + 1, 1);
    multiples[static_cast<size_t>(a) + 1] = times;
    const Tensor apart = tile(expand_dims(t, a + 1), multiples);
    const Tensor dims = panto::shape(t, {.out_type = kInt64});
    std::vector<int64_t> factors(static_cast<size_t>(rank), 1);
    factors[static_cast<size_t>(a)] = times;
    return reshape(apart, dims * factors);
  });
}

Tensor where(Arg condition, Arg x, Arg y) { return select(std::move(condition), std::move(x), std::move(y)); }
Tensor where(Arg condition) { return nonzero(std::move(condition)); }
Tensor clip(Arg x, Arg low, Arg high) {
  return from_caller(x.where(), [&] { return minimum(maximum(std::move(x), std::move(low)), std::move(high)); });
}

namespace {

// `x` with zeros in the band of diagonals from -lower to upper; a negative bound means no limit.
Tensor without_band(const Tensor& x, int64_t lower, int64_t upper) {
  const Tensor band = matrix_band_part(fill(shape(x), true), lower, upper);
  return select(band, zeros_like(x), x);
}

}  // namespace

Tensor tril(Arg x, int64_t diagonal) {
  return from_caller(x.where(), [&] {
    if (diagonal >= 0) return matrix_band_part(std::move(x), int64_t{-1}, diagonal);
    return without_band(identity(std::move(x)), -(diagonal + 1), -1);
  });
}
Tensor triu(Arg x, int64_t diagonal) {
  return from_caller(x.where(), [&] {
    if (diagonal <= 0) return matrix_band_part(std::move(x), -diagonal, int64_t{-1});
    return without_band(identity(std::move(x)), -1, diagonal - 1);
  });
}

Tensor gather(Arg params, Arg indices) { return gather(std::move(params), std::move(indices), 0); }
Tensor one_hot(Arg indices, Arg depth) { return one_hot(std::move(indices), std::move(depth), 1.f, 0.f); }

Tensor sort(Arg x, const SortOptions& options) {
  return from_caller(x.where(), [&]() -> Tensor {
    return along(identity(std::move(x)), options.axis, "sort", [&](const Tensor& t) {
      const Tensor values = ordered(t).values;
      return options.descending ? values : last_reversed(values);
    });
  });
}
Tensor argsort(Arg x, const SortOptions& options) {
  return from_caller(x.where(), [&]() -> Tensor {
    return along(identity(std::move(x)), options.axis, "argsort", [&](const Tensor& t) {
      const Tensor indices = cast(ordered(t).indices, kInt64);
      return options.descending ? indices : last_reversed(indices);
    });
  });
}

Tensor flip(Arg x, const std::vector<int64_t>& axis) {
  return from_caller(x.where(), [&]() -> Tensor {
    if (!axis.empty()) return reverse(std::move(x), axis);
    const Tensor t = identity(std::move(x));
    return reverse(t, range(0, rank(t), 1));
  });
}

Tensor flip(Arg x, int64_t axis) { return flip(std::move(x), std::vector<int64_t>{axis}); }

std::vector<Tensor> split(Arg x, const std::vector<int64_t>& sizes, int axis) {
  return from_caller(x.where(), [&] {
    const Tensor t = identity(std::move(x));
    const int rank = known_rank(t, "split");
    const int64_t a = normal_axis(axis, rank);
    const int64_t whole = t.partial_shape().dim(static_cast<int>(a));
    if (whole < 0) invalid("split: expected a known dimension {}, got shape {}", a, t.partial_shape().to_string());
    int64_t given = 0, rests = 0;
    for (const int64_t size : sizes) {
      if (size < -1) invalid("sizes: expected sizes of at least 0, or one -1, got {}", size);
      rests += size == -1 ? 1 : 0;
      given = checked_add(given, std::max<int64_t>(size, 0), "sum of sizes");
    }
    if (rests > 1) invalid("sizes: expected at most one -1, got {}", rests);
    if (rests == 0 ? given != whole : given > whole) {
      invalid("sizes: expected a sum of {}, dimension {} of {}, got {}", whole, a, t.partial_shape().to_string(),
              given);
    }
    std::vector<Tensor> parts;
    std::vector<int64_t> begin(static_cast<size_t>(rank), 0), extent(static_cast<size_t>(rank), -1);
    const auto at = static_cast<size_t>(a);
    for (const int64_t size : sizes) {
      extent[at] = size == -1 ? whole - given : size;
      parts.push_back(slice(t, begin, extent));
      begin[at] += extent[at];
    }
    return parts;
  });
}

Tensor einsum(std::string_view equation, const ArgList& operands) { return einsum(operands, std::string(equation)); }
Tensor einsum(std::string_view equation, const Tensor& a) { return einsum({a}, std::string(equation)); }
Tensor einsum(std::string_view equation, const Variable& a) { return einsum({a}, std::string(equation)); }
Tensor einsum(std::string_view equation, Arg a, Arg b) {
  const Arg::Where where = a.where();
  return einsum(ArgList({std::move(a), std::move(b)}, where), std::string(equation));
}
Tensor einsum(std::string_view equation, Arg a, Arg b, Arg c) {
  const Arg::Where where = a.where();
  return einsum(ArgList({std::move(a), std::move(b), std::move(c)}, where), std::string(equation));
}

Tensor categorical(Arg logits, int64_t count, const CategoricalOptions& options) {
  return from_caller(logits.where(), [&]() -> Tensor {
    const Tensor x = identity(std::move(logits));
    const Tensor dims = panto::shape(x, {.out_type = kInt64});
    const Tensor batch = slice(dims, {0}, {1}), classes = slice(dims, {1}, {1});
    const Tensor wanted = constant(tensor(std::vector<int64_t>{count}), kInt64);
    const Tensor u = random_uniform(concat({batch, wanted, classes}, 0), {.seed = options.seed, .dtype = x.dtype()});
    return argmax(expand_dims(x, 1) - log(-log(u)), -1);
  });
}

Tensor bincount(Arg x, const BincountOptions& options) {
  return from_caller(x.where(), [&]() -> Tensor {
    Tensor numbers = identity(std::move(x));
    if (!dtypes::kInteger.contains(numbers.dtype()) || !numbers.partial_shape().compatible_with(PartialShape{-1})) {
      invalid("x: expected a vector of integers, got {}{}", dtype_name(numbers.dtype()),
              numbers.partial_shape().to_string());
    }
    if (options.minlength < 0) invalid("minlength: expected at least 0, got {}", options.minlength);
    numbers = cast(numbers, kInt64);
    Tensor weights = options.weights;
    if (!weights.defined()) {
      weights = constant(tensor(std::vector<int64_t>()), kInt64);
    } else {
      if (!weights.partial_shape().compatible_with(numbers.partial_shape())) {
        invalid("weights: expected the shape {} of x, got {}", numbers.partial_shape().to_string(),
                weights.partial_shape().to_string());
      }
      if (weights.dtype() != kFloat32) weights = cast(weights, kFloat64);
    }
    // reduce_max of no elements is the smallest integer.
    return dense_bincount(numbers, maximum(reduce_max(numbers) + int64_t{1}, options.minlength), weights);
  });
}

Tensor argmax(Arg x) {
  return from_caller(x.where(), [&] { return argmax(reshape(std::move(x), {-1}), 0); });
}
Tensor argmin(Arg x) {
  return from_caller(x.where(), [&] { return argmin(reshape(std::move(x), {-1}), 0); });
}

namespace {

DType part_type(const Tensor& z) { return z.dtype() == kComplex128 ? kFloat64 : kFloat32; }
bool is_complex(const Tensor& x) { return dtypes::kComplex.contains(x.dtype()); }

}  // namespace

Tensor make_complex(Arg real, Arg imag) {
  return from_caller(real.where(), [&]() -> Tensor {
    const Tensor re = identity(std::move(real));
    return complex_parts(re, std::move(imag), {.Tout = re.dtype() == kFloat64 ? kComplex128 : kComplex64});
  });
}
Tensor real(Arg x) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor z = identity(std::move(x));
    return is_complex(z) ? real_part(z, {.Tout = part_type(z)}) : z;
  });
}
Tensor imag(Arg x) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor z = identity(std::move(x));
    return is_complex(z) ? imag_part(z, {.Tout = part_type(z)}) : zeros_like(z);
  });
}
Tensor angle(Arg x) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor z = identity(std::move(x));
    return is_complex(z) ? angle_part(z, {.Tout = part_type(z)}) : atan2(zeros_like(z), z);
  });
}
Tensor complex_abs(Arg x) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor z = identity(std::move(x));
    return is_complex(z) ? complex_magnitude(z, {.Tout = part_type(z)}) : abs(z);
  });
}

Tensor diff(Arg x, int64_t n, int64_t axis) {
  return from_caller(x.where(), [&]() -> Tensor {
    if (n < 0) invalid("n: expected at least 0, got {}", n);
    Tensor t = identity(std::move(x));
    const int rank = known_rank(t, "diff");
    const auto a = static_cast<size_t>(normal_axis(axis, rank));
    std::vector<int64_t> first(static_cast<size_t>(rank), 0), one = first;
    one[a] = 1;
    const std::vector<int64_t> rest(static_cast<size_t>(rank), -1);
    for (int64_t i = 0; i < n; ++i) {
      const Tensor behind = slice(t, one, rest);
      t = behind - slice(t, first, panto::shape(behind, {.out_type = kInt64}));
    }
    return t;
  });
}

Tensor outer(Arg a, Arg b) {
  return from_caller(a.where(), [&] { return reshape(std::move(a), {-1, 1}) * reshape(std::move(b), {1, -1}); });
}

Tensor diag(Arg x, int64_t k) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(x));
    const Tensor zero = zeros({}, t.dtype()), at = constant(tensor(static_cast<int32_t>(k)), kInt32);
    if (known_rank(t, "diag") != 1) return matrix_diag_part(t, at, zero);
    return matrix_diag(t, at, -1, -1, zero);
  });
}
Tensor set_diag(Arg x, Arg diagonal, int64_t k) {
  return from_caller(x.where(), [&] {
    return matrix_set_diag(std::move(x), std::move(diagonal), constant(tensor(static_cast<int32_t>(k)), kInt32));
  });
}

std::vector<Tensor> meshgrid(const ArgList& axes, const MeshgridOptions& options) {
  if (options.indexing != "xy" && options.indexing != "ij") {
    invalid("indexing: expected xy or ij, got {}", options.indexing);
  }
  const size_t n = axes.tensors().size();
  // The dimension along which vector i varies.
  const auto dimension = [&](size_t i) { return options.indexing == "xy" && n > 1 && i < 2 ? 1 - i : i; };
  std::vector<Tensor> vectors, sizes(n);
  for (size_t i = 0; i < n; ++i) {
    vectors.push_back(reshape(axes.tensors()[i], {-1}));
    sizes[dimension(i)] = size(vectors[i]);
  }
  if (n == 0) return {};
  const Tensor whole = pack(sizes);
  std::vector<Tensor> grids;
  for (size_t i = 0; i < n; ++i) {
    std::vector<int64_t> dims(n, 1);
    dims[dimension(i)] = -1;
    grids.push_back(broadcast_to(reshape(vectors[i], dims), whole));
  }
  return grids;
}

Tensor searchsorted(Arg sequence, Arg values, const SearchsortedOptions& options) {
  return from_caller(sequence.where(), [&]() -> Tensor {
    const Tensor sorted = identity(std::move(sequence)), sought = identity(std::move(values));
    const int rank = known_rank(sorted, "searchsorted");
    if (rank == 0) invalid("searchsorted: expected at least one dimension, got a scalar");
    const PartialShape &rows = sorted.partial_shape(), &all = sought.partial_shape();
    bool fit = rank == 1 || !all.known_rank() || all.rank() == rank;
    for (int k = 0; fit && rank > 1 && all.known_rank() && k < rank - 1; ++k) {
      fit = rows.dim(k) < 0 || all.dim(k) < 0 || rows.dim(k) == all.dim(k);
    }
    if (!fit) {
      invalid("searchsorted: expected values with the leading dimensions of the sequence, {}, got shape {}",
              rows.to_string(), all.to_string());
    }
    const auto as_rows = [&](const Tensor& t) {
      if (rank == 1) return reshape(t, {1, -1});
      const Tensor dims = panto::shape(t, {.out_type = kInt64});
      const Tensor last = slice(dims, {rank - 1}, {1});
      return reshape(t, concat({reshape(reduce_prod(slice(dims, {0}, {rank - 1})), {1}), last}, 0));
    };
    const Tensor row = as_rows(sorted), wanted = as_rows(sought);
    const Tensor places =
        options.right ? upper_bound(row, wanted, {.out_type = kInt64}) : lower_bound(row, wanted, {.out_type = kInt64});
    return reshape(places, panto::shape(sought));
  });
}

namespace detail {

Tensor pad_mode(Arg x, Arg paddings, std::string_view mode) {
  return from_caller(x.where(), [&]() -> Tensor {
    if (mode == "constant") return panto::pad(std::move(x), std::move(paddings));
    if (mode == "reflect") return mirror_pad(std::move(x), std::move(paddings), "REFLECT");
    if (mode == "symmetric") return mirror_pad(std::move(x), std::move(paddings), "SYMMETRIC");
    invalid("mode: expected constant, reflect or symmetric, got {}", mode);
  });
}

Tensor softmax_along(Arg x, int64_t axis) {
  return from_caller(x.where(), [&]() -> Tensor {
    return along(identity(std::move(x)), axis, "softmax", [](const Tensor& t) { return softmax(t); });
  });
}
Tensor log_softmax_along(Arg x, int64_t axis) {
  return from_caller(x.where(), [&]() -> Tensor {
    return along(identity(std::move(x)), axis, "log_softmax", [](const Tensor& t) { return log_softmax(t); });
  });
}

}  // namespace detail

}  // namespace panto
