// Ops based on triangular factors: Cholesky and LU. Formulas of derivatives: M. B. Giles, An extended collection of
// matrix derivative results for forward and reverse mode algorithmic differentiation; I. Murray, Differentiation of the
// Cholesky decomposition.
#include <algorithm>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/linalg/matrices.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/run_time_checks.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/linalg.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

using namespace matrix;

// `kTimes * n^3 / kPart` operations for each matrix.
template <int kTimes, int kPart = 1>
int64_t by_cube(const CostContext& c) {
  return c.numel(0) * c.dim(0, -1) * kTimes / kPart;
}

void square_like_input(ShapeContext& c) {
  const int64_t n = square(c);
  c.output(with_last(c.shape(0), {n, n}));
}

// The shape function of ops whose outputs are numbers per square matrix.
void number_of_matrix(ShapeContext& c) {
  square(c);
  for (int k = 0; k < c.num_outputs(); ++k) c.output(k, with_last(c.shape(0), {}));
}

// The gradient of A through its Cholesky factor L: the Hermitian part of L^-H half_lower(L' dL) L^-1.
Tensor gradient_of_cholesky(const Tensor& l, const Tensor& dl) {
  const Tensor middle = half_lower(adjoint_mul(l, dl));
  const Tensor left = matrix_triangular_solve(l, middle, {.adjoint = true});
  return hermitian(matrix_triangular_solve(l, adjoint(left), {.adjoint = true}));
}

Tensor as_matrix(const Tensor& number) { return expand_dims(expand_dims(number, -1), -1); }

void solve_shape(ShapeContext& c) {
  const int64_t n = square(c);
  c.expect_rank_at_least(1, 2);
  c.expect_equal(n, c.dim(1, -2), "rows of rhs");
  c.output(same_batch(c, {n >= 0 ? n : c.dim(1, -2), c.dim(1, -1)}));
}

// The tangent of X in A X = B, or A' X = B. `solve` solves these equations for a right side.
template <class Solve>
Tensor tangent_of_solution(const JvpContext& c, const Tensor& da, const Solve& solve) {
  const Tensor& x = c.out();
  if (!da.defined()) return solve(c.tangent(1));
  const Tensor moved = -(c.flag("adjoint") ? adjoint_mul(da, x) : matrix_mul(da, x));
  return solve(c.has_tangent(1) ? c.tangent(1) + moved : moved);
}

Tensor triangle(const Tensor& x, bool is_lower) { return is_lower ? lower(x) : upper(x); }

void triangular_solve_batch(BatchContext& c) {
  const int rank = std::max(c.rank(0), c.rank(1));
  const auto factor = [&](int i) { return c.batched(i) ? c.with_rank(i, rank) : c.in(i); };
  c.set_out(0, c.again({factor(0), factor(1)})[0]);
}

}  // namespace

const Op& kCholesky = define_op(
    "Cholesky(input: T; T: float16|float32|float64|complex) -> (output: T)",
    {.doc = "The lower triangular L with a positive diagonal for which L times its adjoint is the matrix, of batches "
            "[..., n, n]. Of the input only the lower triangle is read. Where a matrix is not positive definite, "
            "the lower triangle of the output is NaN. As in TensorFlow the gradient is that of a matrix which stays "
            "its own adjoint.",
     .aliases = {"BatchCholesky"},
     .shape = square_like_input,
     .saves = {out(0)},
     .gradient = [](GradContext& g) { g.set(0, gradient_of_cholesky(g.out(0), g.dy())); },
     .flops = by_cube<1, 3>,
     .batch = batching::trailing,
     .jvp =
         [](JvpContext& c) {
           const Tensor& l = c.out();
           const Tensor left = matrix_triangular_solve(l, hermitian(c.tangent(0)));
           const Tensor both = matrix_triangular_solve(l, adjoint(left));
           c.set(0, matrix_mul(l, half_lower(adjoint(both))));
         }});

