// Derivatives of higher orders, by nested tapes.
#pragma once

#include <array>

#include "panto/autograd/tape.h"

namespace panto {

// The first three derivatives of f at x, element by element: each is the gradient of the one before it, summed.
template <class F>
std::array<Tensor, 3> three_orders(F f, const Tensor& x) {
  GradientTape outermost;
  outermost.watch(x);
  Tensor first, second;
  {
    GradientTape outer;
    outer.watch(x);
    {
      GradientTape inner;
      inner.watch(x);
      first = inner.gradient(f(x), x);
    }
    second = outer.gradient(first, x);
  }
  return {first, second, outermost.gradient(second, x)};
}

}  // namespace panto
