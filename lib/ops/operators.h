// Arithmetic and comparison operators over tensors, variables and C++ numbers:
//
//   Tensor y = 2.0f * x - k;         // x a Tensor, k a Variable
//   Tensor positive = y > 0;         // a bool tensor
//   Tensor both = (x > 0) & (y > 0);
//
// They call the ops Add, Sub, Mul, RealDiv, FloorMod, Neg, Less, Greater, LessEqual, GreaterEqual, Equal, NotEqual, and
// LogicalNot or those of bits: shapes broadcast, types are promoted, recorders record them. x == y is a tensor of bools
// too, so it cannot be the condition of an `if`; use `all(x == y).item<bool>()`.
#pragma once

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"

namespace panto {

PANTO_EXPORT Tensor operator+(Arg x, Arg y);
PANTO_EXPORT Tensor operator-(Arg x, Arg y);
PANTO_EXPORT Tensor operator*(Arg x, Arg y);
// Throws InvalidArgument for two integers: the caller must choose between rounding (`floor_div`) and a cast.
PANTO_EXPORT Tensor operator/(Arg x, Arg y);
// The remainder that has the divisor's sign, as in Python.
PANTO_EXPORT Tensor operator%(Arg x, Arg y);
PANTO_EXPORT Tensor operator-(Arg x);
PANTO_EXPORT Tensor operator!(Arg x);
PANTO_EXPORT Tensor operator!(const Tensor& x);  // preferred to the conversion of one-element tensors to bool

// Of bools "and", "or", "exactly one" and "not"; of integers the same of each bit.
PANTO_EXPORT Tensor operator&(Arg x, Arg y);
PANTO_EXPORT Tensor operator|(Arg x, Arg y);
PANTO_EXPORT Tensor operator^(Arg x, Arg y);
PANTO_EXPORT Tensor operator~(Arg x);

PANTO_EXPORT Tensor operator<(Arg x, Arg y);
PANTO_EXPORT Tensor operator>(Arg x, Arg y);
PANTO_EXPORT Tensor operator<=(Arg x, Arg y);
PANTO_EXPORT Tensor operator>=(Arg x, Arg y);
PANTO_EXPORT Tensor operator==(Arg x, Arg y);
PANTO_EXPORT Tensor operator!=(Arg x, Arg y);

// x = x + y, and so on: x then refers to a new tensor; other handles keep the old one. If the operation throws, x is
// unchanged.
PANTO_EXPORT Tensor& operator+=(Tensor& x, Arg y);
PANTO_EXPORT Tensor& operator-=(Tensor& x, Arg y);
PANTO_EXPORT Tensor& operator*=(Tensor& x, Arg y);
PANTO_EXPORT Tensor& operator/=(Tensor& x, Arg y);
PANTO_EXPORT Tensor& operator%=(Tensor& x, Arg y);

// v.assign(v + y), and so on: all handles of the variable see the new value. While a graph is being built, the
// assignment becomes part of it. `y` broadcasts. Throw InvalidArgument if the result's dtype or shape is not the
// variable's.
PANTO_EXPORT Variable operator+=(const Variable& v, Arg y);
PANTO_EXPORT Variable operator-=(const Variable& v, Arg y);
PANTO_EXPORT Variable operator*=(const Variable& v, Arg y);
PANTO_EXPORT Variable operator/=(const Variable& v, Arg y);

}  // namespace panto
