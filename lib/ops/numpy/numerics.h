// Products, polynomials, integrals and filters under the names of NumPy and PyTorch.
//
//   dot(a, b);  inner(a, b);  tensordot(a, b, 2);  bmm(a, b);  mv(a, x);  addmm(c, a, b);  cdist(x, y)
//   trapezoid(y);  interp(x, points, values);  polyval(p, x);  polyfit(x, y, 2);  convolve(x, kernel)
//   l2_normalize(x, 1)
//
// They are built from ops, so a trace records them and a tape differentiates them.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"

namespace panto {

// ---- Products ----------------------------------------------------------------------------------------------------

// Sums of products over the last dimension of `a` and the last but one of `b` (its only one, if it is a vector); the
// product if one is a scalar, as in NumPy.
PANTO_EXPORT Tensor dot(Arg a, Arg b);
// Sums of products over the last dimension of both.
PANTO_EXPORT Tensor inner(Arg a, Arg b);
// The sum of the products of all elements, of which those of `a` are conjugated.
PANTO_EXPORT Tensor vdot(Arg a, Arg b);
// Sums of products over the last `count` dimensions of `a` and the first of `b`, or over the dimensions that are
// listed, each of `a` with that of `b` at its place.
PANTO_EXPORT Tensor tensordot(Arg a, Arg b, int64_t count = 2);
PANTO_EXPORT Tensor tensordot(Arg a, Arg b, const std::vector<int64_t>& axes_a, const std::vector<int64_t>& axes_b);
PANTO_EXPORT Tensor bmm(Arg a, Arg b);  // matrices of batches
PANTO_EXPORT Tensor mv(Arg a, Arg x);   // a matrix by a vector
struct AddmmOptions {
  double beta = 1, alpha = 1;
};
// beta * c + alpha * (a b).
PANTO_EXPORT Tensor addmm(Arg c, Arg a, Arg b, const AddmmOptions& options = {});
// The Euclidean distances of the rows of x, [..., n, d], from those of y, [..., m, d]: [..., n, m].
PANTO_EXPORT Tensor cdist(Arg x, Arg y);
// x divided by its Euclidean norm along an axis; by sqrt(epsilon), if the norm is less.
PANTO_EXPORT Tensor l2_normalize(Arg x, int64_t axis = -1, double epsilon = 1e-12);

// ---- Functions given by their values -----------------------------------------------------------------------------

struct TrapezoidOptions {
  double dx = 1;  // distance of neighbours
  int64_t axis = -1;
};
// The integral by the trapezoidal rule.
PANTO_EXPORT Tensor trapezoid(Arg y, const TrapezoidOptions& options = {});
PANTO_EXPORT Tensor trapezoid(Arg y, Arg x, int64_t axis = -1);  // x: the positions, a vector or of the shape of y
// The integrals up to each position but the first.
PANTO_EXPORT Tensor cumulative_trapezoid(Arg y, const TrapezoidOptions& options = {});
// The piecewise linear function with these values at ascending points (two vectors); before the first and behind the
// last point it is constant.
PANTO_EXPORT Tensor interp(Arg x, Arg points, Arg values);

// ---- Polynomials and filters -------------------------------------------------------------------------------------

// The polynomial with these coefficients (a vector of known size), the one of the highest power first, at x.
PANTO_EXPORT Tensor polyval(Arg coefficients, Arg x);
// The coefficients of the polynomial of this degree that is nearest to y at x by least squares, in float64 or float32.
// It has no gradient.
PANTO_EXPORT Tensor polyfit(Arg x, Arg y, int64_t degree);
// The convolution of two vectors of floating numbers: sums over i of x[i] kernel[k - i]. mode "full": all positions at
// which they overlap; "same": as many as the longer vector has, in the middle; "valid": where they overlap wholly.
PANTO_EXPORT Tensor convolve(Arg x, Arg kernel, std::string_view mode = "full");

}  // namespace panto
