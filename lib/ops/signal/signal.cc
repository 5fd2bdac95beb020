#include "panto/lib/ops/signal/signal.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/math/complex.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/fft.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

Tensor as_real(const Tensor& x) {
  if (dtypes::kComplex.contains(x.dtype())) invalid("x: expected real numbers, got {}", dtype_name(x.dtype()));
  return x.dtype() == kFloat64 ? x : cast(x, kFloat32);
}
Tensor as_complex(const Tensor& x) {
  if (dtypes::kComplex.contains(x.dtype())) return x;
  const Tensor real = as_real(x);
  return cast(real, complex_of(real.dtype()));
}

std::vector<int64_t> one(std::optional<int64_t> n) { return n ? std::vector<int64_t>{*n} : std::vector<int64_t>{}; }

// The sizes of the last dimensions of x.
Tensor last_sizes(const Tensor& x, int rank) {
  const PartialShape& shape = x.partial_shape();
  if (shape.known_rank() && shape.rank() < rank) {
    invalid("x: expected rank at least {}, got shape {}", rank, shape.to_string());
  }
  const Tensor dims = panto::shape(x);
  return slice(dims, reshape(size(dims) - rank, {1}), {rank});
}

Tensor given(const std::vector<int64_t>& lengths, int rank) {
  if (static_cast<int>(lengths.size()) != rank) invalid("lengths: expected {}, got {}", rank, lengths.size());
  for (const int64_t n : lengths) {
    if (n < 1 || n > INT32_MAX) invalid("lengths: expected 1 to 2147483647, got {}", n);
  }
  return cast(constant(tensor(lengths), kInt64), kInt32);
}

// Truncates the last dimensions of x, or pads them with zeros at the end, to `sizes`.
Tensor fitted(const Tensor& x, const Tensor& sizes, int rank) {
  const Tensor missing = maximum(sizes - last_sizes(x, rank), 0);
  const Tensor none = fill(reshape(panto::rank(x) - rank, {1}), 0);
  const Tensor behind = concat({none, missing}, 0);
  const Tensor longer = pad(x, pack({zeros_like(behind), behind}, {.axis = 1}));
  const Tensor others = slice(panto::shape(x), {0}, reshape(panto::rank(x) - rank, {1}));
  return slice(longer, zeros_like(behind), concat({others, sizes}, 0));
}

using ComplexOp = Tensor (*)(Arg);
Tensor transformed(const Tensor& x, const std::vector<int64_t>& lengths, int rank, ComplexOp op) {
  const Tensor z = as_complex(x);
  return op(lengths.empty() ? z : fitted(z, given(lengths, rank), rank));
}

template <class Attrs>
Tensor forward(const Tensor& x, const std::vector<int64_t>& lengths, int rank, Tensor (*op)(Arg, Arg, const Attrs&)) {
  const Tensor real = as_real(x);
  const Tensor sizes = lengths.empty() ? last_sizes(real, rank) : given(lengths, rank);
  return op(lengths.empty() ? real : fitted(real, sizes, rank), sizes, {.Tcomplex = complex_of(real.dtype())});
}

// Inverse real transform: y has only the first half of the last dimension.
template <class Attrs>
Tensor backward(const Tensor& y, const std::vector<int64_t>& lengths, int rank, Tensor (*op)(Arg, Arg, const Attrs&)) {
  const Tensor z = as_complex(y);
  const Tensor there = last_sizes(z, rank);
  const Tensor others = slice(there, {0}, {rank - 1});
  const Tensor sizes =
      lengths.empty() ? concat({others, 2 * (slice(there, {rank - 1}, {1}) - 1)}, 0) : given(lengths, rank);
  const Tensor needed = concat({slice(sizes, {0}, {rank - 1}), floor_div(slice(sizes, {rank - 1}, {1}), 2) + 1}, 0);
  return op(lengths.empty() ? z : fitted(z, needed, rank), sizes,
            {.Treal = z.dtype() == kComplex128 ? kFloat64 : kFloat32});
}

// The axes of fftn and related functions, with their lengths.
struct Several {
  Tensor lengths, axes;
};
// `halved`: the last axis of x has only the first half of its elements.
Several several(const Tensor& x, const std::vector<int64_t>& lengths, std::vector<int64_t> axes, bool halved) {
  if (axes.empty()) {
    const PartialShape& shape = x.partial_shape();
    if (lengths.empty() && !shape.known_rank()) {
      invalid("x: expected a known rank, or axes, got shape {}", shape.to_string());
    }
    const auto count = static_cast<int64_t>(lengths.empty() ? static_cast<size_t>(shape.rank()) : lengths.size());
    for (int64_t k = -count; k < 0; ++k) axes.push_back(k);
  }
  if (axes.empty()) invalid("x: expected at least one dimension, got shape []");
  const Tensor positions = cast(constant(tensor(axes), kInt64), kInt32);
  if (!lengths.empty()) return {given(lengths, static_cast<int>(axes.size())), positions};
  const Tensor sizes = gather(panto::shape(x), floor_mod(positions, panto::rank(x)));
  if (!halved) return {sizes, positions};
  const auto before = static_cast<int64_t>(axes.size()) - 1;
  return {concat({slice(sizes, {0}, {before}), 2 * (slice(sizes, {before}, {1}) - 1)}, 0), positions};
}

