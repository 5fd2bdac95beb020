// Linear least squares, and equations with tridiagonal and banded matrices.
#include <algorithm>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/tensor/index.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/linalg/matrices.h"
#include "panto/lib/ops/math/complex.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/linalg.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

using namespace matrix;

// ---- Least squares ------------------------------------------------------------------------------------------------

void solve_ls_shape(ShapeContext& c) {
  c.expect_rank_at_least(0, 2);
  c.expect_rank_at_least(1, 2);
  c.expect_equal(c.dim(0, -2), c.dim(1, -2), "rows of rhs");
  c.expect_scalar(2);
  c.output(same_batch(c, {c.dim(0, -1), c.dim(1, -1)}));
}

// A solver for the normal equations: those of A' A + r if A has at least as many rows as columns (`tall`), else those
// of A A' + r. If a trace does not know which, both are solved, and `apply` selects the valid one. The other result is
// meaningless but finite, so that its derivatives are zeros.
struct NormalEquations {
  bool tall;
  Tensor factor;

  NormalEquations(const Tensor& a, const Tensor& regularizer, bool tall, const Tensor& apply) : tall(tall) {
    const Tensor gram = tall ? adjoint_mul(a, a) : mul_adjoint(a, a);
    Tensor on_diagonal = diagonal(gram);
    if (apply.defined()) {
      on_diagonal = on_diagonal * cast(where(apply, 1.0, 2.0), a.dtype()) +
                    cast(where(apply, regularizer, ones_like(regularizer)), a.dtype());
    } else {
      on_diagonal = on_diagonal + cast(regularizer, a.dtype());
    }
    factor = cholesky(with_diagonal(gram, on_diagonal));
  }
  Tensor solve(const Tensor& right) const {
    return matrix_triangular_solve(factor, matrix_triangular_solve(factor, right), {.adjoint = true});
  }
};

// Returns derivatives(equations) for the valid equations.
template <class F>
std::vector<Tensor> by_normal_equations(const Tensor& a, const Tensor& regularizer, const F& derivatives) {
  const PartialShape& shape = a.partial_shape();
  const int64_t m = shape.known_rank() ? shape.dim(shape.rank() - 2) : -1;
  const int64_t n = shape.known_rank() ? shape.dim(shape.rank() - 1) : -1;
  if (m >= 0 && n >= 0) return derivatives(NormalEquations(a, regularizer, m >= n, Tensor()));
  const Tensor sizes = panto::shape(a);
  const Tensor is_tall = greater_equal(sizes(-2), sizes(-1));
  std::vector<Tensor> tall = derivatives(NormalEquations(a, regularizer, true, is_tall));
  const std::vector<Tensor> wide = derivatives(NormalEquations(a, regularizer, false, logical_not(is_tall)));
  for (size_t k = 0; k < tall.size(); ++k) {
    if (tall[k].defined()) tall[k] = where(is_tall, tall[k], wide[k]);
  }
  return tall;
}

void check_fast(bool fast) {
  if (!fast) fail(Code::kUnimplemented, "derivative of MatrixSolveLs: expected fast = true, got false");
}

void gradient_of_solve_ls(GradContext& g) {
  check_fast(g.flag("fast"));
  const Tensor &a = g.in(0), &b = g.in(1), &x = g.out(0);
  const std::vector<Tensor> found =
      by_normal_equations(a, g.in(2), [&](const NormalEquations& equations) -> std::vector<Tensor> {
        Tensor da, db;
        if (equations.tall) {
          const Tensor z = equations.solve(g.dy());
          const Tensor both = mul_adjoint(x, z);
          if (g.needs(0)) da = mul_adjoint(b, z) - matrix_mul(a, both + adjoint(both));
          if (g.needs(1)) db = matrix_mul(a, z);
          return {da, db};
        }
        db = equations.solve(matrix_mul(a, g.dy()));
        if (g.needs(0)) {
          const Tensor y = equations.solve(b);  // x is A' y
          da = mul_adjoint(y, g.dy() - adjoint_mul(a, db)) - mul_adjoint(db, x);
        }
        return {da, db};
      });
  for (int i = 0; i < 2; ++i) {
    if (g.needs(i)) g.set(i, found[static_cast<size_t>(i)]);
  }
}

