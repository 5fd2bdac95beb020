// RaggedTensor: rows that differ in length, as one value.
//
//   RaggedTensor r{tensor({5, 7, 9}), {tensor({0, 2, 3})}};   // [[5, 7], [9]]
//   SparseTensor s = to_sparse(r);
//
// Ragged ops (panto/ops/sparse.h) take and return the separate tensors. Thread-safety: a value type.
#pragma once

#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/ops/sparse/sparse_tensor.h"

namespace panto {

struct RaggedTensor {
  Tensor values;                   // of all rows, concatenated
  std::vector<Tensor> row_splits;  // per ragged dimension, outermost first: starts of rows, then the end
};

// Converts to a sparse tensor whose shape holds the longest rows. Throws InvalidArgument without row_splits, and for
// splits that decrease or do not fit.
PANTO_EXPORT SparseTensor to_sparse(const RaggedTensor& ragged);

}  // namespace panto
