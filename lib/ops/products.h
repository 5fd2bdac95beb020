// Matrix products, as NumPy's `a @ b`.
//
//   Tensor y = matmul(x, w);  Tensor dx = matmul(dy, w, {.transpose_b = true});
#pragma once

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"
#include "panto/ops/math.h"

namespace panto {

// NumPy's `a @ b`: the product of matrices [m, k] and [k, n]. A vector is taken as a row (a) or column (b), and its
// dimension is dropped from the result. Leading dimensions are batches and broadcast. `attrs` may ask to transpose a
// matrix first; vectors are not transposed. In graphs this is op MatMul, or BatchMatMulV2 with reshapes. An unknown
// rank is assumed to be 2. Throws InvalidArgument for scalars and for sizes that do not fit.
PANTO_EXPORT Tensor matmul(Arg a, Arg b, const MatMulAttrs& attrs = {});

}  // namespace panto
