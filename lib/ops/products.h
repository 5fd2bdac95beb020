// Products of matrices, vectors and batches of them.
#pragma once

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"
#include "panto/ops/math.h"

namespace panto {

// What `a @ b` is in NumPy: a product of matrices [m, k] and [k, n]; of vectors as rows and columns, whose dimension is
// not in the result; of batches of matrices in the last two dimensions, the others of which broadcast. Each is
// transposed first where `attrs` says so; vectors are not. In graphs it is op MatMul, or BatchMatMulV2 and reshaping.
// Where a rank is not known it is taken for 2. Throws InvalidArgument for scalars and for sizes that do not fit.
PANTO_EXPORT Tensor matmul(Arg a, Arg b, const MatMulAttrs& attrs = {});

}  // namespace panto