void tangent_of_solve_ls(JvpContext& c) {
  check_fast(c.flag("fast"));
  const Tensor &a = c.in(0), &b = c.in(1), &x = c.out();
  const auto zero = [](const Tensor& t) { return zeros_like(t); };
  const Tensor da = c.has_tangent(0) ? c.tangent(0) : zero(a);
  const Tensor db = c.has_tangent(1) ? c.tangent(1) : zero(b);
  const auto tangent = [&](const NormalEquations& equations) -> std::vector<Tensor> {
    if (equations.tall) {
      // (A' A + r) x = A' b
      return {equations.solve(adjoint_mul(a, db) + adjoint_mul(da, b - matrix_mul(a, x)) -
                              adjoint_mul(a, matrix_mul(da, x)))};
    }
    // (A A' + r) y = b
    const Tensor y = equations.solve(b);
    const Tensor dy = equations.solve(db - matrix_mul(da, x) - matrix_mul(a, adjoint_mul(da, y)));
    return {adjoint_mul(da, y) + adjoint_mul(a, dy)};
  };
  c.set(0, by_normal_equations(a, c.in(2), tangent)[0]);
}

// ---- Three diagonals ----------------------------------------------------------------------------------------------

// next_rows: the rows of x from the second on, then a row of zeros. previous_rows: a row of zeros, then all rows of x
// but the last.
Tensor next_rows(const Tensor& x) {
  return concat({x(Ellipsis, Slice(1), Slice()), zeros_like(x(Ellipsis, Slice({}, 1), Slice()))}, -2);
}
Tensor previous_rows(const Tensor& x) {
  return concat({zeros_like(x(Ellipsis, Slice({}, 1), Slice())), x(Ellipsis, Slice({}, -1), Slice())}, -2);
}

struct Diagonals {
  Tensor above, main, below;  // [..., 1, n]
};
Diagonals rows_of(const Tensor& t) {
  const auto row = [&](int64_t i) { return t(Ellipsis, Slice(i, i + 1), Slice()); };
  return {row(0), row(1), row(2)};
}
Tensor in_one(const Diagonals& d) { return concat({d.above, d.main, d.below}, -2); }
Diagonals adjoint_of(const Diagonals& d) {
  const auto none = [](const Tensor& x) { return zeros_like(x(Ellipsis, Slice({}, 1))); };
  return {conjugate(concat({d.below(Ellipsis, Slice(1)), none(d.below)}, -1)), conjugate(d.main),
          conjugate(concat({none(d.above), d.above(Ellipsis, Slice({}, -1))}, -1))};
}
// The three diagonals of `x y'`.
Diagonals diagonals_of_product(const Tensor& x, const Tensor& y) {
  const Tensor z = conjugate(y);
  const auto row = [](const Tensor& t) { return expand_dims(sum(t, -1), -2); };
  return {row(x * next_rows(z)), row(x * z), row(x * previous_rows(z))};
}

void tridiagonal_mat_mul_shape(ShapeContext& c) {
  c.expect_rank_at_least(3, 2);
  PartialShape batch = with_last(c.shape(3), {});
  int64_t n = c.dim(3, -2);
  for (int i = 0; i < 3; ++i) {
    c.expect_rank_at_least(i, 2);
    c.expect_equal(1, c.dim(i, -2), "rows of a diagonal");
    n = c.merge(n, c.dim(i, -1), "columns of a diagonal");
    const PartialShape own = with_last(c.shape(i), {});
    if (!own.compatible_with(batch)) {
      invalid("batch dimensions: expected {}, got {}", batch.to_string(), own.to_string());
    }
    batch = batch.merged_with(own);
  }
  c.output(batch.known_rank() ? with_last(batch, {n, c.dim(3, -1)}, 0) : batch);
}

void tridiagonal_solve_shape(ShapeContext& c) {
  if (c.flag("perturb_singular") && !c.flag("partial_pivoting")) {
    invalid("perturb_singular: expected false without partial_pivoting, got true");
  }
  c.expect_rank_at_least(0, 2);
  c.expect_rank_at_least(1, 2);
  c.expect_equal(3, c.dim(0, -2), "rows of diagonals");
  const int64_t n = c.merge(c.dim(0, -1), c.dim(1, -2), "rows of rhs");
  c.output(same_batch(c, {n, c.dim(1, -1)}));
}

}  // namespace

