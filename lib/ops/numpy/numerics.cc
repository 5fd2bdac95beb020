#include "panto/lib/ops/numpy/numerics.h"

#include <algorithm>
#include <numeric>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/core/tensor/dtype.h"
#include "panto/lib/core/tensor/index.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/linalg/linalg.h"
#include "panto/lib/ops/numpy/axes.h"
#include "panto/lib/ops/numpy/rearranging.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/ops/reductions.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

// Elements but the first, and but the last, along an axis.
Tensor behind_first(const Tensor& t, int64_t axis, int rank) {
  std::vector<int64_t> begin(static_cast<size_t>(rank), 0);
  begin[static_cast<size_t>(axis)] = 1;
  return slice(t, begin, std::vector<int64_t>(static_cast<size_t>(rank), -1));
}
Tensor before_last(const Tensor& t, int64_t axis, int rank) {
  const std::vector<int64_t> begin(static_cast<size_t>(rank), 0);
  return slice(t, begin, sizes_of(behind_first(t, axis, rank)));
}

// Means of neighbours along an axis.
Tensor means(const Tensor& y, int64_t axis, int rank) {
  return (behind_first(y, axis, rank) + before_last(y, axis, rank)) * 0.5;
}

// The means of y's neighbours along options.axis, and that axis, counted from the front.
std::pair<Tensor, int64_t> means_along(const Tensor& y, const TrapezoidOptions& options, const char* what) {
  const int rank = known_rank(y, what);
  const int64_t axis = normal_axis(options.axis, rank);
  return {means(y, axis, rank), axis};
}

}  // namespace

Tensor dot(Arg a, Arg b) {
  return from_caller(a.where(), [&]() -> Tensor {
    const Tensor x = identity(std::move(a)), y = identity(std::move(b));
    const int left = known_rank(x, "dot"), right = known_rank(y, "dot");
    if (left == 0 || right == 0) return x * y;
    return tensordot(x, y, {-1}, {right == 1 ? 0 : right - 2});
  });
}
Tensor inner(Arg a, Arg b) {
  return from_caller(a.where(), [&]() -> Tensor {
    const Tensor x = identity(std::move(a)), y = identity(std::move(b));
    if (known_rank(x, "inner") == 0 || known_rank(y, "inner") == 0) return x * y;
    return tensordot(x, y, {-1}, {-1});
  });
}
Tensor vdot(Arg a, Arg b) {
  return from_caller(a.where(), [&]() -> Tensor {
    const Tensor x = reshape(std::move(a), {-1}), y = reshape(std::move(b), {-1});
    return reduce_sum((dtypes::kComplex.contains(x.dtype()) ? conj(x) : x) * y);
  });
}
Tensor tensordot(Arg a, Arg b, int64_t count) {
  return from_caller(a.where(), [&]() -> Tensor {
    const Tensor x = identity(std::move(a)), y = identity(std::move(b));
    const int rank = known_rank(x, "tensordot");
    if (count < 0 || count > rank || count > known_rank(y, "tensordot")) {
      invalid("tensordot: expected a number of dimensions of both, got {}", count);
    }
    std::vector<int64_t> last(static_cast<size_t>(count)), first(last);
    std::iota(first.begin(), first.end(), int64_t{0});
    std::iota(last.begin(), last.end(), rank - count);
    return tensordot(x, y, last, first);
  });
}
Tensor tensordot(Arg a, Arg b, const std::vector<int64_t>& axes_a, const std::vector<int64_t>& axes_b) {
  return from_caller(a.where(), [&]() -> Tensor {
    const Tensor x = identity(std::move(a)), y = identity(std::move(b));
    const int left = known_rank(x, "tensordot"), right = known_rank(y, "tensordot");
    if (axes_a.size() != axes_b.size()) {
      invalid("tensordot: expected as many axes of both, got {} and {}", axes_a.size(), axes_b.size());
    }
    const std::vector<int64_t> summed_a = normal_axes(axes_a, left), summed_b = normal_axes(axes_b, right);
    std::vector<int64_t> order_a = other_axes(summed_a, left), order_b = summed_b;
    const auto kept = static_cast<int64_t>(order_a.size()), summed = static_cast<int64_t>(summed_a.size());
    order_a.insert(order_a.end(), summed_a.begin(), summed_a.end());
    const std::vector<int64_t> rest_b = other_axes(summed_b, right);
    order_b.insert(order_b.end(), rest_b.begin(), rest_b.end());
    const Tensor p = transpose(x, order_a), q = transpose(y, order_b);
    const Tensor rows = part_of(sizes_of(p), 0, kept), between = part_of(sizes_of(p), kept, -1);
    const Tensor columns = part_of(sizes_of(q), summed, -1);
    const auto whole = [](const Tensor& sizes) { return reduce_prod(sizes, 0, {.keep_dims = true}); };
    const Tensor first = part_of(sizes_of(q), 0, summed);
    const Tensor product = matmul(reshape(p, concat({whole(rows), whole(between)}, 0)),
                                  reshape(q, concat({whole(first), whole(columns)}, 0)));
    return reshape(product, concat({rows, columns}, 0));
  });
}
Tensor bmm(Arg a, Arg b) { return matmul(std::move(a), std::move(b)); }
Tensor mv(Arg a, Arg x) { return matmul(std::move(a), std::move(x)); }
Tensor addmm(Arg c, Arg a, Arg b, const AddmmOptions& options) {
  return from_caller(c.where(), [&]() -> Tensor {
    Tensor product = matmul(std::move(a), std::move(b)), added = identity(std::move(c));
    if (options.alpha != 1) product = product * options.alpha;
    if (options.beta != 1) added = added * options.beta;
    return added + product;
  });
}
Tensor cdist(Arg x, Arg y) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor difference = expand_dims(std::move(x), -2) - expand_dims(std::move(y), -3);
    const Tensor squares = reduce_sum(square(difference), -1), none = squares == 0;
    // The root has no gradient at 0.
    return select(none, zeros_like(squares), sqrt(select(none, ones_like(squares), squares)));
  });
}
Tensor l2_normalize(Arg x, int64_t axis, double epsilon) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(x));
    return t * rsqrt(maximum(reduce_sum(square(t), axis, {.keep_dims = true}), epsilon));
  });
}

