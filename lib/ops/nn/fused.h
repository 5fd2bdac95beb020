// The epilogue of fused matrix products and convolutions: what they apply to the product, read from the call's
// attributes.
#pragma once

#include "panto/lib/base/export.h"
#include "panto/lib/core/call/call.h"

namespace panto {

enum class FusedActivation : uint8_t {
  kNone,
  kRelu,
  kRelu6,
  kTanh,
  kSigmoid,
  kElu,
  kLeakyRelu,
  kGeluApproximate,
  kGeluExact,
  kSwish,
};

// Applied in this order; each may be absent.
struct Epilogue {
  bool bias = false;
  bool batch_norm = false;  // by given moments, as FusedBatchNormV3 in inference
  bool scale = false;       // instead of batch_norm: multiply each row by a vector
  bool offset = false;      // then add a vector to each row
  bool add = false;         // add a tensor of the result's shape
  FusedActivation activation = FusedActivation::kNone;
  float leaky_alpha = 0.2f;
  float epsilon = 0;  // of batch_norm

  // Index of the first tensor of each among `args`: the bias; scale, offset, mean and variance; the scale; the offset;
  // the added tensor.
  int bias_at() const { return 0; }
  int batch_norm_at() const { return bias ? 1 : 0; }
  int scale_at() const { return batch_norm_at() + (batch_norm ? 4 : 0); }
  int offset_at() const { return scale_at() + (scale ? 1 : 0); }
  int add_at() const { return offset_at() + (offset ? 1 : 0); }
  int num_args() const { return add_at() + (add ? 1 : 0); }
};

// Parses attributes `fused_ops`, `num_args`, `epsilon` and `leakyrelu_alpha` of a product or convolution; only
// convolutions may have FusedBatchNorm or Mul. Throws InvalidArgument for an invalid order or number of arguments,
// Unimplemented for an op that cannot be fused.
PANTO_EXPORT Epilogue parse_epilogue(const CallView& call);

}  // namespace panto
