// Functions with a conditional or a loop, for tests of what is done with them.
#pragma once

#include "panto/panto.h"

namespace panto::test {

inline Tensor root_or_zero(const Tensor& x) {
  return cond(sum(x) > 0.F, [&] { return sqrt(x); }, [&] { return zeros_like(x); });
}

// x to the power n, by n products.
inline Tensor power(const Tensor& x, const Tensor& n) {
  auto [i, result] = while_loop([&](const Tensor& i, const Tensor&) { return i < n; },
                                [&](const Tensor& i, const Tensor& p) { return std::tuple(i + 1, p * x); },
                                std::tuple(tensor(0), ones_like(x)));
  return result;
}

}  // namespace panto::test
