#include "panto/lib/ops/sparse/ragged_tensor.h"

#include "panto/lib/base/text/format.h"
#include "panto/ops/sparse.h"

namespace panto {

SparseTensor to_sparse(const RaggedTensor& ragged) {
  if (ragged.row_splits.empty()) invalid("ragged tensor: expected row_splits, got none");
  auto [indices, values, shape] = ragged_tensor_to_sparse(ragged.row_splits, ragged.values);
  return {std::move(indices), std::move(values), std::move(shape)};
}

}  // namespace panto
