// RaggedTensor: rows that differ in length, as one value.
//
//   RaggedTensor r{tensor({5, 7, 9}), {tensor({0, 2, 3})}};   // [[5, 7], [9]]
//   SparseTensor s = to_sparse(r);
//
// Ragged ops (panto/ops/sparse.h) take and give the tensors. Thread-safety: a value.
#pragma once

#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/lib/ops/sparse/sparse_tensor.h"

namespace panto {

struct RaggedTensor {
  Tensor values;                   // of all rows, one behind the other
  std::vector<Tensor> row_splits;  // of each ragged dimension, the outermost first: where rows begin, and the end
};

// Its elements as entries, in a shape as large as the longest rows. Throws InvalidArgument without row_splits, and for
// splits that decrease or do not fit.
PANTO_EXPORT SparseTensor to_sparse(const RaggedTensor& ragged);

}  // namespace panto
