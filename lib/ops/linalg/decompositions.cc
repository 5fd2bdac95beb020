// Orthogonal decompositions, singular values and eigenvalues. Formulas of derivatives: M. B. Giles, An extended
// collection of matrix derivative results for forward and reverse mode algorithmic differentiation; J. Townsend,
// Differentiating the singular value decomposition; S. F. Walter and L. Lehmann, Algorithmic differentiation of linear
// algebra functions with application in optimum experimental design; Z.-Q. Wan and S.-X. Zhang, Automatic
// differentiation for complex valued SVD.
#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/tensor/index.h"
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

bool is_complex(const Tensor& x) { return dtypes::kComplex.contains(x.dtype()); }
int64_t smaller(int64_t a, int64_t b) { return a < 0 || b < 0 ? (a == 0 || b == 0 ? 0 : -1) : std::min(a, b); }
// i times the imaginary part, in the type of x.
Tensor imaginary_of(const Tensor& x) { return 0.5 * (x - conj(x)); }

// The gradient of output k, or zeros.
Tensor gradient_or_zeros(const GradContext& g, int k) { return g.has_dy(k) ? g.dy(k) : zeros_like(g.out(k)); }

template <int kTimes>
int64_t by_sides(const CostContext& c) {
  return c.numel(0) * std::min(c.dim(0, -1), c.dim(0, -2)) * kTimes;
}

// ---- Qr -----------------------------------------------------------------------------------------------------------

void qr_shape(ShapeContext& c) {
  c.expect_rank_at_least(0, 2);
  const int64_t m = c.dim(0, -2), n = c.dim(0, -1);
  const int64_t between = c.flag("full_matrices") ? m : smaller(m, n);
  c.output(0, with_last(c.shape(0), {m, between}));
  c.output(1, with_last(c.shape(0), {between, n}));
}

// Splits matrices after as many columns, or rows, as the shorter side of `like` has. That number may be known only when
// a graph runs.
class Parts {
 public:
  explicit Parts(const Tensor& like) {
    const PartialShape& shape = like.partial_shape();
    if (shape.known_rank()) known_ = smaller(shape.dim(shape.rank() - 2), shape.dim(shape.rank() - 1));
    if (known_ < 0) {
      const Tensor dims = panto::shape(like);
      count_ = minimum(dims(-2), dims(-1));
    }
  }
  // Splits along dimension `axis`, -1 or -2. The second part may be empty; it is undefined if it is known to be.
  std::pair<Tensor, Tensor> of(const Tensor& x, int axis) const {
    const PartialShape& shape = x.partial_shape();
    const int64_t all = shape.known_rank() ? shape.dim(shape.rank() + axis) : -1;
    if (known_ >= 0 && all == known_) return {x, Tensor()};
    const Tensor sizes = known_ >= 0 && all >= 0 ? constant(tensor(std::vector<int64_t>{known_, all - known_}), kInt64)
                                                 : dynamic_sizes(x, axis);
    const std::vector<Tensor> parts = split_v(x, sizes, axis, 2);
    return {parts[0], parts[1]};
  }
  std::pair<Tensor, Tensor> columns(const Tensor& x) const { return of(x, -1); }

 private:
  Tensor dynamic_sizes(const Tensor& x, int axis) const {
    const Tensor all = panto::shape(x)(axis);
    const Tensor count = known_ >= 0 ? zeros_like(all) + static_cast<int32_t>(known_) : count_;
    return pack({count, all - count});
  }

  int64_t known_ = -1;
  Tensor count_;
};

// With full matrices, U or V has further vectors X2 beyond the vectors X1 that belong to singular values. X2 may be any
// orthonormal vectors perpendicular to X1, and is taken to rotate with X1 as little as possible. If a function does not
// depend on the choice of X2, its gradient dX2 contributes -X2 dX2' X1 to the gradient of X1.
Tensor with_gradient_of_others(const Tensor& dx, const Tensor& x, const Tensor& others, const Tensor& d_others) {
  return others.defined() ? dx - matrix_mul(others, adjoint_mul(d_others, x)) : dx;
}
Tensor with_tangent_of_others(const Tensor& dx, const Tensor& x, const Tensor& others) {
  return others.defined() ? concat({dx, -matrix_mul(x, adjoint_mul(dx, others))}, -1) : dx;
}

