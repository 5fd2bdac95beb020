// Shared code of linear algebra ops: shapes of batches of matrices (the last two dimensions), and helpers for
// gradients. Internal.
#pragma once

#include <initializer_list>

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto::matrix {

// `shape` with its last `replaced` dimensions replaced by `dims`; unknown if `shape` is.
PartialShape with_last(const PartialShape& shape, std::initializer_list<int64_t> dims, int replaced = 2);
// Checks that input i holds square matrices and returns their size.
int64_t square(const ShapeContext& c, int i = 0);
// Checks that inputs 0 and 1 hold matrices in batches of one shape; returns that shape followed by `last`.
PartialShape same_batch(const ShapeContext& c, std::initializer_list<int64_t> last);
// Sets output 0 to the broadcast leading dimensions of inputs 0 and 1, followed by `last`.
void broadcast_batch(ShapeContext& c, std::initializer_list<int64_t> last);

// swapped: the transpose. adjoint: the conjugate transpose.
Tensor swapped(const Tensor& x);
PANTO_EXPORT Tensor adjoint(const Tensor& x);
// Matrix products, of the factors or their adjoints. Not called `mul`, like the op: with -Dunit_files, files share one
// translation unit and so `using namespace matrix`, and another file's elementwise `mul` would become a matrix product.
PANTO_EXPORT Tensor matrix_mul(const Tensor& a, const Tensor& b);
PANTO_EXPORT Tensor adjoint_mul(const Tensor& a, const Tensor& b);
PANTO_EXPORT Tensor mul_adjoint(const Tensor& a, const Tensor& b);

PANTO_EXPORT Tensor lower(const Tensor& x);  // with the diagonal
PANTO_EXPORT Tensor upper(const Tensor& x);
// The lower triangle with half of the diagonal: for a Hermitian x, the result y satisfies y + y' = x.
Tensor half_lower(const Tensor& x);
Tensor with_diagonal(const Tensor& x, const Tensor& diagonal);
Tensor diagonal(const Tensor& x);
Tensor of_diagonal(const Tensor& diagonal);
PANTO_EXPORT Tensor identity_like(const Tensor& square);
// The real part, in the type of x, which may be complex.
Tensor real_of(const Tensor& x);
// The Hermitian matrix nearest to x: (x + x') / 2.
PANTO_EXPORT Tensor hermitian(const Tensor& x);
// The Hermitian matrix with the lower triangle of x.
Tensor hermitian_of_lower(const Tensor& x);
// 1 / x, but 0 for 0: x / (x^2 + 1e-20), as in TensorFlow.
Tensor safe_reciprocal(const Tensor& x);
// The matrix of 1 / (v[j] - v[i]) in row i and column j, with zeros on the diagonal.
Tensor reciprocal_differences(const Tensor& values);
// x R^-H for upper triangular R.
Tensor over_adjoint_of_upper(const Tensor& x, const Tensor& r);

}  // namespace panto::matrix
