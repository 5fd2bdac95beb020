// Complex numbers: values against std::complex, and gradients.
#include <algorithm>
#include <complex>
#include <functional>
#include <numeric>

#include "panto/autograd/tape.h"
#include "panto/autograd/transforms/jvp.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/tests/ops/complex_gradients.h"
#include "panto/trace/graph_gradients.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(ops)
BOOST_AUTO_TEST_SUITE(complex_numbers)

BOOST_AUTO_TEST_CASE(functions_of_one) {
  struct {
    const char* name;
    Tensor (*op)(Arg);
    Complex (*value)(Complex);
  } const cases[] = {
      {"conj", conj, [](Complex z) { return std::conj(z); }},
      {"neg", neg, [](Complex z) { return -z; }},
      {"square", square, [](Complex z) { return z * z; }},
      {"sqrt", sqrt, [](Complex z) { return std::sqrt(z); }},
      {"rsqrt", rsqrt, [](Complex z) { return 1.0 / std::sqrt(z); }},
      {"reciprocal", reciprocal, [](Complex z) { return 1.0 / z; }},
      {"exp", exp, [](Complex z) { return std::exp(z); }},
      {"expm1", expm1, [](Complex z) { return std::exp(z) - 1.0; }},
      {"log", log, [](Complex z) { return std::log(z); }},
      {"log1p", log1p, [](Complex z) { return std::log(1.0 + z); }},
      {"sin", sin, [](Complex z) { return std::sin(z); }},
      {"cos", cos, [](Complex z) { return std::cos(z); }},
      {"tanh", tanh, [](Complex z) { return std::tanh(z); }},
      {"sigmoid", sigmoid, [](Complex z) { return 1.0 / (1.0 + std::exp(-z)); }},
  };
  const Complexes at = {{0.5, 0.25}, {-1.5, 0.75}, {2, -1}, {0.125, -0.5}};
  const Tensor x = tensor(at);
  for (const auto& c : cases) {
    BOOST_TEST_CONTEXT(c.name) {
      Complexes expected;
      for (const Complex z : at) expected.push_back(c.value(z));
      expect_close(c.op(x), expected, 1e-14);
      expect_close(c.op(cast(x, kComplex64)), expected, 1e-6);
      check_gradients([&](const Tensors& a) { return c.op(a[0]); }, {x});
    }
  }
}

BOOST_AUTO_TEST_CASE(functions_of_two) {
  struct {
    const char* name;
    Tensor (*op)(Arg, Arg);
    Complex (*value)(Complex, Complex);
  } const cases[] = {
      {"add", add, [](Complex a, Complex b) { return a + b; }},
      {"sub", sub, [](Complex a, Complex b) { return a - b; }},
      {"mul", mul, [](Complex a, Complex b) { return a * b; }},
      {"real_div", real_div, [](Complex a, Complex b) { return a / b; }},
      {"div", div, [](Complex a, Complex b) { return a / b; }},
      {"pow", pow, [](Complex a, Complex b) { return std::pow(a, b); }},
      {"squared_difference", squared_difference, [](Complex a, Complex b) { return Complex(std::norm(a - b)); }},
  };
  const Complexes left = {{0.5, 0.25}, {-1.5, 0.75}, {2, -1}};
  const Complexes right = {{1.5, -0.25}, {-0.5, -1}, {0.25, 2}};
  const Tensor x = tensor(left), y = tensor(right);
  for (const auto& c : cases) {
    BOOST_TEST_CONTEXT(c.name) {
      Complexes expected;
      for (size_t i = 0; i < left.size(); ++i) expected.push_back(c.value(left[i], right[i]));
      expect_close(c.op(x, y), expected, 1e-14);
      expect_close(c.op(cast(x, kComplex64), cast(y, kComplex64)), expected, 1e-5);
      const Formula f = [&](const Tensors& a) { return c.op(a[0], a[1]); };
      check_gradients(f, {x, y});
      check_gradients(f, {reshape(x, {3, 1}), scalar(right[0])});  // broadcasting
    }
  }
}