// For a matrix with at least as many rows as columns. With W = Q' dA R^-1 and B = tril(W, -1) - tril(W, -1)' + i Im
// diag(W), the tangents are dQ = dA R^-1 - Q W + Q B and dR = (W - B) R; this is the adjoint of that map.
Tensor gradient_of_qr(const Tensor& q, const Tensor& r, const Tensor& dq, const Tensor& dr_given) {
  const Tensor dr = upper(dr_given);
  const Tensor turned = adjoint_mul(q, dq);
  const Tensor k = turned - mul_adjoint(dr, r);
  const Tensor b = half_lower(k - adjoint(k));
  return matrix_mul(q, dr) + over_adjoint_of_upper(dq - matrix_mul(q, turned - b), r);
}

void gradient_of_any_qr(GradContext& g) {
  const Parts parts(g.in(0));
  const auto [q, more_q] = parts.columns(g.out(0));
  const auto [dq_given, more_dq] = parts.columns(gradient_or_zeros(g, 0));
  const Tensor r = parts.of(g.out(1), -2).first, dr = parts.of(gradient_or_zeros(g, 1), -2).first;
  const Tensor dq = with_gradient_of_others(dq_given, q, more_q, more_dq);
  // Only the left square of columns is decomposed; the remaining columns are Q times those of R.
  const auto [left_r, right_r] = parts.columns(r);
  if (!right_r.defined()) return g.set(0, gradient_of_qr(q, r, dq, dr));
  const auto [left_dr, right_dr] = parts.columns(dr);
  const Tensor right = parts.columns(g.in(0)).second;
  const Tensor left = gradient_of_qr(q, left_r, dq + mul_adjoint(right, right_dr), left_dr);
  g.set(0, concat({left, matrix_mul(q, right_dr)}, -1));
}

void tangent_of_qr(JvpContext& c) {
  const Parts parts(c.in(0));
  const auto [q, more_q] = parts.columns(c.out(0));
  const auto [r, more_r] = parts.of(c.out(1), -2);
  const auto [left_r, right_r] = parts.columns(r);
  const auto [left_da, right_da] = parts.columns(c.tangent(0));
  // dA R^-1, by solving the transposed equations.
  const Tensor x = swapped(matrix_triangular_solve(swapped(left_r), swapped(left_da)));
  const Tensor w = adjoint_mul(q, x);
  const Tensor below = with_diagonal(lower(w), zeros_like(diagonal(w)));
  Tensor b = below - adjoint(below);
  if (is_complex(b)) b = with_diagonal(b, imaginary_of(diagonal(w)));
  const Tensor dq = x - matrix_mul(q, w - b);
  c.set(0, with_tangent_of_others(dq, q, more_q));
  Tensor dr = upper(matrix_mul(w - b, left_r));
  if (right_r.defined()) {
    const Tensor right = parts.columns(c.in(0)).second;
    dr = concat({dr, adjoint_mul(dq, right) + adjoint_mul(q, right_da)}, -1);
  }
  c.set(1, more_r.defined() ? concat({dr, zeros_like(more_r)}, -2) : dr);
}

// ---- Svd ----------------------------------------------------------------------------------------------------------

void svd_shape(ShapeContext& c) {
  c.expect_rank_at_least(0, 2);
  const int64_t m = c.dim(0, -2), n = c.dim(0, -1), shorter = smaller(m, n);
  c.output(0, with_last(c.shape(0), {shorter}, 2));
  if (!c.flag("compute_uv")) {
    c.output(1, PartialShape{0});
    return c.output(2, PartialShape{0});
  }
  const bool full = c.flag("full_matrices");
  c.output(1, with_last(c.shape(0), {m, full ? m : shorter}));
  c.output(2, with_last(c.shape(0), {n, full ? n : shorter}));
}

Tensor in_rows(const Tensor& x) { return expand_dims(x, -1); }
Tensor in_columns(const Tensor& x) { return expand_dims(x, -2); }

// A = U S V'.
struct Triple {
  bool tall, wide;  // U, or V, may have columns beyond those that belong to singular values
  Parts parts;
  Tensor s, inverse;
  Tensor u, more_u, v, more_v;

