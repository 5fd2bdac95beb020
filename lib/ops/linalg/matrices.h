// What the ops of linear algebra share: shapes of batches of matrices, which are the last two dimensions, and what
// their gradients are written with. Internal.
#pragma once

#include <initializer_list>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto::matrix {

// `shape` with other dimensions in place of the last `replaced`; unknown where it is.
PartialShape with_last(const PartialShape& shape, std::initializer_list<int64_t> dims, int replaced = 2);
// Input i must hold square matrices: how large they are.
int64_t square(const ShapeContext& c, int i = 0);
// Inputs 0 and 1 hold matrices in batches of one shape: that shape, as the leading dimensions of `last`.
PartialShape same_batch(const ShapeContext& c, std::initializer_list<int64_t> last);
// The leading dimensions of inputs 0 and 1 broadcast, as in NumPy: output 0 has them, and the two of `last`.
void broadcast_batch(ShapeContext& c, std::initializer_list<int64_t> last);

// The last two dimensions swapped; and the elements conjugated, if they are complex.
Tensor swapped(const Tensor& x);
PANTO_EXPORT Tensor adjoint(const Tensor& x);
// Products, of the factors or of their adjoints. Not `mul`, as an op is called: files of one unit (-Dunit_files) share
// what `using namespace matrix` brings, and another file would multiply matrices where it means elements.
PANTO_EXPORT Tensor matrix_mul(const Tensor& a, const Tensor& b);
PANTO_EXPORT Tensor adjoint_mul(const Tensor& a, const Tensor& b);
PANTO_EXPORT Tensor mul_adjoint(const Tensor& a, const Tensor& b);

PANTO_EXPORT Tensor lower(const Tensor& x);  // with the diagonal
PANTO_EXPORT Tensor upper(const Tensor& x);
// The lower triangle with half of the diagonal: x + x' of what this gives is the whole, where x is its own adjoint.
Tensor half_lower(const Tensor& x);
Tensor with_diagonal(const Tensor& x, const Tensor& diagonal);
Tensor diagonal(const Tensor& x);
Tensor of_diagonal(const Tensor& diagonal);
PANTO_EXPORT Tensor identity_like(const Tensor& square);
// In the type of x, which may be complex.
Tensor real_of(const Tensor& x);
// What is nearest to x among the matrices that are their own adjoint, (x + x') / 2.
PANTO_EXPORT Tensor hermitian(const Tensor& x);
// The matrix that is its own adjoint of which x has the lower triangle.
Tensor hermitian_of_lower(const Tensor& x);
// 1 / x, but 0 for 0: x / (x^2 + 1e-20), which is also TensorFlow's.
Tensor safe_reciprocal(const Tensor& x);
// Differences of values, 1 / (v[j] - v[i]) in row i and column j, and zeros on the diagonal.
Tensor reciprocal_differences(const Tensor& values);
// x R^-H of upper triangular R.
Tensor over_adjoint_of_upper(const Tensor& x, const Tensor& r);

}  // namespace panto::matrix