BOOST_AUTO_TEST_CASE(parts) {
  const Complexes at = {{0.5, 0.25}, {-1.5, 0.75}, {2, -1}, {-0.125, -0.5}};
  const Tensor x = tensor(at);
  struct {
    const char* name;
    Tensor (*op)(Arg);
    Complex (*value)(Complex);
  } const cases[] = {
      {"real", real, [](Complex z) { return Complex(z.real()); }},
      {"imag", imag, [](Complex z) { return Complex(z.imag()); }},
      {"angle", angle, [](Complex z) { return Complex(std::arg(z)); }},
      {"complex_abs", complex_abs, [](Complex z) { return Complex(std::abs(z)); }},
  };
  for (const auto& c : cases) {
    BOOST_TEST_CONTEXT(c.name) {
      Complexes expected;
      for (const Complex z : at) expected.push_back(c.value(z));
      BOOST_TEST((c.op(x).dtype() == kFloat64));
      BOOST_TEST((c.op(cast(x, kComplex64)).dtype() == kFloat32));
      expect_close(c.op(x), expected, 1e-15);
      // As complex numbers again, so that the numeric gradient may be taken along both axes.
      check_gradients([&](const Tensors& a) { return cast(c.op(a[0]), a[0].dtype()) * a[0]; }, {x});
      check_gradients([&](const Tensors& a) { return make_complex(c.op(a[0]), imag(a[0])); }, {x});
      check_gradients([&](const Tensors& a) { return make_complex(0.5, c.op(a[0])); }, {x});
      // Along a direction: what steps in it say.
      const Tensor v = tensor(Complexes{{1, 2}, {-1, 0.5}, {0.25, 1}, {2, -1}});
      const auto [y, along] = jvp([&](const Tensor& z) { return c.op(z); }, x, v);
      const Tensor steps = (c.op(x + 1e-6 * v) - c.op(x - 1e-6 * v)) / 2e-6;
      const std::vector<double> got = along.to_vector<double>(), wanted = steps.to_vector<double>();
      for (size_t i = 0; i < got.size(); ++i) BOOST_TEST(std::abs(got[i] - wanted[i]) < 1e-8);
    }
  }
  const Tensor of_real = tensor({1.5, -2.0});
  BOOST_TEST((real(of_real).to_vector<double>() == std::vector<double>{1.5, -2}));
  BOOST_TEST((imag(of_real).to_vector<double>() == std::vector<double>{0, 0}));
  BOOST_TEST((complex_abs(of_real).to_vector<double>() == std::vector<double>{1.5, 2}));
  BOOST_TEST((angle(of_real).to_vector<double>() == std::vector<double>{0, std::acos(-1.0)}));
  // At zero the magnitude has a kink; its gradient is 0 there, and never NaN.
  expect_close(gradient_of([](const Tensors& a) { return cast(complex_abs(a[0]), kComplex128); }, {scalar(0)}, 0), {0},
               0);
}

