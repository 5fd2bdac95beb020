// The rules by which ops are transformed: their own, or what follows from their traits. Internal.
#pragma once

#include "panto/lib/base/export.h"
#include "panto/lib/core/op/op.h"

namespace panto {

// Null: the op runs once for each element of the batch.
PANTO_EXPORT BatchFn batch_rule_of(const Op& op);
// Null: tangents come from its gradient, differentiated once more; or there are none.
PANTO_EXPORT JvpFn jvp_rule_of(const Op& op);

}  // namespace panto
