// Linear algebra: decompositions as the products that they are, gradients of functions that do not depend on what signs
// vectors have, and the functions of namespace linalg.
#include "panto/lib/ops/linalg/linalg.h"

#include <cmath>
#include <limits>

#include "panto/autograd/gradcheck.h"
#include "panto/autograd/transforms/derivatives.h"
#include "panto/autograd/transforms/jvp.h"
#include "panto/autograd/transforms/vmap.h"
#include "panto/lib/core/step/threads.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/linalg/matrices.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/ops/reductions.h"
#include "panto/ops/linalg.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/tests/ops/array_value.h"
#include "panto/tests/ops/complex_gradients.h"

namespace panto {
namespace {

const DTypeSet kTypes{kFloat16, kFloat32, kFloat64, kComplex64, kComplex128};

Tensor some(std::vector<int64_t> dims, DType type, int seed = 0) {
  if (!dtypes::kComplex.contains(type)) return cast(test::to_tensor(test::draw(dims, -2, 2, seed), kFloat64), type);
  return cast(test::to_tensor(test::draw_complex(dims, -2, 2, seed), kComplex128), type);
}
Tensor positive(std::vector<int64_t> dims, DType type) {
  const Tensor x = some(dims, type);
  return matrix::mul_adjoint(x, x) + matrix::identity_like(x);
}

// The largest distance, by the type's precision and the largest number.
double distance(const Tensor& a, const Tensor& b) {
  const double unit = test::epsilon(a.dtype());
  BOOST_TEST(a.shape().to_string() == b.shape().to_string());
  const auto x = cast(a, kComplex128).to_vector<Complex>(), y = cast(b, kComplex128).to_vector<Complex>();
  double largest = 1, far = 0;
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    largest = std::max(largest, std::abs(y[i]));
    if (!(std::abs(x[i] - y[i]) <= far)) far = std::abs(x[i] - y[i]);
  }
  return far / (unit * largest);
}
void expect_same(const Tensor& a, const Tensor& b, double units = 60) {
  const double far = distance(a, b);
  BOOST_TEST(far <= units, far << " units apart");
}
void expect_perpendicular_columns(const Tensor& q) {
  const Tensor product = matrix::adjoint_mul(q, q);
  expect_same(product, matrix::identity_like(product));
}
Tensor in_columns(const Tensor& x, const Tensor& values) { return x * expand_dims(values, -2); }

template <class F>
void each_type(F f) {
  for (int i = 0; i < kDTypeSlots; ++i) {
    const auto type = static_cast<DType>(i);
    if (!kTypes.contains(type)) continue;
    BOOST_TEST_CONTEXT(dtype_name(type)) { f(type); }
  }
}
const std::vector<std::vector<int64_t>> kShapes = {{1, 1},       {4, 4},   {2, 5, 3}, {3, 5},
                                                   {2, 2, 1, 4}, {40, 33}, {5, 8, 8}};

Tensor complex_tensor(std::vector<int64_t> dims, int seed = 0) { return some(std::move(dims), kComplex128, seed); }

void check_real(const std::function<Tensor(const Tensor&)>& f, const Tensor& x) {
  const auto of_span = [&](std::span<const Tensor> in) { return f(in[0]); };
  const GradcheckResult first = gradcheck(of_span, std::vector{x}),
                        second = gradcheck_second_order(of_span, std::vector{x});
  BOOST_TEST(first.ok, first.report);
  BOOST_TEST(second.ok, second.report);
  // Tangents, against differences.
  const Tensor v = some({x.shape().dims().begin(), x.shape().dims().end()}, kFloat64, 3);
  const auto [y, along] = jvp([&](const Tensor& z) { return f(z); }, x, v);
  const Tensor steps = (f(x + 1e-6 * v) - f(x - 1e-6 * v)) / 2e-6;
  const std::vector<double> got = along.to_vector<double>(), wanted = steps.to_vector<double>();
  for (size_t i = 0; i < got.size(); ++i)
    BOOST_TEST(std::abs(got[i] - wanted[i]) <= 1e-6 * std::max(1.0, std::abs(wanted[i])));
}
void check_complex(const std::function<Tensor(const Tensor&)>& f, const Tensor& x) {
  check_gradients([&](const Tensors& a) { return f(a[0]); }, {x}, 1);
  const Tensor v = complex_tensor({x.shape().dims().begin(), x.shape().dims().end()}, 3);
  const auto [y, along] = jvp([&](const Tensor& z) { return f(z); }, x, v);
  const Tensor steps = (f(x + 1e-6 * v) - f(x - 1e-6 * v)) / 2e-6;
  expect_close(along, steps.to_vector<Complex>(), 1e-6, 1);
}

BOOST_AUTO_TEST_SUITE(ops)
BOOST_AUTO_TEST_SUITE(linear_algebra)

BOOST_AUTO_TEST_CASE(qr_is_a_product_of_perpendicular_columns_and_a_triangle) {
  each_type([](DType type) {
    for (const auto& dims : kShapes) {
      for (const bool full : {false, true}) {
        const Tensor a = some(dims, type);
        const auto [q, r] = qr(a, {.full_matrices = full});
        expect_same(matrix::matrix_mul(q, r), a);
        expect_perpendicular_columns(q);
        expect_same(r, matrix::upper(r), 0);
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(svd_is_a_product) {
  each_type([](DType type) {
    for (const auto& dims : kShapes) {
      for (const bool full : {false, true}) {
        const Tensor a = some(dims, type);
        const auto [s, u, v] = svd(a, {.full_matrices = full});
        const int64_t values = s.shape().dim(s.rank() - 1);
        const Tensor u1 = u(Ellipsis, Slice({}, values)), v1 = v(Ellipsis, Slice({}, values));
        expect_same(matrix::mul_adjoint(in_columns(u1, s), v1), a);
        expect_perpendicular_columns(u);
        expect_perpendicular_columns(v);
        expect_same(svd(a, {.compute_uv = false}).s, s);
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(eigenvectors_keep_their_directions) {
  each_type([](DType type) {
    for (const auto& dims : std::vector<std::vector<int64_t>>{{1, 1}, {4, 4}, {2, 3, 3}, {5, 8, 8}, {40, 40}}) {
      const Tensor x = some(dims, type), a = matrix::hermitian(x);
      const auto [e, v] = self_adjoint_eig(a);
      expect_same(matrix::matrix_mul(a, v), in_columns(v, e), 200);
      expect_perpendicular_columns(v);
      expect_same(self_adjoint_eig(a, {.compute_v = false}).e, e, 100);
      // The upper triangle is not read.
      expect_same(self_adjoint_eig(matrix::lower(a)).e, e, 0);
      if (type == kFloat16) continue;
      const auto [values, vectors] = linalg::eig(x);
      expect_same(matrix::matrix_mul(cast(x, values.dtype()), vectors), in_columns(vectors, values), 400);
      expect_same(sqrt(sum(square(complex_abs(vectors)), -2)), ones_like(complex_abs(values)));
    }
  });
}

BOOST_AUTO_TEST_CASE(factors) {
  each_type([](DType type) {
    for (const auto& dims : std::vector<std::vector<int64_t>>{{1, 1}, {4, 4}, {2, 3, 3}, {5, 8, 8}, {40, 40}}) {
      if (type == kFloat16 && dims[0] == 40) continue;
      const Tensor a = positive(dims, type), l = cholesky(a);
      expect_same(matrix::mul_adjoint(l, l), a);
      expect_same(l, matrix::lower(l), 0);
      const Tensor x = some(dims, type) + 4 * matrix::identity_like(a);
      const Tensor inverse = matrix_inverse(x);
      expect_same(matrix::matrix_mul(x, inverse), matrix::identity_like(x), 4000);
      expect_same(matrix_inverse(x, {.adjoint = true}), matrix::adjoint(inverse), 2000);
      const Tensor b = some(dims, type, 1);
      expect_same(matrix::matrix_mul(x, matrix_solve(x, b)), b, 4000);
      expect_same(matrix::adjoint_mul(x, matrix_solve(x, b, {.adjoint = true})), b, 4000);
    }
  });
}

BOOST_AUTO_TEST_CASE(nothing_is_there_of_empty_matrices) {
  const Tensor none = zeros({2, 0, 0});
  expect_near(matrix_determinant(none), {2}, {1, 1});
  BOOST_TEST(cholesky(none).shape().to_string() == "[2,0,0]");
  const auto [q, r] = qr(zeros({3, 0}), {.full_matrices = true});
  expect_near(q, {3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1});
  BOOST_TEST(r.shape().to_string() == "[3,0]");
  const auto [s, u, v] = svd(zeros({0, 2}), {.full_matrices = true});
  expect_near(v, {2, 2}, {1, 0, 0, 1});
  BOOST_TEST(s.shape().to_string() == "[0]");
  BOOST_TEST(u.shape().to_string() == "[0,0]");
  expect_near(matrix_solve_ls(zeros({0, 2}), zeros({0, 1}), 0.0), {2, 1}, {0, 0});
  BOOST_TEST(svd(zeros({0, 3, 2})).u.shape().to_string() == "[0,3,2]");
}

BOOST_AUTO_TEST_CASE(numbers_that_are_none) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (const float bad : {nan, inf}) {
    const Tensor a = tensor({{2.f, 1.f}, {bad, 3.f}});
    const auto all_nan = [](const Tensor& t) { return bool(all(not_equal(t, t))); };
    if (std::isnan(bad)) {
      BOOST_TEST(all_nan(matrix_inverse(a)));
      BOOST_TEST(all_nan(matrix_determinant(a)));
      BOOST_TEST(all_nan(matrix_solve(a, a)));
    }
    BOOST_TEST(all_nan(svd(a).u));
    BOOST_TEST(all_nan(svd(a).s));
    BOOST_TEST(error_text([&] {
                 (void)self_adjoint_eig(a);
               }).starts_with("InvalidArgument: input: expected a matrix of finite numbers, got one with infinities"));
    BOOST_TEST(error_text([&] {
                 (void)linalg::eigvals(a);
               }).starts_with("InvalidArgument: input: expected a matrix of finite numbers, got one with infinities"));
    (void)matrix_inverse(a);
    (void)matrix_solve(a, a);
    BOOST_TEST(all_nan(linalg::expm(a)));
    BOOST_TEST(all_nan(linalg::sqrtm(a)));
    (void)qr(a);
    (void)lu(a);
  }
  BOOST_TEST(bool(not_equal(cholesky(tensor({{nan}})), cholesky(tensor({{nan}})))(0, 0)));
  expect_near(matrix_inverse(tensor({{inf, 0.f}, {0.f, 1.f}})), {2, 2}, {0, 0, 0, 1});
  BOOST_TEST(matrix_determinant(tensor({{inf, 0.f}, {0.f, 1.f}})).item<float>() == inf);
  const std::vector<float> none = cholesky(tensor({{1.f, 2.f}, {2.f, 1.f}})).to_vector<float>();
  BOOST_TEST((std::isnan(none[0]) && none[1] == 0 && std::isnan(none[2]) && std::isnan(none[3])));
  BOOST_TEST(all(not_equal(tridiagonal_solve(zeros({3, 2}), ones({2, 1})), 0.f)).item<bool>());
  expect_near(tridiagonal_solve(tensor({{0.f, 0.f, 0.f}, {1000.f, 0.f, 1000.f}, {0.f, 0.f, 0.f}}), ones({3, 1}),
                                {.perturb_singular = true}),
              {3, 1}, {0.001, 8388.6084, 0.001});
  const auto [sign, logarithm] = log_matrix_determinant(tensor({{1.f, 2.f}, {2.f, 4.f}}));
  expect_near(sign, 0.0);
  BOOST_TEST(logarithm.item<float>() == -inf);
  // Larger, and smaller, than the type holds on the way.
  expect_near(matrix_determinant(tensor({{1e30, 0., 0.}, {0., 1e300, 0.}, {0., 0., 1e-320}})), 1e10, 1e-3);
  // A root that is not real.
  BOOST_TEST(bool(all(not_equal(linalg::sqrtm(tensor({{-1.f}})), linalg::sqrtm(tensor({{-1.f}}))))));
  expect_near(linalg::sqrtm(tensor({{0.f, 0.f}, {0.f, 0.f}})), {2, 2}, {0, 0, 0, 0});
}

BOOST_AUTO_TEST_CASE(gradients_of_real_functions) {
  const Tensor a = some({3, 3}, kFloat64), tall = some({4, 2}, kFloat64), wide = some({2, 4}, kFloat64);
  const auto spd = [](const Tensor& x) { return matrix::mul_adjoint(x, x) + matrix::identity_like(x); };
  check_real([&](const Tensor& x) { return cholesky(spd(x)); }, a);
  check_real([](const Tensor& x) { return cholesky_grad(x, x * x); }, a + 3 * eye(3, kFloat64));
  // The size of each element tells no sign.
  check_real([](const Tensor& x) { return square(self_adjoint_eig(matrix::hermitian(x)).v); }, a);
  check_real([](const Tensor& x) { return self_adjoint_eig(x).e; }, a);
  for (const Tensor& x : {a, tall, wide}) {
    check_real([](const Tensor& t) { return svd(t).s; }, x);
    check_real([](const Tensor& t) { return square(svd(t).u); }, x);
    check_real([](const Tensor& t) { return square(svd(t).v); }, x);
    check_real([](const Tensor& t) { return qr(t).q; }, x);
    check_real([](const Tensor& t) { return qr(t).r; }, x);
  }
  // Which columns are added is left to LAPACK: a function that does not depend on it.
  check_real(
      [](const Tensor& t) {
        const Tensor q = qr(t, {.full_matrices = true}).q;
        return matrix::mul_adjoint(q(Ellipsis, Slice(2)), q(Ellipsis, Slice(2)));
      },
      tall);
  check_real(
      [](const Tensor& t) {
        const Tensor u = svd(t, {.full_matrices = true}).u;
        return matrix::mul_adjoint(u(Ellipsis, Slice(2)), u(Ellipsis, Slice(2)));
      },
      tall);
  check_real(
      [](const Tensor& t) {
        const Tensor v = svd(t, {.full_matrices = true}).v;
        return matrix::mul_adjoint(v(Ellipsis, Slice(2)), v(Ellipsis, Slice(2)));
      },
      wide);
  check_real([](const Tensor& t) { return matrix_solve_ls(t, some({4, 1}, kFloat64, 2), 0.5); }, tall);
}

BOOST_AUTO_TEST_CASE(gradients_of_complex_functions) {
  const Tensor a = complex_tensor({3, 3}), tall = complex_tensor({3, 2}), wide = complex_tensor({2, 3});
  const auto hpd = [](const Tensor& x) { return matrix::mul_adjoint(x, x) + matrix::identity_like(x); };
  check_complex([&](const Tensor& x) { return cholesky(hpd(x)); }, a);
  check_complex([](const Tensor& x) { return matrix_inverse(x); }, a);
  check_complex([](const Tensor& x) { return matrix_inverse(x, {.adjoint = true}); }, a);
  check_complex([](const Tensor& x) { return matrix_determinant(x); }, a);
  check_complex([](const Tensor& x) { return log_matrix_determinant(x).sign; }, a);
  check_complex([](const Tensor& x) { return log_matrix_determinant(x).log_abs_determinant; }, a);
  for (const bool adjoint : {false, true}) {
    check_complex([&](const Tensor& x) { return matrix_solve(x, tall, {.adjoint = adjoint}); }, a);
    check_complex([&](const Tensor& x) { return matrix_solve(a, x, {.adjoint = adjoint}); }, tall);
    for (const bool lower : {false, true}) {
      const MatrixTriangularSolveAttrs attrs{.lower = lower, .adjoint = adjoint};
      check_complex([&](const Tensor& x) { return matrix_triangular_solve(x, tall, attrs); }, a);
      check_complex([&](const Tensor& x) { return matrix_triangular_solve(a, x, attrs); }, tall);
      const BandedTriangularSolveAttrs banded{.lower = lower, .adjoint = adjoint};
      check_complex([&](const Tensor& x) { return banded_triangular_solve(x, tall, banded); }, wide);
    }
  }
  check_complex([](const Tensor& x) { return self_adjoint_eig(matrix::hermitian(x)).e; }, a);
  // What is made of a vector and its own conjugate does not depend on its phase.
  const auto phaseless = [](const Tensor& v) { return v * conj(v); };
  check_complex([&](const Tensor& x) { return phaseless(self_adjoint_eig(matrix::hermitian(x)).v); }, a);
  check_complex([](const Tensor& x) { return eig(x, x.dtype()).e; }, a);
  check_complex([&](const Tensor& x) { return phaseless(eig(x, x.dtype()).v); }, a);
  for (const Tensor& t : {a, tall, wide}) {
    check_complex([](const Tensor& x) { return svd(x).s; }, t);
    check_complex([&](const Tensor& x) { return phaseless(svd(x).u); }, t);
    check_complex([](const Tensor& x) { return matrix::mul_adjoint(svd(x).u, svd(x).v)(Ellipsis, Slice({}, 1)); }, t);
    check_complex([](const Tensor& x) { return qr(x).q; }, t);
    check_complex([](const Tensor& x) { return qr(x).r; }, t);
  }
  check_complex([&](const Tensor& x) { return matrix_solve_ls(x, complex_tensor({3, 1}, 2), 0.5); }, tall);
  check_complex([&](const Tensor& x) { return matrix_solve_ls(x, complex_tensor({2, 1}, 2), 0.5); }, wide);
  check_complex([](const Tensor& x) { return matrix_exponential(x); }, a);
  check_complex([](const Tensor& x) { return matrix_square_root(x); }, a + 4 * matrix::identity_like(a));
  check_complex([](const Tensor& x) { return matrix_logarithm(x); }, a + 4 * matrix::identity_like(a));
  check_complex([&](const Tensor& x) { return tridiagonal_solve(x, tall); }, a);
  check_complex([&](const Tensor& x) { return tridiagonal_mat_mul(x, x * x, 2 * x, tall); }, complex_tensor({1, 3}));
}

// Equal values: what TensorFlow gives, which is finite.
BOOST_AUTO_TEST_CASE(gradients_of_equal_values_are_finite) {
  const Tensor a = eye(3, kFloat64);
  const auto finite_gradient = [&](const std::function<Tensor(const Tensor&)>& f) {
    GradientTape tape;
    tape.watch(a);
    const Tensor y = f(a);
    const Tensor g = tape.gradient(y, a);
    BOOST_TEST(bool(all(less(abs(g), 1e6))));
  };
  finite_gradient([](const Tensor& x) { return sum(self_adjoint_eig(x).v); });
  finite_gradient([](const Tensor& x) { return sum(svd(x).u) + sum(svd(x).v); });
}

BOOST_AUTO_TEST_CASE(derivatives_that_are_not_there) {
  const auto gradient = [](const std::function<Tensor(const Tensor&)>& f, std::vector<int64_t> dims) {
    return error_text([&] {
      const Tensor x = some(dims, kFloat64);
      GradientTape tape;
      tape.watch(x);
      const Tensor y = f(x);
      (void)tape.gradient(y, x);
    });
  };
  BOOST_TEST(gradient([](const Tensor& x) { return matrix_solve_ls(x, x, 0.0, {.fast = false}); }, {4, 2})
                 .starts_with("Unimplemented: derivative of MatrixSolveLs: expected fast = true, got false"));
}

BOOST_AUTO_TEST_CASE(results_do_not_depend_on_the_number_of_threads) {
  const int before = num_threads();
  const auto run = [] {
    const Tensor a = some({6, 60, 60}, kFloat32), large = some({300, 300}, kFloat32);
    return std::vector{matrix_inverse(a),     svd(a).u,    self_adjoint_eig(a).v, qr(a).q,
                       matrix_inverse(large), svd(large).s};
  };
  set_num_threads(1);
  const std::vector<Tensor> one = run();
  set_num_threads(4);
  const std::vector<Tensor> four = run();
  set_num_threads(before);
  for (size_t i = 0; i < one.size(); ++i) BOOST_TEST(test::difference(one[i], four[i]) == "");
}

BOOST_AUTO_TEST_CASE(names_of_numpy) {
  const Tensor a = tensor({{4.0, 1.0}, {2.0, 3.0}}), b = tensor({1.0, 2.0});
  expect_near(linalg::inv(a), {2, 2}, {0.3, -0.1, -0.2, 0.4}, 1e-14);
  expect_near(linalg::det(a), 10.0, 1e-14);
  expect_near(linalg::solve(a, b), {2}, {0.1, 0.6}, 1e-14);
  expect_near(linalg::solve(a, expand_dims(b, -1)), {2, 1}, {0.1, 0.6}, 1e-14);
  expect_near(linalg::solve_triangular(a, b, true), {2}, {0.25, 0.5}, 1e-14);
  expect_near(linalg::trace(a), 7.0);
  const auto [sign, logabsdet] = linalg::slogdet(a);
  expect_near(sign, 1.0);
  expect_near(logabsdet, std::log(10.0), 1e-14);
  expect_near(linalg::matrix_power(a, 3), {2, 2}, {86, 39, 78, 47}, 1e-14);
  expect_near(linalg::matrix_power(a, -1), {2, 2}, {0.3, -0.1, -0.2, 0.4}, 1e-14);
  expect_near(linalg::matrix_power(a, 0), {2, 2}, {1, 0, 0, 1});
  BOOST_TEST(linalg::matrix_rank(a).item<int64_t>() == 2);
  BOOST_TEST(linalg::matrix_rank(tensor({{1.f, 2.f}, {2.f, 4.f}, {3.f, 6.f}})).item<int64_t>() == 1);
  expect_near(linalg::pinv(tensor({{1.0, 0.0}, {0.0, 0.0}, {0.0, 2.0}})), {2, 3}, {1, 0, 0, 0, 0, 0.5}, 1e-14, 1);
  expect_near(linalg::lstsq(tensor({{1.0, 0.0}, {1.0, 1.0}, {1.0, 2.0}}), tensor({6.0, 0.0, 0.0})), {2}, {5, -3},
              1e-14);
  expect_near(linalg::cond(tensor({{2.0, 0.0}, {0.0, -8.0}})), 4.0, 1e-14);
  const Tensor d = tensor({{3.0, 0.0}, {4.0, 0.0}});
  expect_near(linalg::matrix_norm(d), 5.0, 1e-14);
  expect_near(linalg::matrix_norm(d, "nuc"), 5.0, 1e-14);
  expect_near(linalg::matrix_norm(d, "2"), 5.0, 1e-14);
  expect_near(linalg::matrix_norm(d, "1"), 7.0, 1e-14);
  expect_near(linalg::matrix_norm(d, "inf"), 4.0, 1e-14);
  expect_error_begins([&] { (void)linalg::matrix_norm(d, "3"); },
                      "InvalidArgument: ord: expected one of (fro, nuc, 2, 1, inf), got '3'");
  const auto [u, s, vh] = linalg::svd(d);
  expect_near(matmul(u * s, vh), {2, 2}, {3, 0, 4, 0}, 1e-14, 1);
  const auto [values, vectors] = linalg::eigh(tensor({{2.0, 1.0}, {1.0, 2.0}}));
  expect_near(values, {2}, {1, 3}, 1e-14);
  expect_near(linalg::eigvalsh(cast(tensor({{2.0, 1.0}, {1.0, 2.0}}), kComplex128)), {2}, {1, 3}, 1e-14);
  expect_close(linalg::eigvals(tensor({{0.0, -1.0}, {1.0, 0.0}})), {{0, 1}, {0, -1}}, 1e-14);
  expect_near(linalg::expm(tensor({{0.0, 1.0}, {0.0, 0.0}})), {2, 2}, {1, 1, 0, 1}, 1e-15);
  expect_near(linalg::sqrtm(matmul(a, a)), {2, 2}, {4, 1, 2, 3}, 1e-13);
  expect_close(linalg::logm(cast(linalg::expm(a), kComplex128)), {4, 1, 2, 3}, 1e-12);
}

// Where eigenvalues or singular values are equal, vectors have no derivative: terms between equal ones are left out, as
// TensorFlow does, whose numbers (2.21) these are.
BOOST_AUTO_TEST_CASE(equal_eigenvalues) {
  const Tensor w = reshape(arange(1., 10.), {3, 3}) / 7.;
  const auto by_eigh = [&](const Tensor& a) {
    const auto [e, v] = linalg::eigh(a);
    return sum(w * matmul(v * (e * e + e), v, {.transpose_b = true}));
  };
  const auto by_svd = [&](const Tensor& a) {
    const auto [u, s, vh] = linalg::svd(a);
    return sum(w * matmul(u * (s * s), vh));
  };
  const Tensor two = diag(tensor({1., 1., 2.})), one = eye(3, kFloat64), none = zeros({3, 3}, kFloat64);
  const double a = 1 / 7.0;
  expect_near(grad(by_eigh)(two), {3, 3}, {3 * a, 0, 0, 0, 15 * a, 0, 40 * a, 56 * a, 45 * a}, 1e-13);
  expect_near(grad(by_eigh)(one), {3, 3}, {3 * a, 0, 0, 0, 15 * a, 0, 0, 0, 27 * a}, 1e-13);
  expect_near(grad(by_eigh)(none), {3, 3}, {a, 0, 0, 0, 5 * a, 0, 0, 0, 9 * a}, 1e-13);
  const double b = 1 / 21.0;
  expect_near(grad(by_svd)(two), {3, 3}, {2 * a, 0, 35 * b, 0, 10 * a, 58 * b, 55 * b, 68 * b, 36 * a}, 1e-13);
  expect_near(grad(by_svd)(one), {3, 3}, {2 * a, 0, 0, 0, 10 * a, 0, 0, 0, 18 * a}, 1e-13);
  expect_near(grad(by_svd)(none), {3, 3}, std::vector<double>(9, 0.0), 1e-13);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
