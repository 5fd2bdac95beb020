#include "panto/lib/ops/linalg/linalg.h"

#include <algorithm>
#include <limits>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/linalg/matrices.h"
#include "panto/lib/ops/math/complex.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/reductions.h"
#include "panto/ops/array.h"
#include "panto/ops/linalg.h"
#include "panto/ops/math.h"

namespace panto::linalg {
namespace {

// Converts values that are real but may have a complex type.
Tensor as_real(const Tensor& x) { return dtypes::kComplex.contains(x.dtype()) ? real(x) : x; }

double epsilon_of(DType type) {
  if (type == kFloat64 || type == kComplex128) return std::numeric_limits<double>::epsilon();
  return type == kFloat16 ? 0x1p-10 : std::numeric_limits<float>::epsilon();
}

// The threshold up to which singular values count as zero.
Tensor least_value(const Tensor& a, const Tensor& s, std::optional<double> rtol) {
  if (!rtol) {
    const PartialShape& shape = a.partial_shape();
    if (!shape.known_rank() || shape.rank() < 2 || shape.dim(shape.rank() - 2) < 0 || shape.dim(shape.rank() - 1) < 0) {
      invalid("a: expected matrices of known sizes, or rtol, got shape {}", shape.to_string());
    }
    const int64_t longer = std::max(shape.dim(shape.rank() - 2), shape.dim(shape.rank() - 1));
    rtol = epsilon_of(a.dtype()) * static_cast<double>(longer);
  }
  return max(s, -1, true) * *rtol;
}

// Applies f to matrices `b`; a single vector is treated as a matrix of one column.
template <class F>
Tensor of_matrices(const Tensor& b, const F& f) {
  if (b.partial_shape().known_rank() && b.partial_shape().rank() == 1) {
    return squeeze(f(expand_dims(b, -1)), {.squeeze_dims = {-1}});
  }
  return f(b);
}

}  // namespace

Tensor inv(Arg a) { return matrix_inverse(std::move(a)); }

Tensor solve(Arg a, Arg b) {
  return from_caller(a.where(), [&] {
    const Tensor right = identity(std::move(b)), matrix = identity(std::move(a));
    return of_matrices(right, [&](const Tensor& x) { return matrix_solve(matrix, x); });
  });
}

Tensor solve_triangular(Arg a, Arg b, bool lower) {
  return from_caller(a.where(), [&] {
    const Tensor right = identity(std::move(b)), matrix = identity(std::move(a));
    return of_matrices(right, [&](const Tensor& x) { return matrix_triangular_solve(matrix, x, {.lower = lower}); });
  });
}

Tensor lstsq(Arg a, Arg b, const LstsqOptions& options) {
  return from_caller(a.where(), [&] {
    const Tensor right = identity(std::move(b)), matrix = identity(std::move(a));
    return of_matrices(right, [&](const Tensor& x) {
      return matrix_solve_ls(matrix, x, options.l2_regularizer, {.fast = options.fast});
    });
  });
}

Tensor pinv(Arg a, std::optional<double> rtol) {
  return from_caller(a.where(), [&]() -> Tensor {
    const Tensor x = identity(std::move(a));
    const auto [s, u, v] = panto::svd(x);
    const Tensor size = as_real(s);
    const Tensor counts = greater(size, least_value(x, size, rtol));
    const Tensor inverse = select(counts, reciprocal(select(counts, size, ones_like(size))), zeros_like(size));
    return matrix::mul_adjoint(v * expand_dims(cast(inverse, x.dtype()), -2), u);
  });
}

Tensor matrix_power(Arg a, int64_t n) {
  return from_caller(a.where(), [&]() -> Tensor {
    Tensor base = identity(std::move(a));
    if (n == 0) return matrix::identity_like(base);
    if (n < 0) base = matrix_inverse(base);
    uint64_t left = n < 0 ? -static_cast<uint64_t>(n) : static_cast<uint64_t>(n);
    Tensor power;
    while (true) {
      if (left % 2 == 1) power = power.defined() ? batch_matmul(power, base) : base;
      left /= 2;
      if (left == 0) return power;
      base = batch_matmul(base, base);
    }
  });
}

Tensor det(Arg a) { return matrix_determinant(std::move(a)); }

SignAndLogarithm slogdet(Arg a) {
  return from_caller(a.where(), [&]() -> SignAndLogarithm {
    const auto [sign, logarithm] = log_matrix_determinant(std::move(a));
    return {sign, as_real(logarithm)};
  });
}

Tensor trace(Arg a) {
  return from_caller(a.where(), [&] { return sum(matrix_diag_part_main(std::move(a)), -1); });
}

Tensor matrix_rank(Arg a, std::optional<double> rtol) {
  return from_caller(a.where(), [&] {
    const Tensor x = identity(std::move(a));
    const Tensor s = svdvals(x);
    return sum(cast(greater(s, least_value(x, s, rtol)), kInt64), -1);
  });
}

Tensor cond(Arg a) {
  return from_caller(a.where(), [&] {
    const Tensor s = svdvals(std::move(a));
    return max(s, -1) / min(s, -1);
  });
}

Tensor matrix_norm(Arg a, std::string_view ord) {
  return from_caller(a.where(), [&]() -> Tensor {
    const Tensor x = identity(std::move(a));
    if (ord == "fro") return sqrt(sum(square(complex_abs(x)), {-2, -1}));
    if (ord == "nuc") return sum(svdvals(x), -1);
    if (ord == "2") return max(svdvals(x), -1);
    if (ord == "1") return max(sum(complex_abs(x), -2), -1);
    if (ord == "inf") return max(sum(complex_abs(x), -1), -1);
    invalid("ord: expected one of (fro, nuc, 2, 1, inf), got '{}'", ord);
  });
}

Tensor cholesky(Arg a) { return panto::cholesky(std::move(a)); }

Qr qr(Arg a, bool full_matrices) {
  const auto [q, r] = panto::qr(std::move(a), {.full_matrices = full_matrices});
  return {q, r};
}

Svd svd(Arg a, bool full_matrices) {
  return from_caller(a.where(), [&]() -> Svd {
    const auto [s, u, v] = panto::svd(std::move(a), {.full_matrices = full_matrices});
    return {u, as_real(s), matrix::adjoint(v)};
  });
}

Tensor svdvals(Arg a) {
  return from_caller(a.where(), [&] { return as_real(panto::svd(std::move(a), {.compute_uv = false}).s); });
}

Eigen eigh(Arg a) {
  return from_caller(a.where(), [&]() -> Eigen {
    const auto [e, v] = self_adjoint_eig(std::move(a));
    return {as_real(e), v};
  });
}

Tensor eigvalsh(Arg a) {
  return from_caller(a.where(), [&] { return as_real(self_adjoint_eig(std::move(a), {.compute_v = false}).e); });
}

Eigen eig(Arg a) {
  return from_caller(a.where(), [&]() -> Eigen {
    const Tensor x = identity(std::move(a));
    const auto [e, v] = panto::eig(x, complex_of(x.dtype()));
    return {e, v};
  });
}

Tensor eigvals(Arg a) {
  return from_caller(a.where(), [&] {
    const Tensor x = identity(std::move(a));
    return panto::eig(x, complex_of(x.dtype()), {.compute_v = false}).e;
  });
}

Tensor expm(Arg a) { return matrix_exponential(std::move(a)); }
Tensor logm(Arg a) { return matrix_logarithm(std::move(a)); }
Tensor sqrtm(Arg a) { return matrix_square_root(std::move(a)); }

Tensor adjoint(Arg a) {
  return from_caller(a.where(), [&] { return matrix::adjoint(identity(std::move(a))); });
}

}  // namespace panto::linalg
