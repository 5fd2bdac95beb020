// Arithmetic and comparison operators over tensors, variables and C++ numbers:
//
//   Tensor y = 2.0f * x - k;         // x a Tensor, k a Variable
//   Tensor positive = y > 0;         // a bool tensor
//
// They are the ops Add, Sub, Mul, RealDiv, Neg, Less, Greater, LessEqual and GreaterEqual: shapes broadcast, types are
// promoted, recorders hear them. There is no operator== (it could not give a bool): `equal(x, y)`.
#pragma once

#include "panto/lib/base/export.h"
#include "panto/lib/core/arg.h"

namespace panto {

PANTO_EXPORT Tensor operator+(Arg x, Arg y);
PANTO_EXPORT Tensor operator-(Arg x, Arg y);
PANTO_EXPORT Tensor operator*(Arg x, Arg y);
// Throws InvalidArgument between integers: whether to round (`floor_div`) or to cast is for the caller to say.
PANTO_EXPORT Tensor operator/(Arg x, Arg y);
PANTO_EXPORT Tensor operator-(Arg x);

PANTO_EXPORT Tensor operator<(Arg x, Arg y);
PANTO_EXPORT Tensor operator>(Arg x, Arg y);
PANTO_EXPORT Tensor operator<=(Arg x, Arg y);
PANTO_EXPORT Tensor operator>=(Arg x, Arg y);

}  // namespace panto