  Triple(const Tensor& a, const Tensor& s, const Tensor& all_u, const Tensor& all_v)
      : parts(a), s(s), inverse(safe_reciprocal(s)) {
    const PartialShape& shape = a.partial_shape();
    const int64_t m = shape.known_rank() ? shape.dim(shape.rank() - 2) : -1;
    const int64_t n = shape.known_rank() ? shape.dim(shape.rank() - 1) : -1;
    const bool known = m >= 0 && n >= 0;
    tall = !known || m > n;
    wide = !known || m < n;
    std::tie(u, more_u) = parts.columns(all_u);
    std::tie(v, more_v) = parts.columns(all_v);
  }
};
Tensor outside(const Tensor& x, const Tensor& vectors) { return x - matrix_mul(vectors, adjoint_mul(vectors, x)); }

Tensor gradient_of_svd(const Triple& t, const Tensor& ds, const Tensor& all_du, const Tensor& all_dv) {
  const Tensor f = reciprocal_differences(square(t.s));
  const auto [du, more_du] = t.parts.columns(all_du);
  const auto [dv, more_dv] = t.parts.columns(all_dv);
  const Tensor u_du = adjoint_mul(t.u, du), v_dv = adjoint_mul(t.v, dv);
  Tensor inner =
      of_diagonal(ds) + f * (u_du - adjoint(u_du)) * in_columns(t.s) + in_rows(t.s) * (f * (v_dv - adjoint(v_dv)));
  if (is_complex(t.s)) inner = inner - of_diagonal(t.inverse * imaginary_of(diagonal(v_dv)));
  Tensor da = matrix_mul(t.u, mul_adjoint(inner, t.v));
  if (t.tall) {
    const Tensor out = with_gradient_of_others(outside(du, t.u), t.u, t.more_u, more_du);
    da = da + mul_adjoint(out * in_columns(t.inverse), t.v);
  }
  if (t.wide) {
    const Tensor out = with_gradient_of_others(outside(dv, t.v), t.v, t.more_v, more_dv);
    da = da + mul_adjoint(t.u * in_columns(t.inverse), out);
  }
  return da;
}

void gradient_of_any_svd(GradContext& g) {
  const Tensor& a = g.in(0);
  if (!g.flag("compute_uv")) {
    if (!g.has_dy(0)) return;
    const auto [s, u, v] = svd(a);
    return g.set(0, mul_adjoint(u * in_columns(real_of(g.dy(0))), v));
  }
  g.set(0, gradient_of_svd(Triple(a, g.out(0), g.out(1), g.out(2)), real_of(gradient_or_zeros(g, 0)),
                           gradient_or_zeros(g, 1), gradient_or_zeros(g, 2)));
}

void tangent_of_svd(JvpContext& c) {
  const Tensor &a = c.in(0), &da = c.tangent(0);
  if (!c.flag("compute_uv")) {
    const auto [s, u, v] = svd(a);
    return c.set(0, real_of(diagonal(adjoint_mul(u, matrix_mul(da, v)))));
  }
  const Triple t(a, c.out(0), c.out(1), c.out(2));
  const Tensor f = reciprocal_differences(square(t.s));
  const Tensor d = adjoint_mul(t.u, matrix_mul(da, t.v));
  const Tensor right = d * in_columns(t.s), left = in_rows(t.s) * d;
  Tensor turn_v = f * (left + adjoint(left));
  if (is_complex(d)) turn_v = turn_v - of_diagonal(t.inverse * imaginary_of(diagonal(d)));
  Tensor du = matrix_mul(t.u, f * (right + adjoint(right))), dv = matrix_mul(t.v, turn_v);
  if (t.tall) du = du + outside(matrix_mul(da, t.v), t.u) * in_columns(t.inverse);
  if (t.wide) dv = dv + outside(adjoint_mul(da, t.u), t.v) * in_columns(t.inverse);
  c.set(0, real_of(diagonal(d)));
  c.set(1, with_tangent_of_others(du, t.u, t.more_u));
  c.set(2, with_tangent_of_others(dv, t.v, t.more_v));
}

