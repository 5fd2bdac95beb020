// jvp and what is made of it, against closed forms; nested in one another, in vmap, in tapes and in traces. That every
// op's tangents are right is the op table's question.
#include <tuple>
#include <utility>
#include <vector>

#include "panto/tests/autograd/transforms.h"

namespace panto {

using test::HasText;
using test::near;
using test::numbers;

namespace {

// (sum of x^3 a)^2 and its derivatives.
Tensor cubes(const Tensor& x, const Tensor& a) { return square(sum(x * x * x * a)); }
Tensor gradient_of_cubes(const Tensor& x, const Tensor& a) { return 2 * sum(x * x * x * a) * 3 * square(x) * a; }
Tensor hessian_of_cubes(const Tensor& x, const Tensor& a) {
  const Tensor g = reshape(3 * square(x) * a, {-1, 1});
  const Tensor diagonal = 2 * sum(x * x * x * a) * 6 * x * a;
  return 2 * matmul(g, transpose(g)) + diagonal * eye(x.dim(0), x.dtype());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(transforms)
BOOST_AUTO_TEST_SUITE(jvp_suite)

BOOST_AUTO_TEST_CASE(values_come_with_derivatives_along_a_direction) {
  const Tensor x = numbers({3}), v = numbers({3}, 1);
  const auto [y, dy] = jvp([](const Tensor& a) { return sin(a) * 2; }, x, v);
  BOOST_TEST(near(y, sin(x) * 2));
  BOOST_TEST(near(dy, 2 * cos(x) * v));
}

BOOST_AUTO_TEST_CASE(several_arguments_are_a_tuple_and_results_keep_their_structure) {
  const Tensor a = numbers({2, 3}), b = numbers({3, 2}, 1), va = numbers({2, 3}, 2), vb = numbers({3, 2}, 3);
  const auto f = [](const Tensor& a, const Tensor& b) { return std::pair(matmul(a, b), std::vector<Tensor>{a + 1}); };
  const auto [y, dy] = jvp(f, std::tuple(a, b), std::tuple(va, vb));
  BOOST_TEST(near(y.first, matmul(a, b)));
  BOOST_TEST(near(dy.first, matmul(va, b) + matmul(a, vb)));
  BOOST_TEST(near(dy.second[0], va));
}

BOOST_AUTO_TEST_CASE(what_does_not_depend_on_x_has_a_tangent_of_zeros) {
  const Tensor x = numbers({3});
  const auto [y, dy] = jvp([](const Tensor& a) { return std::pair(stop_gradient(a) * 2, zeros_like(a)); }, x, x);
  BOOST_TEST(near(y.first, x * 2));
  BOOST_TEST(near(dy.first, zeros({3})));
  BOOST_TEST(near(dy.second, zeros({3})));
}

BOOST_AUTO_TEST_CASE(derivatives_of_gradients_and_gradients_of_derivatives) {
  const Tensor x = numbers({4}, 0, kFloat64), a = numbers({4}, 1, kFloat64), v = numbers({4}, 2, kFloat64);
  const auto f = [&](const Tensor& x) { return cubes(x, a); };
  const Tensor h = hessian_of_cubes(x, a);
  const Tensor hv = sum(h * v, {1});
  // jvp of grad.
  const auto [g, dg] = jvp([&](const Tensor& x) { return grad(f)(x); }, x, v);
  BOOST_TEST(near(g, gradient_of_cubes(x, a), 1e-12));
  BOOST_TEST(near(dg, hv, 1e-12));
  // grad of jvp.
  BOOST_TEST(near(grad([&](const Tensor& x) { return jvp(f, x, v).second; })(x), hv, 1e-12));
  // jvp of jvp.
  const auto along = [&](const Tensor& x) { return jvp(f, x, v).second; };
  BOOST_TEST(near(jvp(along, x, v).second, sum(hv * v), 1e-12));
  // A tape outside hears what a tape inside of jvp does.
  GradientTape tape;
  tape.watch(x);
  const Tensor once = jvp([&](const Tensor& x) { return grad(f)(x); }, x, v).first;
  BOOST_TEST(near(tape.gradient(once, x, v), hv, 1e-12));
  BOOST_TEST(near(hvp(f, x, v), hv, 1e-12));
}

BOOST_AUTO_TEST_CASE(jacobians_are_the_same_both_ways) {
  const Tensor x = numbers({4}, 0, kFloat64), k = numbers({4, 3}, 1, kFloat64);
  const auto f = [&](const Tensor& x) { return tanh(matmul(expand_dims(x, 0), k))[0]; };
  const Tensor y = f(x);
  const Tensor expected = reshape(1 - square(y), {3, 1}) * transpose(k);
  for (const JacobianMode mode : {JacobianMode::kByShape, JacobianMode::kForward, JacobianMode::kReverse}) {
    BOOST_TEST(near(jacobian(f, mode)(x), expected, 1e-12));
  }
  const auto outer = [](const Tensor& x) { return reshape(x, {-1, 1}) * reshape(x, {1, -1}); };
  const Tensor j = jacobian(outer)(x);
  BOOST_REQUIRE((j.shape() == Shape{4, 4, 4}));
  // d x_i x_j / d x_k = delta_ik x_j + x_i delta_jk.
  const Tensor id = eye(4, kFloat64);
  BOOST_TEST(
      near(j, reshape(id, {4, 1, 4}) * reshape(x, {1, 4, 1}) + reshape(x, {4, 1, 1}) * reshape(id, {1, 4, 4}), 1e-12));
  BOOST_TEST(near(jacobian(outer, JacobianMode::kReverse)(x), j, 1e-12));
  BOOST_CHECK_EXCEPTION(jacobian(f)(tensor({1, 2})), Error, HasText{"expected a floating tensor, got int32"});
}

BOOST_AUTO_TEST_CASE(jacobians_call_their_function_once) {
  const Tensor x = numbers({4}, 0, kFloat64);
  int calls = 0;
  const auto f = [&](const Tensor& x) {
    ++calls;
    return concat({sin(x), x * x[0], cumsum(x, 0)}, 0);
  };
  const auto parts = [&](const Tensor& x) { return concat({sin(x), x * x[0], cumsum(x, 0)}, 0); };
  for (const JacobianMode mode : {JacobianMode::kByShape, JacobianMode::kForward, JacobianMode::kReverse}) {
    calls = 0;
    const Tensor j = jacobian(f, mode)(x);
    BOOST_TEST(calls == 1);
    BOOST_REQUIRE((j.shape() == Shape{12, 4}));
    for (int64_t k = 0; k < 4; ++k) {
      const Tensor step = one_hot(tensor(k), 4, cast(tensor(1e-6), kFloat64), cast(tensor(0.0), kFloat64));
      const Tensor change = (parts(x + step) - parts(x - step)) / 2e-6;
      BOOST_TEST(near(transpose(j)[k], change, 1e-8));
    }
  }
  // In a batch, and differentiated again.
  const Tensor batch = numbers({3, 4}, 1, kFloat64);
  const Tensor all = vmap(jacobian(parts))(batch);
  for (int e = 0; e < 3; ++e) BOOST_TEST(near(all[e], jacobian(parts, JacobianMode::kReverse)(batch[e]), 1e-12));
  const auto squares = [&](const JacobianMode mode) {
    return grad([&](const Tensor& x) { return sum(square(jacobian(parts, mode)(x))); })(x);
  };
  BOOST_TEST(near(squares(JacobianMode::kByShape), squares(JacobianMode::kReverse), 1e-12));
}

BOOST_AUTO_TEST_CASE(hessians_of_batches_and_in_traces) {
  const Tensor x = numbers({3, 4}, 0, kFloat64), a = numbers({4}, 1, kFloat64);
  const auto f = [&](const Tensor& x) { return cubes(x, a); };
  BOOST_TEST(near(hessian(f)(x[0]), hessian_of_cubes(x[0], a), 1e-12));
  const Tensor all = vmap(hessian(f))(x);
  for (int e = 0; e < 3; ++e) BOOST_TEST(near(all[e], hessian_of_cubes(x[e], a), 1e-12));
  BOOST_TEST(near(trace([&](const Tensor& x) { return hessian(f)(x); })(x[1]), hessian_of_cubes(x[1], a), 1e-12));
  const auto traced = trace(f);
  BOOST_TEST(near(hessian([&](const Tensor& x) { return traced(x); })(x[1]), hessian_of_cubes(x[1], a), 1e-12));
  BOOST_TEST(near(vmap(grad(f))(x)[2], gradient_of_cubes(x[2], a), 1e-12));
  BOOST_TEST(near(grad([&](const Tensor& x) { return sum(vmap(f)(x)); })(x)[2], gradient_of_cubes(x[2], a), 1e-12));
}

BOOST_AUTO_TEST_CASE(linearize_gives_the_derivative_as_a_function) {
  const Tensor x = numbers({4}, 0, kFloat64), k = numbers({4, 3}, 1, kFloat64);
  int calls = 0;
  const auto f = [&](const Tensor& x) {
    ++calls;
    return tanh(matmul(expand_dims(x, 0), k))[0];
  };
  const auto [y, derivative] = linearize(f, x);
  for (int i = 0; i < 3; ++i) {
    const Tensor v = numbers({4}, 2 + i, kFloat64);
    BOOST_TEST(near(derivative(v),
                    jvp([&](const Tensor& x) { return tanh(matmul(expand_dims(x, 0), k))[0]; }, x, v).second, 1e-12));
  }
  BOOST_TEST(calls == 1);
  BOOST_TEST(near(y, f(x), 1e-12));
  const Tensor rows = vmap([&](const Tensor& v) { return derivative(v); })(eye(4, kFloat64));
  BOOST_TEST(near(transpose(rows), jacobian(f)(x), 1e-12));
  BOOST_CHECK_EXCEPTION(derivative(tensor({1.f})), Error, HasText{"direction: expected float64[4], got float32[1]"});
}

BOOST_AUTO_TEST_CASE(complex_numbers_have_derivatives_too) {
  const Tensor x = cast(numbers({3}, 0, kFloat64), kComplex128) * 2;
  const Tensor v = cast(numbers({3}, 1, kFloat64), kComplex128);
  const auto [y, dy] = jvp([](const Tensor& a) { return a * a * conj(a); }, x, v);
  const auto [z, dz] = jvp([](const Tensor& a) { return square(a) * a; }, x, v);
  // Of real arguments both are x^3.
  BOOST_TEST(near(cast(dy, kFloat64), cast(dz, kFloat64), 1e-12));
  BOOST_TEST(near(cast(dz, kFloat64), cast(3 * x * x * v, kFloat64), 1e-12));
}

BOOST_AUTO_TEST_CASE(tangents_that_do_not_fit_are_refused) {
  const auto f = [](const Tensor& x) { return x; };
  BOOST_CHECK_EXCEPTION(jvp(f, numbers({3}), numbers({4})), Error, HasText{"tangent 0 of jvp: expected float32[3]"});
  BOOST_CHECK_EXCEPTION(jvp(f, tensor({1, 2}), tensor({1, 2})), Error, HasText{"expected a floating or complex"});
  BOOST_CHECK_EXCEPTION(jvp([](const Tensor& x) { return x.item<float>() > 0 ? x : -x; }, tensor(1.f), tensor(1.f)),
                        Error, HasText{"stop_gradient"});
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace panto
