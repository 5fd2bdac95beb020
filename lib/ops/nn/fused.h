// What fused products do to their result before anyone sees it, read from the attributes of a call.
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
};

// In this order, each of which may be absent.
struct Epilogue {
  bool bias = false;
  bool batch_norm = false;  // by given moments: as FusedBatchNormV3 is after training
  bool scale = false;       // in place of it: a vector that each row is multiplied by
  bool offset = false;      // after that: one that is added
  bool add = false;         // a tensor of the result's shape
  FusedActivation activation = FusedActivation::kNone;
  float leaky_alpha = 0.2f;
  float epsilon = 0;  // of batch_norm

  // Where each one's tensors begin among `args`: the bias; scale, offset, mean and variance; the scale; the
  // offset; what is added.
  int bias_at() const { return 0; }
  int batch_norm_at() const { return bias ? 1 : 0; }
  int scale_at() const { return batch_norm_at() + (batch_norm ? 4 : 0); }
  int offset_at() const { return scale_at() + (scale ? 1 : 0); }
  int add_at() const { return offset_at() + (offset ? 1 : 0); }
  int num_args() const { return add_at() + (add ? 1 : 0); }
};

// From `fused_ops`, `num_args`, `epsilon` and `leakyrelu_alpha` of a product or a convolution; only the latter may have
// FusedBatchNorm or Mul. Throws InvalidArgument for an order or a number of arguments that cannot be, Unimplemented
// for an op that cannot be fused.
PANTO_EXPORT Epilogue parse_epilogue(const CallView& call);

}  // namespace panto