// ---- Eigenvalues --------------------------------------------------------------------------------------------------

void eig_shape(ShapeContext& c) {
  const int64_t n = square(c);
  c.output(0, with_last(c.shape(0), {n}));
  c.output(1, c.flag("compute_v") ? with_last(c.shape(0), {n, n}) : PartialShape{0});
}

// Outputs that were not asked for are vectors of length 0 and have no batch dimension.
void with_vectors_batch(BatchContext& c, bool asked) {
  const SmallVector<Tensor, 2> outputs = c.again({c.in(0)});
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (k == 0 || asked) {
      c.set_out(static_cast<int>(k), outputs[k]);
    } else {
      c.set_common(static_cast<int>(k), outputs[k]);
    }
  }
}

void gradient_of_self_adjoint_eig(GradContext& g) {
  Tensor inner, v;
  if (g.has_dy(0)) inner = of_diagonal(real_of(g.dy(0)));
  if (g.flag("compute_v")) {
    v = g.out(1);
    if (g.has_dy(1)) {
      const Tensor turned = reciprocal_differences(g.out(0)) * adjoint_mul(v, g.dy(1));
      inner = inner.defined() ? inner + turned : turned;
    }
  } else {
    v = self_adjoint_eig(g.in(0)).v;
  }
  if (!inner.defined()) return;
  const Tensor da = matrix_mul(v, mul_adjoint(inner, v));
  // Only the lower triangle is read.
  g.set(0, 2 * half_lower(hermitian(da)));
}

void tangent_of_self_adjoint_eig(JvpContext& c) {
  const bool vectors = c.flag("compute_v");
  const Tensor v = vectors ? c.out(1) : self_adjoint_eig(c.in(0)).v;
  const Tensor d = adjoint_mul(v, matrix_mul(hermitian_of_lower(c.tangent(0)), v));
  c.set(0, real_of(diagonal(d)));
  if (vectors) c.set(1, matrix_mul(v, reciprocal_differences(c.out(0)) * d));
}

// The part of a change of eigenvectors that would change their length, which is 1; it is subtracted. `turned`: V' dx.
Tensor real_diagonal(const Tensor& turned) { return of_diagonal(real_of(diagonal(turned))); }

void gradient_of_eig(GradContext& g) {
  Tensor inner, v;
  if (g.has_dy(0)) inner = of_diagonal(g.dy(0));
  if (g.flag("compute_v")) {
    v = g.out(1);
    if (g.has_dy(1)) {
      const Tensor turned = adjoint_mul(v, g.dy(1));
      const Tensor rest = turned - matrix_mul(adjoint_mul(v, v), real_diagonal(turned));
      const Tensor more = conj(reciprocal_differences(g.out(0))) * rest;
      inner = inner.defined() ? inner + more : more;
    }
  } else {
    v = eig(g.in(0), g.type("Tout")).v;
  }
  if (!inner.defined()) return;
  // V^-H inner V'
  const Tensor da = matrix_solve(v, mul_adjoint(inner, v), {.adjoint = true});
  g.set(0, is_complex(g.in(0)) ? da : cast(da, g.in_type(0)));
}

void tangent_of_eig(JvpContext& c) {
  const bool vectors = c.flag("compute_v");
  const DType type = c.type("Tout");
  const Tensor v = vectors ? c.out(1) : eig(c.in(0), type).v;
  const Tensor d = matrix_solve(v, matrix_mul(cast(c.tangent(0), type), v));
  c.set(0, diagonal(d));
  if (!vectors) return;
  const Tensor dv = matrix_mul(v, reciprocal_differences(c.out(0)) * d);
  c.set(1, dv - matrix_mul(v, real_diagonal(adjoint_mul(v, dv))));
}

}  // namespace

const Op& kQr = define_op(
    "Qr(input: T; full_matrices: bool = false, T: float16|float32|float64|complex) -> (q: T, r: T)",
    {.doc = "Matrices [..., m, n] as products of `q`, whose columns are perpendicular and of length 1, and the upper "
            "triangular `r`. There are as many columns as the smaller of m and n, or m with `full_matrices`. The signs "
            "are LAPACK's. Gradients should not depend on which columns `full_matrices` adds.",
     .shape = qr_shape,
     .saves = {in(0), out(0), out(1)},
     .gradient = gradient_of_any_qr,
     .flops = by_sides<4>,
     .batch = batching::trailing,
     .jvp = tangent_of_qr});