BOOST_AUTO_TEST_CASE(reductions_and_sums) {
  const Complexes at = {{0.5, 0.25}, {-1.5, 0.75}, {2, -1}, {0.125, -0.5}, {-1, -1}, {0.75, 0}};
  const Tensor x = reshape(tensor(at), {2, 3});
  expect_close(sum(x), {std::accumulate(at.begin(), at.end(), Complex())}, 1e-15);
  expect_close(mean(x, {0}), {(at[0] + at[3]) / 2.0, (at[1] + at[4]) / 2.0, (at[2] + at[5]) / 2.0}, 1e-15);
  expect_close(reduce_prod(x, {1}), {at[0] * at[1] * at[2], at[3] * at[4] * at[5]}, 1e-15);
  expect_close(add_n({x, x, x}), {3.0 * at[0], 3.0 * at[1], 3.0 * at[2], 3.0 * at[3], 3.0 * at[4], 3.0 * at[5]}, 1e-15);
  check_gradients([](const Tensors& a) { return sum(a[0], {0}); }, {x});
  check_gradients([](const Tensors& a) { return mean(a[0]); }, {x});
  check_gradients([](const Tensors& a) { return reduce_prod(a[0], {1}); }, {x});
  Complexes with_zero = at;
  with_zero[1] = 0;
  check_gradients([](const Tensors& a) { return reduce_prod(a[0], {1}); }, {reshape(tensor(with_zero), {2, 3})});
  check_gradients([](const Tensors& a) { return add_n({a[0], a[1]}); }, {x, x + 1});
  // Many elements: the parts of a long sum.
  const Tensor many = fill({100'003}, cast(scalar({0.5, -0.25}), kComplex64));
  expect_close(sum(many), {{50001.5, -25000.75}}, 1e-7);
}

BOOST_AUTO_TEST_CASE(products) {
  const Tensor a = reshape(tensor(Complexes{{0.5, 0.25}, {-1.5, 0.75}, {2, -1}, {0.125, -0.5}}), {2, 2});
  const Tensor b = reshape(tensor(Complexes{{1.5, -0.25}, {-0.5, -1}, {0.25, 2}, {-1, 0.5}}), {2, 2});
  for (const bool left : {false, true}) {
    for (const bool right : {false, true}) {
      const MatMulAttrs attrs{.transpose_a = left, .transpose_b = right};
      check_gradients([&](const Tensors& x) { return mm(x[0], x[1], attrs); }, {a, b});
      const BatchMatMulAttrs adjoint{.adj_x = left, .adj_y = right};
      check_gradients([&](const Tensors& x) { return batch_matmul(x[0], x[1], adjoint); },
                      {reshape(a, {1, 2, 2}), reshape(b, {1, 2, 2})});
    }
  }
}

BOOST_AUTO_TEST_CASE(near_zero) {
  const Complex tiny(1e-12, -2e-12);
  expect_close(expm1(scalar(tiny)) * 1e12, {{1, -2}}, 1e-10);
  expect_close(log1p(scalar(tiny)) * 1e12, {{1, -2}}, 1e-10);
  expect_close(pow(tensor(Complexes{0, 0, {2, 1}}), tensor(Complexes{0, {2, 1}, 0})), {1, 0, 1}, 0);
}

// TensorFlow compares complex numbers for equality only.
BOOST_AUTO_TEST_CASE(equality) {
  const Tensor x = tensor(Complexes{{1, 2}, {1, 2}, {1, 2}}), y = tensor(Complexes{{1, 2}, {1, -2}, {0, 2}});
  BOOST_TEST((equal(x, y).to_vector<bool>() == std::vector<bool>{true, false, false}));
  BOOST_TEST((not_equal(x, y).to_vector<bool>() == std::vector<bool>{false, true, true}));
}

// TensorFlow says zero, which is the gradient for real numbers.
BOOST_AUTO_TEST_CASE(sign_has_no_complex_gradient) {
  Graph graph;
  const GraphScope in(graph);
  const Tensor x = placeholder(kComplex64, {2}, "x");
  const Tensor y = sign(x);
  const std::vector<GradSource> sources = {x};
  expect_error_begins([&] { (void)gradients(y, sources); },
                      "Unimplemented: gradient of Sign: expected a real type, got complex64");
}

// Real graphs are as small as ever.
BOOST_AUTO_TEST_CASE(real_gradients_have_no_conjugates) {
  const auto ops_of = [](DType type) {
    Graph graph;
    const GraphScope in(graph);
    const Tensor x = placeholder(type, {2}, "x");
    const std::vector<GradSource> sources = {x};
    (void)gradients(sum(pow(x, x) * tanh(x) / exp(x)), sources);
    return graph.to_string();
  };
  BOOST_TEST(ops_of(kFloat32).find("Conj") == std::string::npos);
  BOOST_TEST(ops_of(kComplex64).find("Conj") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