const Op& kMatrixSolveLs = define_op(
    "MatrixSolveLs(matrix: T, rhs: T, l2_regularizer: float64 @host; T: float16|float32|float64|complex,"
    " fast: bool = true) -> (output: T)",
    {.doc =
         "Solutions of `matrix X = rhs` in the sense of least squares, for matrices [..., m, n] and right sides "
         "[..., m, k]: the X for which the squares of what is left and `l2_regularizer` times its own squares add up "
         "to least; of several that with the least own squares. `fast`: by normal equations, which is less exact "
         "and InvalidArgument for a matrix that is not of full rank; otherwise by a complete orthogonal "
         "factorization, and without the regularizer, as in TensorFlow. Of infinities or NaN everything is NaN. "
         "Gradients are of `fast`, by `matrix` and `rhs`.",
     .aliases = {"BatchMatrixSolveLs"},
     .shape = solve_ls_shape,
     .saves = {in(0), in(1), in(2), out(0)},
     .gradient = gradient_of_solve_ls,
     .flops = [](const CostContext& c) { return c.numel(0) * (c.dim(0, -1) + 2 * c.dim(1, -1)); },
     .batch = batching::trailing,
     .jvp = tangent_of_solve_ls});

const Op& kTridiagonalMatMul = define_op(
    "TridiagonalMatMul(superdiag: T, maindiag: T, subdiag: T, rhs: T; T: float32|float64|complex) -> (output: T)",
    {.doc = "Products of tridiagonal matrices and `rhs` [..., n, k]. The diagonals are rows [..., 1, n]; the last "
            "element of `superdiag` and the first of `subdiag` are not read.",
     .shape = tridiagonal_mat_mul_shape,
     .saves = {in(0), in(1), in(2), in(3)},
     .gradient =
         [](GradContext& g) {
           const Diagonals d = diagonals_of_product(g.dy(), g.in(3));
           g.set(0, d.above);
           g.set(1, d.main);
           g.set(2, d.below);
           if (!g.needs(3)) return;
           const Diagonals of_adjoint = adjoint_of({g.in(0), g.in(1), g.in(2)});
           g.set(3, tridiagonal_mat_mul(of_adjoint.above, of_adjoint.main, of_adjoint.below, g.dy()));
         },
     .flops = [](const CostContext& c) { return 5 * c.numel(3); },
     .batch = batching::trailing,
     .jvp =
         [](JvpContext& c) {
           Tensor sum;
           if (c.has_tangent(0) || c.has_tangent(1) || c.has_tangent(2)) {
             const auto tangent = [&](int i) { return c.has_tangent(i) ? c.tangent(i) : zeros_like(c.in(i)); };
             sum = tridiagonal_mat_mul(tangent(0), tangent(1), tangent(2), c.in(3));
           }
           if (c.has_tangent(3)) {
             const Tensor moved = tridiagonal_mat_mul(c.in(0), c.in(1), c.in(2), c.tangent(3));
             sum = sum.defined() ? sum + moved : moved;
           }
           c.set(0, sum);
         }});

const Op& kTridiagonalSolve = define_op(
    "TridiagonalSolve(diagonals: T, rhs: T; partial_pivoting: bool = true, perturb_singular: bool = false,"
    " T: float32|float64|complex) -> (output: T)",
    {.doc =
         "X of `A X = rhs` for tridiagonal A and right sides [..., n, k]. The rows of `diagonals` [..., 3, n] are the "
         "diagonal above the main one, the main one, and that below; the last element of the first and the first of "
         "the last are not read. `partial_pivoting` exchanges rows where that gives a larger pivot. Where a pivot is "
         "zero everything is NaN, unless `perturb_singular`, which needs `partial_pivoting`, replaces it by a small "
         "number.",
     .shape = tridiagonal_solve_shape,
     .saves = {in(0), out(0)},
     .gradient =
         [](GradContext& g) {
           const Tensor db = tridiagonal_solve(
               in_one(adjoint_of(rows_of(g.in(0)))), g.dy(),
               {.partial_pivoting = g.flag("partial_pivoting"), .perturb_singular = g.flag("perturb_singular")});
           if (g.needs(0)) g.set(0, -in_one(diagonals_of_product(db, g.out(0))));
           g.set(1, db);
         },
     .flops = [](const CostContext& c) { return 12 * c.numel(1); },
     .batch = batching::trailing,
     .jvp =
         [](JvpContext& c) {
           Tensor right = c.tangent(1);
           if (c.has_tangent(0)) {
             const Diagonals d = rows_of(c.tangent(0));
             const Tensor moved = -tridiagonal_mat_mul(d.above, d.main, d.below, c.out());
             right = right.defined() ? right + moved : moved;
           }
           c.set(0, tridiagonal_solve(c.in(0), right,
                                      {.partial_pivoting = c.flag("partial_pivoting"),
                                       .perturb_singular = c.flag("perturb_singular")}));
         }});

