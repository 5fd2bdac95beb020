// Losses and metrics over a batch.
#pragma once

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor.h"

namespace panto {

// Mean over the batch of -log softmax(logits)[label]: logits [batch, classes] floating, labels [batch] int32 or int64
// in [0, classes). A scalar. Throws InvalidArgument for a label out of range.
PANTO_EXPORT Tensor sparse_cross_entropy(const Tensor& logits, const Tensor& labels);
// Share of rows whose largest logit is the label's: a float32 scalar in [0, 1].
PANTO_EXPORT Tensor accuracy(const Tensor& logits, const Tensor& labels);

}  // namespace panto
