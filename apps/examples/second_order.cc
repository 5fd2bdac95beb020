// Second derivatives: a Hessian-vector product, Newton's method, and the derivative of a root by a parameter.
#include <panto/panto.h>

#include <cstdio>

using namespace panto;

int main() {
  // The Hessian of f = sum exp(x) + (sum x)^2 / 2 is diag(exp(x)) plus a matrix of ones.
  const Tensor x = tensor({0.1, -0.2, 0.3}), v = tensor({1., 2., -1.});
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor f = sum(exp(x)) + 0.5 * square(sum(x));
  const Tensor product = outer.gradient(sum(inner.gradient(f, x) * v), x);
  std::printf("Hessian by v, error below 1e-12: %d\n",
              max(abs(product - (exp(x) * v + sum(v)))).item<double>() < 1e-12);

  // The minimum of exp(p) - 2 p + p^2 / 2, by its first two derivatives.
  const auto slope = [](const Tensor& p) {
    return value_and_grad([](const Tensor& a) { return exp(a) - 2.0 * a + 0.5 * square(a); })(p).second[0];
  };
  Tensor p = tensor(0.0);
  for (int i = 0; i < 8; ++i) {
    const auto [first, second] = value_and_grad(slope)(p);
    p = p - first / second[0];
  }
  std::printf("minimum at %.12f, slope there below 1e-12: %d\n", p.item<double>(),
              abs(slope(p)).item<double>() < 1e-12);

  // The root r of r^3 + t r = 1, and how it changes with t: dr/dt = -(dF/dt) / (dF/dr).
  const Variable t(tensor(2.0), "t");
  const auto residual = [&](const Tensor& r) { return pow(r, 3) + t * r - 1.0; };
  Tensor r = tensor(1.0);
  for (int i = 0; i < 20; ++i) {
    const auto [value, derivative] = value_and_grad(residual)(r);
    r = r - value / derivative[0];
  }
  GradientTape tape;
  tape.watch(r);
  const auto by = tape.gradient(residual(r), {t, r});
  std::printf("root %.12f, by t %.12f\n", r.item<double>(), (-by[0] / by[1]).item<double>());
}
