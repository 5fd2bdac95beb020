#include "panto/nn/loss.h"

#include "panto/lib/ops/ops.h"

namespace panto {

Tensor sparse_cross_entropy(const Tensor& logits, const Tensor& labels) {
  return mean(sparse_softmax_cross_entropy_with_logits(logits, labels).loss);
}

Tensor accuracy(const Tensor& logits, const Tensor& labels) {
  const Tensor predicted = argmax(logits, 1, {.output_type = labels.dtype()});
  return mean(cast(equal(predicted, labels), kFloat32));
}

}  // namespace panto
