// Linear algebra under the names that NumPy, SciPy and PyTorch give it: np.linalg.inv is linalg::inv.
//
//   linalg::inv(a);  linalg::det(a);  linalg::solve(a, b);  linalg::cholesky(a);  linalg::pinv(a);  linalg::expm(a)
//   auto [q, r] = linalg::qr(a);  auto [u, s, vh] = linalg::svd(a);  auto [values, vectors] = linalg::eigh(a)
//
// Matrices are the last two dimensions, [..., m, n]: those before count a batch. They are of floating or complex types.
// Ops of TensorFlow's names and conventions are beside them, in namespace panto: matrix_inverse(a), svd(a).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"

namespace panto::linalg {

// ---- Equations and inverses --------------------------------------------------------------------------------------

PANTO_EXPORT Tensor inv(Arg a);
// X of A X = b. b: matrices, or one vector if it has one dimension.
PANTO_EXPORT Tensor solve(Arg a, Arg b);
// The same for triangular A; the other triangle is not read.
PANTO_EXPORT Tensor solve_triangular(Arg a, Arg b, bool lower);
struct LstsqOptions {
  double l2_regularizer = 0;  // with `fast` only: times the squares of X
  bool fast = false;          // by normal equations: for matrices of full rank
};
// The X for which the squares of A X - b add up to least; of several the shortest.
PANTO_EXPORT Tensor lstsq(Arg a, Arg b, const LstsqOptions& options = {});
// Moore and Penrose's inverse. Singular values that are `rtol` times the largest, or smaller, count as zero; without it
// the type's epsilon times the larger of m and n.
PANTO_EXPORT Tensor pinv(Arg a, std::optional<double> rtol = std::nullopt);
// The n-th power of square matrices; of a negative n, of their inverses.
PANTO_EXPORT Tensor matrix_power(Arg a, int64_t n);

// ---- Numbers -----------------------------------------------------------------------------------------------------

PANTO_EXPORT Tensor det(Arg a);
struct SignAndLogarithm {
  Tensor sign, logabsdet;
};
// Of the determinant, `sign * exp(logabsdet)`.
PANTO_EXPORT SignAndLogarithm slogdet(Arg a);
PANTO_EXPORT Tensor trace(Arg a);
// How many singular values are larger than `rtol` (as for pinv) times the largest: int64.
PANTO_EXPORT Tensor matrix_rank(Arg a, std::optional<double> rtol = std::nullopt);
// The largest singular value by the smallest.
PANTO_EXPORT Tensor cond(Arg a);
// "fro": the root of the sum of squares; "nuc": the sum of singular values; "2": the largest; "1", "inf": the largest
// sum of sizes in a column, or a row. Throws InvalidArgument for others.
PANTO_EXPORT Tensor matrix_norm(Arg a, std::string_view ord = "fro");

// ---- Decompositions ----------------------------------------------------------------------------------------------

// The lower triangular L of A = L L'. Only the lower triangle is read.
PANTO_EXPORT Tensor cholesky(Arg a);
struct Qr {
  Tensor q, r;
};
// A = Q R. `full_matrices`: as many columns of Q as rows of A, which NumPy calls complete.
PANTO_EXPORT Qr qr(Arg a, bool full_matrices = false);
struct Svd {
  Tensor u, s, vh;
};
// A = U diag(S) V', where V' is what is given. `full_matrices`: all columns of U and V, as NumPy does unless told
// otherwise.
PANTO_EXPORT Svd svd(Arg a, bool full_matrices = true);
PANTO_EXPORT Tensor svdvals(Arg a);
struct Eigen {
  Tensor values, vectors;  // column k of the vectors belongs to value k
};
// Of matrices that are their own adjoints, real values in ascending order. Only the lower triangle is read.
PANTO_EXPORT Eigen eigh(Arg a);
PANTO_EXPORT Tensor eigvalsh(Arg a);
// Of any square matrices: complex, in no order.
PANTO_EXPORT Eigen eig(Arg a);
PANTO_EXPORT Tensor eigvals(Arg a);

// ---- Functions of matrices ---------------------------------------------------------------------------------------

PANTO_EXPORT Tensor expm(Arg a);
PANTO_EXPORT Tensor logm(Arg a);  // of complex types
PANTO_EXPORT Tensor sqrtm(Arg a);

// The adjoint: rows and columns exchanged, and complex numbers conjugated.
PANTO_EXPORT Tensor adjoint(Arg a);

}  // namespace panto::linalg
