// SparseTensor: a tensor stored as its entries (indices and values) and shape.
//
//   SparseTensor s{tensor({{0, 1}, {2, 0}}), tensor({5.f, 7.f}), tensor({3, 4})};   // 3 x 4
//   Tensor dense = to_dense(s);                                                    // zeros elsewhere
//   SparseTensor back = from_dense(dense);
//   auto [indices, values, shape] = back;
//
// Sparse ops (panto/ops/sparse.h) take and return the three tensors. Thread-safety: a value type.
#pragma once

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/arg.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

struct SparseTensor {
  Tensor indices;      // int64 [entries, rank]: in ascending order if an op requires it
  Tensor values;       // [entries]
  Tensor dense_shape;  // int64 [rank]
};

// Converts to a dense tensor. Elements without an entry are `default_value` (default: 0, false or ""). Throws
// InvalidArgument for entries that are out of order, repeated or outside of the shape.
PANTO_EXPORT Tensor to_dense(const SparseTensor& sparse);
PANTO_EXPORT Tensor to_dense(const SparseTensor& sparse, Arg default_value);
// Makes an entry for each element that is not 0, false or "".
PANTO_EXPORT SparseTensor from_dense(Arg dense);
// The entries for which `keep`, bool [entries], is true.
PANTO_EXPORT SparseTensor sparse_retain(const SparseTensor& sparse, Arg keep);
// The same entries in ascending order of their indices.
PANTO_EXPORT SparseTensor sparse_reorder(const SparseTensor& sparse);
// Reshapes to a shape with as many elements, in which one dimension may be -1: op SparseReshape.
PANTO_EXPORT SparseTensor sparse_reshape(const SparseTensor& sparse, Arg shape);

}  // namespace panto
