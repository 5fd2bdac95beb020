// Finds the rules by which ops are transformed: an op's own rule, or one that follows from its traits. Internal.
#pragma once

#include "panto/lib/base/export.h"
#include "panto/lib/core/op/op.h"

namespace panto {

// The rule for vmap; null: run the op once for each element of the batch.
PANTO_EXPORT BatchFn batch_rule_of(const Op& op);
// The rule for jvp; null: differentiate the op's gradient to get tangents, if it has one.
PANTO_EXPORT JvpFn jvp_rule_of(const Op& op);

}  // namespace panto