// Rotates each axis by `sign` times half its length.
Tensor shifted(const Tensor& x, std::vector<int64_t> axes, int sign) {
  const PartialShape& shape = x.partial_shape();
  if (axes.empty()) {
    if (!shape.known_rank()) invalid("x: expected a known rank, or axes, got shape {}", shape.to_string());
    for (int k = 0; k < shape.rank(); ++k) axes.push_back(k);
  }
  if (axes.empty()) return x;
  const Tensor positions = cast(constant(tensor(axes), kInt64), kInt32);
  const Tensor sizes = gather(panto::shape(x), floor_mod(positions, panto::rank(x)));
  return roll(x, floor_div(sizes, 2) * sign, positions);
}

void expect_samples(int64_t n) {
  if (n < 1) invalid("n: expected at least 1, got {}", n);
  if (n > INT32_MAX) invalid("n: expected at most {}, got {}", INT32_MAX, n);
}

// Calls f(x); errors name the caller's line.
template <class F>
Tensor of(Arg x, const F& f) {
  return from_caller(x.where(), [&] { return f(identity(std::move(x))); });
}

}  // namespace

Tensor fft(Arg x, std::optional<int64_t> n) {
  return of(std::move(x), [&](const Tensor& t) { return transformed(t, one(n), 1, complex_fft); });
}
Tensor ifft(Arg x, std::optional<int64_t> n) {
  return of(std::move(x), [&](const Tensor& t) { return transformed(t, one(n), 1, complex_ifft); });
}
Tensor fft2(Arg x, const std::vector<int64_t>& lengths) {
  return of(std::move(x), [&](const Tensor& t) { return transformed(t, lengths, 2, complex_fft_2d); });
}
Tensor ifft2(Arg x, const std::vector<int64_t>& lengths) {
  return of(std::move(x), [&](const Tensor& t) { return transformed(t, lengths, 2, complex_ifft_2d); });
}
Tensor fft3(Arg x, const std::vector<int64_t>& lengths) {
  return of(std::move(x), [&](const Tensor& t) { return transformed(t, lengths, 3, complex_fft_3d); });
}
Tensor ifft3(Arg x, const std::vector<int64_t>& lengths) {
  return of(std::move(x), [&](const Tensor& t) { return transformed(t, lengths, 3, complex_ifft_3d); });
}

Tensor rfft(Arg x, std::optional<int64_t> n) {
  return of(std::move(x), [&](const Tensor& t) { return forward(t, one(n), 1, real_fft); });
}
Tensor irfft(Arg y, std::optional<int64_t> n) {
  return of(std::move(y), [&](const Tensor& t) { return backward(t, one(n), 1, real_ifft); });
}
Tensor rfft2(Arg x, const std::vector<int64_t>& lengths) {
  return of(std::move(x), [&](const Tensor& t) { return forward(t, lengths, 2, real_fft_2d); });
}
Tensor irfft2(Arg y, const std::vector<int64_t>& lengths) {
  return of(std::move(y), [&](const Tensor& t) { return backward(t, lengths, 2, real_ifft_2d); });
}
Tensor rfft3(Arg x, const std::vector<int64_t>& lengths) {
  return of(std::move(x), [&](const Tensor& t) { return forward(t, lengths, 3, real_fft_3d); });
}
Tensor irfft3(Arg y, const std::vector<int64_t>& lengths) {
  return of(std::move(y), [&](const Tensor& t) { return backward(t, lengths, 3, real_ifft_3d); });
}

Tensor fftn(Arg x, const std::vector<int64_t>& lengths, const std::vector<int64_t>& axes) {
  return of(std::move(x), [&](const Tensor& t) {
    const auto [sizes, positions] = several(t, lengths, axes, false);
    return complex_fft_nd(as_complex(t), sizes, positions);
  });
}
Tensor ifftn(Arg x, const std::vector<int64_t>& lengths, const std::vector<int64_t>& axes) {
  return of(std::move(x), [&](const Tensor& t) {
    const auto [sizes, positions] = several(t, lengths, axes, false);
    return complex_ifft_nd(as_complex(t), sizes, positions);
  });
}
Tensor rfftn(Arg x, const std::vector<int64_t>& lengths, const std::vector<int64_t>& axes) {
  return of(std::move(x), [&](const Tensor& t) {
    const auto [sizes, positions] = several(t, lengths, axes, false);
    const Tensor real = as_real(t);
    return real_fft_nd(real, sizes, positions, {.Tcomplex = complex_of(real.dtype())});
  });
}
Tensor irfftn(Arg y, const std::vector<int64_t>& lengths, const std::vector<int64_t>& axes) {
  return of(std::move(y), [&](const Tensor& t) {
    const auto [sizes, positions] = several(t, lengths, axes, true);
    const Tensor z = as_complex(t);
    return real_ifft_nd(z, sizes, positions, {.Treal = z.dtype() == kComplex128 ? kFloat64 : kFloat32});
  });
}

Tensor fftshift(Arg x, const std::vector<int64_t>& axes) {
  return of(std::move(x), [&](const Tensor& t) { return shifted(t, axes, 1); });
}
Tensor ifftshift(Arg x, const std::vector<int64_t>& axes) {
  return of(std::move(x), [&](const Tensor& t) { return shifted(t, axes, -1); });
}

Tensor fftfreq(int64_t n, double d) {
  expect_samples(n);
  const Tensor k = cast(range(0, static_cast<int32_t>(n), 1), kFloat64);
  const double length = static_cast<double>(n);
  return cast(select(2 * k < length, k, k - length) / (length * d), kFloat32);
}
Tensor rfftfreq(int64_t n, double d) {
  expect_samples(n);
  return cast(cast(range(0, static_cast<int32_t>(n / 2 + 1), 1), kFloat64) / (static_cast<double>(n) * d), kFloat32);
}

}  // namespace panto