const Op& kCholeskyGrad = define_op(
    "CholeskyGrad(l: T, grad: T; T: float16|float32|float64) -> (output: T)",
    {.doc = "The gradient of Cholesky by its input, from the factor `l` and the gradient by that; it is symmetric. Of "
            "both only the lower triangles are read.",
     .aliases = {"BatchCholeskyGrad"},
     .body =
         [](CompositeContext& c) {
           const PartialShape &shape = c.in(0).partial_shape(), &given = c.in(1).partial_shape();
           if (!given.compatible_with(shape)) {
             invalid("grad: expected shape {}, got {}", shape.to_string(), given.to_string());
           }
           const Tensor grad = with_shape_of(c.in(1), c.in(0));
           c.set_out(0, gradient_of_cholesky(lower(c.in(0)), lower(grad)));
         },
     .in_tensorflow = true});

const Op& kMatrixInverse = define_op(
    "MatrixInverse(input: T; adjoint: bool = false, T: float16|float32|float64|complex) -> (output: T)",
    {.doc = "The inverses of square matrices [..., n, n], or of their adjoints. InvalidArgument where a pivot of "
            "Gaussian elimination is zero; a matrix that is nearly singular may have an inverse of large numbers.",
     .aliases = {"BatchMatrixInverse"},
     .shape = square_like_input,
     .saves = {out(0)},
     .gradient =
         [](GradContext& g) {
           const Tensor& y = g.out(0);
           g.set(0,
                 g.flag("adjoint") ? -matrix_mul(y, adjoint_mul(g.dy(), y)) : -adjoint_mul(y, mul_adjoint(g.dy(), y)));
         },
     .flops = by_cube<2>,
     .batch = batching::trailing,
     .jvp =
         [](JvpContext& c) {
           const Tensor &y = c.out(), &dx = c.tangent(0);
           c.set(0, -matrix_mul(y, c.flag("adjoint") ? adjoint_mul(dx, y) : matrix_mul(dx, y)));
         }});

const Op& kMatrixDeterminant = define_op(
    "MatrixDeterminant(input: T; T: float16|float32|float64|complex) -> (output: T)",
    {.doc = "The determinants of square matrices [..., n, n]; 1 where n is 0. The gradient needs the inverse: it is "
            "refused for singular matrices, as in TensorFlow.",
     .aliases = {"BatchMatrixDeterminant"},
     .shape = number_of_matrix,
     .saves = {in(0), out(0)},
     .gradient =
         [](GradContext& g) {
           g.set(0, as_matrix(g.dy() * g.conj_out(0)) * matrix_inverse(g.in(0), {.adjoint = true}));
         },
     .flops = by_cube<2, 3>,
     .batch = batching::trailing,
     .jvp = [](JvpContext& c) { c.set(0, c.out() * sum(diagonal(matrix_solve(c.in(0), c.tangent(0))), -1)); }});

const Op& kLogMatrixDeterminant = define_op(
    "LogMatrixDeterminant(input: T; T: float16|float32|float64|complex) -> (sign: T, log_abs_determinant: T)",
    {.doc = "The determinants of square matrices [..., n, n], as `sign * exp(log_abs_determinant)`: the sign of a "
            "complex one has the size 1. Of a singular matrix the sign is 0 and the logarithm minus infinity. The "
            "gradient is refused for singular matrices, as in TensorFlow.",
     .shape = number_of_matrix,
     .saves = {in(0), out(0)},
     .gradient =
         [](GradContext& g) {
           const bool complex = dtypes::kComplex.contains(g.in_type(0));
           Tensor dy = g.has_dy(1) ? real_of(g.dy(1)) : Tensor();
           if (complex && g.has_dy(0)) {
             // A complex sign rotates with the imaginary part of the trace of A^-1 dA.
             const Tensor turned = g.dy(0) * g.conj_out(0);
             const Tensor imaginary = turned - real_of(turned);
             dy = dy.defined() ? dy + imaginary : imaginary;
           }
           if (dy.defined()) g.set(0, as_matrix(dy) * matrix_inverse(g.in(0), {.adjoint = true}));
         },
     .flops = by_cube<2, 3>,
     .batch = batching::trailing,
     .jvp =
         [](JvpContext& c) {
           const Tensor change = sum(diagonal(matrix_solve(c.in(0), c.tangent(0))), -1);
           const Tensor real = real_of(change);
           if (dtypes::kComplex.contains(change.dtype())) c.set(0, c.out() * (change - real));
           c.set(1, real);
         }});

