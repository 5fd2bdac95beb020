#include "panto/autograd/transforms/derivatives.h"

#include <vector>

#include "panto/autograd/transforms/vmap.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

void expect_known(const Tensor& t, const char* what) {
  if (t.partial_shape().fully_known()) return;
  failf(Code::kUnimplemented, "{}: expected a known shape, got {} while tracing", what, t.partial_shape().to_string());
}

void expect_floating(const Tensor& t, const char* what) {
  if (!dtypes::kFloating.contains(t.dtype())) {
    invalid("{}: expected a floating tensor, got {}", what, dtype_name(t.dtype()));
  }
}

Shape joined(const Shape& a, const Shape& b) {
  std::vector<int64_t> dims(a.dims().begin(), a.dims().end());
  dims.insert(dims.end(), b.dims().begin(), b.dims().end());
  return Shape(dims);
}

// The n unit directions of a shape of n elements: [n, shape...].
Tensor basis(const Shape& shape, DType dtype) {
  const int64_t n = shape.numel();
  return reshape(eye(n, dtype), joined(Shape{n}, shape));
}

// The derivative of y = f(x) as a function of the direction, from a tape's record. The gradient of x is linear in the
// seed u: `tape` computes it for some u, and the tape `outer_` records that. Its gradient with respect to u is the
// derivative.
class Derivative {
 public:
  Derivative(GradientTape& tape, const Tensor& x, const Tensor& y) : seed_(zeros_like(y)) {
    outer_.watch(seed_);
    gradient_ = tape.gradient(y, x, seed_);
    outer_.stop();
  }
  Tensor along(const Tensor& v) { return outer_.gradient(gradient_, seed_, v); }

 private:
  GradientTape outer_{{.persistent = true, .watch_variables = false, .unconnected_zero = true}};
  Tensor seed_, gradient_;
};

// The Jacobian by columns; each is along(v).
template <class Along>
Tensor columns(const Tensor& x, const Along& along) {
  const VmapOptions last{.out_axes = {-1}};
  const Tensor all = vmap(along, last)(basis(x.shape(), x.dtype()));
  const PartialShape& s = all.partial_shape();
  return reshape(all, joined(Shape(s.dims().first(s.dims().size() - 1)), x.shape()));
}

}  // namespace

Tensor detail::gradient_at(const detail::UnaryFunction& f, const Tensor& x) {
  GradientTape tape({.unconnected_zero = true});
  const Tensor own = own_argument(x);
  tape.watch(own);
  const Tensor y = f(own);
  if (y.partial_shape().fully_known() && y.numel() != 1) {
    invalid("gradient: expected a function that gives one element, got shape {}", y.partial_shape().to_string());
  }
  return tape.gradient(y, own);
}

Tensor detail::jacobian_at(const detail::UnaryFunction& f, const Tensor& x, JacobianMode mode) {
  expect_floating(x, "argument of a Jacobian");
  expect_known(x, "argument of a Jacobian");
  if (mode == JacobianMode::kForward) return columns(x, [&](const Tensor& v) { return jvp(f, x, v).second; });
  GradientTape tape({.unconnected_zero = true});
  const Tensor own = own_argument(x);
  tape.watch(own);
  const Tensor y = f(own);
  expect_floating(y, "value of a Jacobian's function");
  expect_known(y, "value of a Jacobian's function");
  if (mode == JacobianMode::kByShape && x.numel() < y.numel()) {
    Derivative derivative(tape, own, y);  // does not evaluate f again
    return columns(x, [&](const Tensor& v) { return derivative.along(v); });
  }
  const Tensor rows =
      vmap([&](const Tensor& seed) { return tape.gradient(y, own, seed); })(basis(y.shape(), y.dtype()));
  return reshape(rows, joined(y.shape(), x.shape()));
}

Tensor detail::hessian_at(const detail::UnaryFunction& f, const Tensor& x) {
  return jacobian_at([&](const Tensor& at) { return gradient_at(f, at); }, x, JacobianMode::kForward);
}

struct LinearMap::Impl {
  Impl(GradientTape& tape, const Tensor& x, const Tensor& y) : x(x), derivative(tape, x, y) {}
  Tensor x;
  Derivative derivative;
};

std::pair<Tensor, LinearMap> linearize(const detail::UnaryFunction& f, const Tensor& x) {
  expect_floating(x, "argument of linearize");
  GradientTape tape({.watch_variables = false, .unconnected_zero = true});
  const Tensor own = detail::own_argument(x);
  tape.watch(own);
  const Tensor y = f(own);
  expect_floating(y, "value of linearize's function");
  LinearMap map;
  map.impl_ = std::make_shared<LinearMap::Impl>(tape, own, y);
  return {y, map};
}

Tensor LinearMap::operator()(const Tensor& v) const {
  if (impl_ == nullptr) fail(Code::kFailedPrecondition, "linear map: expected one that linearize gave, got none");
  const Tensor& x = impl_->x;
  if (v.dtype() != x.dtype() || !v.partial_shape().compatible_with(x.partial_shape())) {
    invalid("direction: expected {}{}, got {}{}", dtype_name(x.dtype()), x.partial_shape().to_string(),
            dtype_name(v.dtype()), v.partial_shape().to_string());
  }
  return impl_->derivative.along(v);
}

}  // namespace panto