namespace {

// The bands of the matrix `product` in the layout of `bands`: the main diagonal is first for a lower triangle, last for
// an upper one.
Tensor bands_of(const Tensor& product, const Tensor& bands, bool is_lower) {
  const int64_t known =
      bands.partial_shape().known_rank() ? bands.partial_shape().dim(bands.partial_shape().rank() - 2) : kUnknownDim;
  const Tensor zero = zeros({}, product.dtype());
  if (known >= 0) {
    const auto last = static_cast<int32_t>(known - 1);
    const Tensor k = is_lower ? constant(tensor({-last, 0}), kInt32) : constant(tensor({0, last}), kInt32);
    return matrix_diag_part(product, k, zero, {.align = "LEFT_RIGHT"});
  }
  const Tensor last = shape(bands)(-2) - 1, none = zeros_like(last);
  return matrix_diag_part(product, is_lower ? pack({-last, none}) : pack({none, last}), zero, {.align = "LEFT_RIGHT"});
}
// The matrix with these bands.
Tensor matrix_of(const Tensor& bands, bool is_lower) {
  const Tensor minus_one = constant(tensor(-1), kInt32), n = shape(bands)(-1);
  const Tensor last = shape(bands)(-2) - 1, none = zeros_like(last);
  return matrix_diag(bands, is_lower ? pack({-last, none}) : pack({none, last}), n, n, zeros({}, bands.dtype()),
                     {.align = "LEFT_RIGHT"});
}

void banded_batch(BatchContext& c) {
  const int rank = std::max(c.rank(0), c.rank(1));
  const auto factor = [&](int i) { return c.batched(i) ? c.with_rank(i, rank) : c.in(i); };
  c.set_out(0, c.again({factor(0), factor(1)})[0]);
}

}  // namespace

const Op& kBandedTriangularSolve = define_op(
    "BandedTriangularSolve(matrix: T, rhs: T; lower: bool = true, adjoint: bool = false,"
    " T: float16|float32|float64|complex) -> (output: T)",
    {.doc = "X of `A X = rhs`, or of the equations of its adjoint, for triangular A of which some diagonals are given, "
            "as rows of `matrix` [..., bands, n], and right sides [..., n, k]; the leading dimensions broadcast. With "
            "`lower` the main diagonal is the first row, otherwise the last. Each element is in the column of its row "
            "of A. InvalidArgument where a number on the main diagonal is zero.",
     .traits = {Trait::kBroadcasts},
     .shape =
         [](ShapeContext& c) {
           c.expect_rank_at_least(0, 2);
           c.expect_rank_at_least(1, 2);
           if (c.dim(0, -2) == 0) invalid("bands: expected at least one, got none");
           const int64_t n = c.merge(c.dim(0, -1), c.dim(1, -2), "rows of rhs");
           if (n >= 0 && c.dim(0, -2) > std::max<int64_t>(n, 1)) {
             invalid("bands: expected at most {}, got {}", n, c.dim(0, -2));
           }
           broadcast_batch(c, {n, c.dim(1, -1)});
         },
     .saves = {in(0), out(0)},
     .gradient =
         [](GradContext& g) {
           const bool is_lower = g.flag("lower"), of_adjoint = g.flag("adjoint");
           const Tensor db = banded_triangular_solve(g.in(0), g.dy(), {.lower = is_lower, .adjoint = !of_adjoint});
           if (g.needs(0)) {
             const Tensor product = of_adjoint ? mul_adjoint(g.out(0), db) : mul_adjoint(db, g.out(0));
             g.set(0, -bands_of(product, g.in(0), is_lower));
           }
           g.set(1, db);
         },
     .flops = [](const CostContext& c) { return 2 * c.dim(0, -2) * c.out_numel(0); },
     .batch = banded_batch,
     .jvp =
         [](JvpContext& c) {
           const bool is_lower = c.flag("lower"), of_adjoint = c.flag("adjoint");
           Tensor right = c.tangent(1);
           if (c.has_tangent(0)) {
             const Tensor da = matrix_of(c.tangent(0), is_lower);
             const Tensor moved = -(of_adjoint ? adjoint_mul(da, c.out()) : matrix_mul(da, c.out()));
             right = right.defined() ? right + moved : moved;
           }
           c.set(0, banded_triangular_solve(c.in(0), right, {.lower = is_lower, .adjoint = of_adjoint}));
         }});

}  // namespace panto
