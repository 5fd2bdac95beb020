// Arithmetic and comparison operators over tensors, variables and C++ numbers:
//
//   Tensor y = 2.0f * x - k;         // x a Tensor, k a Variable
//   Tensor positive = y > 0;         // a bool tensor
//
// They are the ops Add, Sub, Mul, RealDiv, FloorMod, Neg, Less, Greater, LessEqual, GreaterEqual, Equal, NotEqual and
// LogicalNot: shapes broadcast, types are promoted, recorders hear them. x == y is a tensor of truth values too, and no
// condition of an `if`: `all(x == y).item<bool>()` is one.
#pragma once

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"

namespace panto {

PANTO_EXPORT Tensor operator+(Arg x, Arg y);
PANTO_EXPORT Tensor operator-(Arg x, Arg y);
PANTO_EXPORT Tensor operator*(Arg x, Arg y);
// Throws InvalidArgument between integers: whether to round (`floor_div`) or to cast is for the caller to say.
PANTO_EXPORT Tensor operator/(Arg x, Arg y);
// The remainder that has the divisor's sign, as in Python.
PANTO_EXPORT Tensor operator%(Arg x, Arg y);
PANTO_EXPORT Tensor operator-(Arg x);
PANTO_EXPORT Tensor operator!(Arg x);
PANTO_EXPORT Tensor operator!(const Tensor& x);  // and not the truth value of a tensor with one element

PANTO_EXPORT Tensor operator<(Arg x, Arg y);
PANTO_EXPORT Tensor operator>(Arg x, Arg y);
PANTO_EXPORT Tensor operator<=(Arg x, Arg y);
PANTO_EXPORT Tensor operator>=(Arg x, Arg y);
PANTO_EXPORT Tensor operator==(Arg x, Arg y);
PANTO_EXPORT Tensor operator!=(Arg x, Arg y);

// x = x + y, and so on: the variable gets another value; other handles of the old one keep it. Where the operation
// throws, x is what it was.
PANTO_EXPORT Tensor& operator+=(Tensor& x, Arg y);
PANTO_EXPORT Tensor& operator-=(Tensor& x, Arg y);
PANTO_EXPORT Tensor& operator*=(Tensor& x, Arg y);
PANTO_EXPORT Tensor& operator/=(Tensor& x, Arg y);
PANTO_EXPORT Tensor& operator%=(Tensor& x, Arg y);

// v.assign(v + y), and so on, which all handles of the variable see: where a graph is being built that becomes a part
// of it. `y` broadcasts. Throw InvalidArgument where the result has another dtype or shape than the variable.
PANTO_EXPORT Variable operator+=(const Variable& v, Arg y);
PANTO_EXPORT Variable operator-=(const Variable& v, Arg y);
PANTO_EXPORT Variable operator*=(const Variable& v, Arg y);
PANTO_EXPORT Variable operator/=(const Variable& v, Arg y);

}  // namespace panto