const Op& kSvd = define_op(
    "Svd(input: T; compute_uv: bool = true, full_matrices: bool = false, T: float16|float32|float64|complex)"
    " -> (s: T, u: T, v: T)",
    {.doc =
         "Singular values of matrices [..., m, n], the largest first, and the matrices of singular vectors for which "
         "the matrix is `u diag(s) v'`, where v' is the adjoint of `v`: with as many columns as the smaller of m and "
         "n, or all with `full_matrices`. Without `compute_uv` both are empty vectors. Of a matrix with infinities "
         "or NaN everything is NaN. Signs of vectors are LAPACK's; gradients should not depend on them, nor "
         "on which columns `full_matrices` adds. Where values are equal, gradients by vectors have no part that would "
         "be infinite.",
     .aliases = {"BatchSvd"},
     .shape = svd_shape,
     .saves = {in(0), out(0), out(1), out(2)},
     .gradient = gradient_of_any_svd,
     .flops = by_sides<20>,
     .batch = [](BatchContext& c) { with_vectors_batch(c, c.flag("compute_uv")); },
     .jvp = tangent_of_svd});

const Op& kSelfAdjointEigV2 = define_op(
    "SelfAdjointEigV2(input: T; compute_v: bool = true, T: float16|float32|float64|complex) -> (e: T, v: T)",
    {.doc = "Eigenvalues of matrices [..., n, n] that are their own adjoints, the smallest first, and eigenvectors as "
            "columns of `v`; without `compute_v` that is an empty vector. Only the lower triangles are read. "
            "InvalidArgument for infinities and NaN. Where values are equal, gradients by vectors have no part "
            "that would be infinite, as in TensorFlow.",
     .cpp = "self_adjoint_eig",
     .aliases = {"BatchSelfAdjointEigV2"},
     .shape = eig_shape,
     .saves = {in(0), out(0), out(1)},
     .gradient = gradient_of_self_adjoint_eig,
     .flops = by_sides<9>,
     .batch = [](BatchContext& c) { with_vectors_batch(c, c.flag("compute_v")); },
     .jvp = tangent_of_self_adjoint_eig});

const Op& kSelfAdjointEig =
    define_op("SelfAdjointEig(input: T; T: float16|float32|float64) -> (output: T)",
              {.doc = "The outputs of SelfAdjointEigV2 in one, [..., n + 1, n]: the values are the first row.",
               .cpp = "self_adjoint_eig_rows",
               .aliases = {"BatchSelfAdjointEig"},
               .body =
                   [](CompositeContext& c) {
                     const auto [e, v] = self_adjoint_eig(c.in(0));
                     c.set_out(0, concat({expand_dims(e, -2), v}, -2));
                   },
               .in_tensorflow = true});

const Op& kEig = define_op(
    "Eig(input: T; compute_v: bool = true, T: float32|float64|complex, Tout: complex) -> (e: Tout, v: Tout)",
    {.doc = "Eigenvalues of matrices [..., n, n], in no order, and eigenvectors of length 1 as columns of `v`; without "
            "`compute_v` that is an empty vector. `Tout` is the complex type of `T`'s width. InvalidArgument "
            "for infinities and NaN. Gradients by vectors should not depend on their signs; they are "
            "refused where there are fewer vectors than n.",
     .primary = "T",
     .shape =
         [](ShapeContext& c) {
           const DType wanted = complex_of(c.in(0).dtype());
           if (c.type("Tout") != wanted) {
             invalid("Tout: expected {} for {}, got {}", dtype_name(wanted), dtype_name(c.in(0).dtype()),
                     dtype_name(c.type("Tout")));
           }
           eig_shape(c);
         },
     .saves = {in(0), out(0), out(1)},
     .gradient = gradient_of_eig,
     .flops = by_sides<25>,
     .batch = [](BatchContext& c) { with_vectors_batch(c, c.flag("compute_v")); },
     .jvp = tangent_of_eig});

}  // namespace panto