const Op& kMatrixSolve = define_op(
    "MatrixSolve(matrix: T, rhs: T; adjoint: bool = false, T: float16|float32|float64|complex) -> (output: T)",
    {.doc =
         "X of `matrix X = rhs`, or of the equations of its adjoint, for square matrices [..., n, n] and right sides "
         "[..., n, k] in batches of one shape. InvalidArgument where a pivot of Gaussian elimination is zero.",
     .aliases = {"BatchMatrixSolve"},
     .shape = solve_shape,
     .saves = {in(0), out(0)},
     .gradient =
         [](GradContext& g) {
           const bool of_adjoint = g.flag("adjoint");
           const Tensor db = matrix_solve(g.in(0), g.dy(), {.adjoint = !of_adjoint});
           if (g.needs(0)) g.set(0, -(of_adjoint ? mul_adjoint(g.out(0), db) : mul_adjoint(db, g.out(0))));
           g.set(1, db);
         },
     .flops = [](const CostContext& c) { return c.dim(0, -1) * (c.numel(0) + 2 * c.numel(1)); },
     .batch = batching::trailing,
     .jvp =
         [](JvpContext& c) {
           c.set(0, tangent_of_solution(c, c.tangent(0), [&](const Tensor& right) {
                   return matrix_solve(c.in(0), right, {.adjoint = c.flag("adjoint")});
                 }));
         }});

const Op& kMatrixTriangularSolve = define_op(
    "MatrixTriangularSolve(matrix: T, rhs: T; lower: bool = true, adjoint: bool = false,"
    " T: floating|complex) -> (output: T)",
    {.doc = "X of `matrix X = rhs`, or of the equations of its adjoint, for triangular matrices [..., n, n], of which "
            "the other triangle is not read, and right sides [..., n, k]; the leading dimensions broadcast. "
            "Numbers on the diagonal that are zero give infinities and NaN.",
     .aliases = {"BatchMatrixTriangularSolve"},
     .traits = {Trait::kBroadcasts},
     .shape =
         [](ShapeContext& c) {
           const int64_t n = square(c);
           c.expect_rank_at_least(1, 2);
           c.expect_equal(n, c.dim(1, -2), "rows of rhs");
           broadcast_batch(c, {n >= 0 ? n : c.dim(1, -2), c.dim(1, -1)});
         },
     .saves = {in(0), out(0)},
     .gradient =
         [](GradContext& g) {
           const bool is_lower = g.flag("lower"), of_adjoint = g.flag("adjoint");
           const Tensor db = matrix_triangular_solve(g.in(0), g.dy(), {.lower = is_lower, .adjoint = !of_adjoint});
           if (g.needs(0)) {
             g.set(0, -triangle(of_adjoint ? mul_adjoint(g.out(0), db) : mul_adjoint(db, g.out(0)), is_lower));
           }
           g.set(1, db);
         },
     .flops = [](const CostContext& c) { return c.dim(0, -1) * c.out_numel(0); },
     .batch = triangular_solve_batch,
     .jvp =
         [](JvpContext& c) {
           const bool is_lower = c.flag("lower");
           const Tensor da = c.has_tangent(0) ? triangle(c.tangent(0), is_lower) : Tensor();
           c.set(0, tangent_of_solution(c, da, [&](const Tensor& right) {
                   return matrix_triangular_solve(c.in(0), right, {.lower = is_lower, .adjoint = c.flag("adjoint")});
                 }));
         }});

const Op& kLu = define_op(
    "Lu(input: T; output_idx_type: index = int32, T: float16|float32|float64|complex)"
    " -> (lu: T, p: output_idx_type)",
    {.doc = "Triangular factors of square matrices [..., n, n] whose rows are exchanged: rows `p` of a matrix are the "
            "product of `lu`'s lower triangle, with ones on the diagonal, and its upper one. InvalidArgument where a "
            "pivot is zero.",
     .primary = "T",
     .shape =
         [](ShapeContext& c) {
           const int64_t n = square(c);
           c.output(0, with_last(c.shape(0), {n, n}));
           c.output(1, with_last(c.shape(0), {n}));
         },
     .no_gradient = "TensorFlow has none",
     .flops = by_cube<2, 3>,
     .batch = batching::trailing});

}  // namespace panto
