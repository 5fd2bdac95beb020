#include "panto/lib/ops/sparse/sparse_tensor.h"

#include <string>

#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/sparse.h"

namespace panto {
namespace {

Tensor nothing_of(DType dtype) { return dtype == kString ? tensor(std::string()) : cast(tensor(0), dtype); }

}  // namespace

Tensor to_dense(const SparseTensor& sparse) { return to_dense(sparse, nothing_of(sparse.values.dtype())); }

Tensor to_dense(const SparseTensor& sparse, Arg default_value) {
  const Arg::Where where = default_value.where();
  return from_caller(where, [&] {
    return sparse_to_dense(sparse.indices, sparse.dense_shape, sparse.values, std::move(default_value));
  });
}

SparseTensor from_dense(Arg dense) {
  return from_caller(dense.where(), [&]() -> SparseTensor {
    const Tensor& x = dense.tensor();
    const Tensor indices = where(not_equal(x, nothing_of(x.dtype())));
    return {indices, gather_nd(x, indices), shape(x, {.out_type = kInt64})};
  });
}

SparseTensor sparse_retain(const SparseTensor& sparse, Arg keep) {
  return from_caller(keep.where(), [&]() -> SparseTensor {
    const Tensor kept = reshape(where(keep.tensor()), {-1});
    return {gather(sparse.indices, kept, 0), gather(sparse.values, kept, 0), sparse.dense_shape};
  });
}

SparseTensor sparse_reorder(const SparseTensor& sparse) {
  const SparseReorderOutputs ordered = sparse_reorder(sparse.indices, sparse.values, sparse.dense_shape);
  return {ordered.output_indices, ordered.output_values, sparse.dense_shape};
}

SparseTensor sparse_reshape(const SparseTensor& sparse, Arg shape) {
  const SparseReshapeOutputs reshaped = sparse_reshape(sparse.indices, sparse.dense_shape, std::move(shape));
  return {reshaped.output_indices, sparse.values, reshaped.output_shape};
}

}  // namespace panto
