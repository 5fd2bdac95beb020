// What fused products do to their result before anyone sees it, read from the attributes of a call.
#pragma once

#include "panto/lib/core/call.h"

namespace panto {

enum class Activation : uint8_t {
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

struct Epilogue {
  bool bias = false;
  Activation activation = Activation::kNone;
  float leaky_alpha = 0.2f;
};

// From `fused_ops`, `num_args` and `leakyrelu_alpha`. Throws InvalidArgument for an order or a number of arguments that
// cannot be, Unimplemented for an op that cannot be fused.
Epilogue parse_epilogue(const CallView& call);

}  // namespace panto