Tensor trapezoid(Arg y, const TrapezoidOptions& options) {
  return from_caller(y.where(), [&] {
    const auto [heights, axis] = means_along(identity(std::move(y)), options, "trapezoid");
    return reduce_sum(heights, axis) * options.dx;
  });
}
Tensor trapezoid(Arg y, Arg x, int64_t axis) {
  return from_caller(y.where(), [&]() -> Tensor {
    const Tensor t = identity(std::move(y));
    Tensor at = identity(std::move(x));
    const int rank = known_rank(t, "trapezoid");
    const int64_t a = normal_axis(axis, rank);
    if (known_rank(at, "trapezoid") == 1) {  // along the axis
      for (int64_t k = a + 1; k < rank; ++k) at = expand_dims(at, -1);
      for (int64_t k = 0; k < a; ++k) at = expand_dims(at, 0);
    }
    return reduce_sum(means(t, a, rank) * (behind_first(at, a, rank) - before_last(at, a, rank)), a);
  });
}
Tensor cumulative_trapezoid(Arg y, const TrapezoidOptions& options) {
  return from_caller(y.where(), [&] {
    const auto [heights, axis] = means_along(identity(std::move(y)), options, "cumulative_trapezoid");
    return cumsum(heights, axis) * options.dx;
  });
}
Tensor interp(Arg x, Arg points, Arg values) {
  return from_caller(x.where(), [&]() -> Tensor {
    const Tensor at = identity(std::move(x)), p = identity(std::move(points)), v = identity(std::move(values));
    for (const Tensor& t : {p, v}) {
      if (known_rank(t, "interp") != 1)
        invalid("interp: expected vectors, got shape {}", t.partial_shape().to_string());
    }
    const Tensor last = sizes_of(p)[-1] - int64_t{1};
    const Tensor right = clip(searchsorted(p, at, {.right = true}), int64_t{1}, maximum(last, int64_t{1}));
    const Tensor left = right - int64_t{1}, next = minimum(right, last);
    const Tensor low = gather(p, left), high = gather(p, next), from = gather(v, left);
    const Tensor part = div_no_nan(at - low, high - low);
    const Tensor between = from + (gather(v, next) - from) * part;
    return select(at <= p[0], v[0], select(at >= p[-1], v[-1], between));
  });
}

Tensor polyval(Arg coefficients, Arg x) {
  return from_caller(coefficients.where(), [&]() -> Tensor {
    const Tensor at = identity(std::move(x));
    Tensor sum = zeros_like(at);
    for (const Tensor& c : unstack(std::move(coefficients))) sum = sum * at + c;
    return sum;
  });
}
Tensor polyfit(Arg x, Arg y, int64_t degree) {
  return from_caller(x.where(), [&]() -> Tensor {
    if (degree < 0) invalid("polyfit: expected a degree of at least 0, got {}", degree);
    const Tensor powers = vander(std::move(x), degree + 1);
    // Columns of one size make the equations as exact as they can be.
    const Tensor size = sqrt(reduce_sum(square(powers), 0));
    const Tensor found = linalg::lstsq(powers / size, expand_dims(std::move(y), -1));
    return reshape(found, {-1}) / size;
  });
}
Tensor convolve(Arg x, Arg kernel, std::string_view mode) {
  return from_caller(x.where(), [&]() -> Tensor {
    if (mode != "full" && mode != "same" && mode != "valid") {
      invalid("mode: expected full, same or valid, got {}", mode);
    }
    Tensor a = identity(std::move(x)), b = identity(std::move(kernel));
    for (const Tensor& t : {a, b}) {
      if (known_rank(t, "convolve") != 1 || t.dim(0) < 1) {
        invalid("convolve: expected vectors with elements, got shape {}", t.partial_shape().to_string());
      }
    }
    if (b.dim(0) > a.dim(0)) std::swap(a, b);
    const int64_t taps = b.dim(0), edge = mode == "full" ? taps - 1 : mode == "same" ? taps / 2 : 0;
    const int64_t end = mode == "full" ? taps - 1 : mode == "same" ? (taps - 1) / 2 : 0;
    const Tensor row = reshape(a, {1, 1, -1, 1}), filter = reshape(reverse(b, {0}), {1, -1, 1, 1});
    const Tensor sums =
        conv2d(row, filter, {1, 1, 1, 1}, "EXPLICIT", {.explicit_paddings = {0, 0, 0, 0, edge, end, 0, 0}});
    return reshape(sums, {-1});
  });
}

}  // namespace panto
