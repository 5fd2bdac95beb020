// Derivatives of functions, built from tapes, jvp and vmap.
//
//   Tensor j = jacobian([](const Tensor& x) { return sin(x) * x[0]; })(x);     // [n] -> [n, n]
//   Tensor h = hessian(loss)(x);                                               // [n] -> [n, n]
//   Tensor hv = hvp(loss, x, v);                                               // h times v, without computing h
//
// The results are ordinary functions: they can be differentiated again, batched by vmap and traced.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "panto/autograd/tape.h"
#include "panto/autograd/transforms/function.h"
#include "panto/autograd/transforms/jvp.h"
#include "panto/lib/base/export.h"
#include "panto/lib/base/shared_impl.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// How to compute a Jacobian. kForward: by columns, which is less work if there are fewer inputs than outputs. kReverse:
// by rows. kByShape: whichever is less work.
enum class JacobianMode : uint8_t { kByShape, kForward, kReverse };

namespace detail {
using UnaryFunction = Callable<Tensor(const Tensor&)>;
PANTO_EXPORT Tensor jacobian_at(const UnaryFunction& f, const Tensor& x, JacobianMode mode);
PANTO_EXPORT Tensor hessian_at(const UnaryFunction& f, const Tensor& x);
PANTO_EXPORT Tensor gradient_at(const UnaryFunction& f, const Tensor& x);
}  // namespace detail

// grad(f)(x): the gradient of f at x, in the shape of x. f must return one element. Zeros if f does not depend on x.
template <class F>
auto grad(F f) {
  return [f = detail::UnaryFunction(std::move(f))](const Tensor& x) { return detail::gradient_at(f, x); };
}

// jacobian(f)(x): all derivatives of f, [shape of f(x)..., shape of x...], floating. Throws InvalidArgument for
// integers.
template <class F>
auto jacobian(F f, JacobianMode mode = JacobianMode::kByShape) {
  return [f = detail::UnaryFunction(std::move(f)), mode](const Tensor& x) { return detail::jacobian_at(f, x, mode); };
}

// hessian(f)(x): all second derivatives of f, which must return one element: [shape of x..., shape of x...].
template <class F>
auto hessian(F f) {
  return [f = detail::UnaryFunction(std::move(f))](const Tensor& x) { return detail::hessian_at(f, x); };
}

// The product of the Hessian of f at x with v, in the shape of x. f must return one element.
template <class F>
Tensor hvp(const F& f, const Tensor& x, const Tensor& v) {
  const auto gradient = [&f](const Tensor& at) {
    return detail::gradient_at([&f](const Tensor& own) { return f(own); }, at);
  };
  return jvp(gradient, x, v).second;
}

// The result of `linearize`: the derivative of f at a point x, as a linear function of the direction. It holds what f
// recorded for its gradient, and belongs to the thread that made it.
class PANTO_EXPORT LinearMap {
 public:
  // Returns f'(x) v, for v of the shape and dtype of x, without evaluating f again.
  Tensor operator()(const Tensor& v) const;

 private:
  friend PANTO_EXPORT std::pair<Tensor, LinearMap> linearize(const detail::UnaryFunction& f, const Tensor& x);
  struct Impl;
  SharedImpl<Impl> impl_;
};
// Returns f(x) and the derivative of f at x.
PANTO_EXPORT std::pair<Tensor, LinearMap> linearize(const detail::UnaryFunction& f, const Tensor& x);

}  // namespace panto
