// Functions of elements under the names of NumPy and PyTorch.
//
//   log2(x);  log10(x);  exp2(x);  hypot(x, y);  logaddexp(x, y);  copysign(x, y);  sinc(x);  deg2rad(x)
//   isclose(x, y);  nan_to_num(x);  fmod(x, y);  remainder(x, y);  lerp(a, b, 0.5f);  trunc(x);  logit(p)
//
// They are built from ops, so a trace records them and a tape differentiates them. Shapes broadcast.
#pragma once

#include <optional>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"

namespace panto {

// Logarithms of floating numbers; those of powers of the base are exact.
PANTO_EXPORT Tensor log2(Arg x);
PANTO_EXPORT Tensor log10(Arg x);
// 2 ^ x.
PANTO_EXPORT Tensor exp2(Arg x);
// log(exp(x) + exp(y)), without overflow.
PANTO_EXPORT Tensor logaddexp(Arg x, Arg y);
// sqrt(x^2 + y^2), without overflow: float32 or float64.
PANTO_EXPORT Tensor hypot(Arg x, Arg y);
// log(p / (1 - p)), the inverse of sigmoid.
PANTO_EXPORT Tensor logit(Arg p);
// sin(pi x) / (pi x), 1 where x is 0.
PANTO_EXPORT Tensor sinc(Arg x);
PANTO_EXPORT Tensor deg2rad(Arg x);
PANTO_EXPORT Tensor rad2deg(Arg x);

// Rounds toward zero. Integers stay as they are.
PANTO_EXPORT Tensor trunc(Arg x);
// Remainders: fmod has the sign of x, as in C; remainder has that of y, as in Python (op FloorMod).
PANTO_EXPORT Tensor fmod(Arg x, Arg y);
PANTO_EXPORT Tensor remainder(Arg x, Arg y);

// Whether the sign is negative, also that of -0. The sign of NaN is not looked at: false.
PANTO_EXPORT Tensor signbit(Arg x);
// |x| with the sign of y.
PANTO_EXPORT Tensor copysign(Arg x, Arg y);
// 0 where x < 0, `at_zero` where x is 0, 1 where x > 0, NaN where x is.
PANTO_EXPORT Tensor heaviside(Arg x, Arg at_zero);
// a + weight * (b - a).
PANTO_EXPORT Tensor lerp(Arg a, Arg b, Arg weight);
// Whether exactly one of two bools is true.
PANTO_EXPORT Tensor logical_xor(Arg x, Arg y);

struct NanToNumOptions {
  double nan = 0;
  std::optional<double> posinf = std::nullopt, neginf = std::nullopt;  // default: the type's largest and lowest number
};
// Replaces NaN and infinities. Integers stay as they are.
PANTO_EXPORT Tensor nan_to_num(Arg x, const NanToNumOptions& options = {});

struct IscloseOptions {
  double rtol = 1e-5, atol = 1e-8;
  bool equal_nan = false;
};
// Whether |x - y| <= atol + rtol * |y|, or both are the same infinity; with `equal_nan` also where both are NaN.
PANTO_EXPORT Tensor isclose(Arg x, Arg y, const IscloseOptions& options = {});

}  // namespace panto
