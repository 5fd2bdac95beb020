// Linear algebra under the names of NumPy, SciPy and PyTorch: np.linalg.inv is linalg::inv.
//
//   linalg::inv(a);  linalg::det(a);  linalg::solve(a, b);  linalg::cholesky(a);  linalg::pinv(a);  linalg::expm(a)
//   auto [q, r] = linalg::qr(a);  auto [u, s, vh] = linalg::svd(a);  auto [values, vectors] = linalg::eigh(a)
//
// Matrices are the last two dimensions, [..., m, n]; leading dimensions are batches. Types are floating or complex. Ops
// with TensorFlow's names and conventions are in namespace panto: matrix_inverse(a), svd(a).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"

namespace panto::linalg {

// ---- Equations and inverses --------------------------------------------------------------------------------------

PANTO_EXPORT Tensor inv(Arg a);
// Solves A X = b for X. b: matrices, or one vector if it has one dimension.
PANTO_EXPORT Tensor solve(Arg a, Arg b);
// The same for triangular A; the other triangle is not read.
PANTO_EXPORT Tensor solve_triangular(Arg a, Arg b, bool lower);
struct LstsqOptions {
  double l2_regularizer = 0;  // with `fast` only: weight of the penalty on the squares of X
  bool fast = false;          // use normal equations, which needs full rank
};
// Least squares: the X that minimizes the squared norm of A X - b; the shortest one if there are several.
PANTO_EXPORT Tensor lstsq(Arg a, Arg b, const LstsqOptions& options = {});
// The Moore-Penrose inverse. Singular values up to `rtol` times the largest count as zero. Default for rtol: the type's
// epsilon times max(m, n).
PANTO_EXPORT Tensor pinv(Arg a, std::optional<double> rtol = std::nullopt);
// The n-th power of square matrices; for negative n, the power of their inverses.
PANTO_EXPORT Tensor matrix_power(Arg a, int64_t n);

// ---- Numbers -----------------------------------------------------------------------------------------------------

PANTO_EXPORT Tensor det(Arg a);
struct SignAndLogarithm {
  Tensor sign, logabsdet;
};
// The determinant as `sign * exp(logabsdet)`.
PANTO_EXPORT SignAndLogarithm slogdet(Arg a);
PANTO_EXPORT Tensor trace(Arg a);
// The number of singular values larger than `rtol` (as for pinv) times the largest: int64.
PANTO_EXPORT Tensor matrix_rank(Arg a, std::optional<double> rtol = std::nullopt);
// The largest singular value divided by the smallest.
PANTO_EXPORT Tensor cond(Arg a);
// ord "fro": root of the sum of squares; "nuc": sum of the singular values; "2": largest singular value; "1", "inf":
// largest sum of absolute values in a column, or in a row. Throws InvalidArgument for others.
PANTO_EXPORT Tensor matrix_norm(Arg a, std::string_view ord = "fro");

// ---- Decompositions ----------------------------------------------------------------------------------------------

// The lower triangular L of A = L L'. Only the lower triangle is read.
PANTO_EXPORT Tensor cholesky(Arg a);
struct Qr {
  Tensor q, r;
};
// A = Q R. `full_matrices`: Q has as many columns as A has rows (NumPy's "complete").
PANTO_EXPORT Qr qr(Arg a, bool full_matrices = false);
struct Svd {
  Tensor u, s, vh;
};
// A = U diag(S) V', where `vh` is V'. `full_matrices`: all columns of U and V, as is NumPy's default.
PANTO_EXPORT Svd svd(Arg a, bool full_matrices = true);
PANTO_EXPORT Tensor svdvals(Arg a);
struct Eigen {
  Tensor values, vectors;  // column k of the vectors belongs to value k
};
// Eigenvalues of symmetric or Hermitian matrices: real, in ascending order. Only the lower triangle is read.
PANTO_EXPORT Eigen eigh(Arg a);
PANTO_EXPORT Tensor eigvalsh(Arg a);
// Eigenvalues of general square matrices: complex, in no particular order.
PANTO_EXPORT Eigen eig(Arg a);
PANTO_EXPORT Tensor eigvals(Arg a);

// ---- Functions of matrices ---------------------------------------------------------------------------------------

PANTO_EXPORT Tensor expm(Arg a);
PANTO_EXPORT Tensor logm(Arg a);  // of complex types
PANTO_EXPORT Tensor sqrtm(Arg a);

// The conjugate transpose.
PANTO_EXPORT Tensor adjoint(Arg a);

}  // namespace panto::linalg
