// Compile-time knowledge for kernels: the dtypes that an op allows for the attribute that selects its kernel, and, if
// its block has `flops_each`, the number of operations per element.
//
//   #include "panto/lib/ops/math_types.h"  // generated: those of the ops of lib/ops/math
//   OpTypes<"Sum">::kTypes.contains(kFloat32);
#pragma once

#include "panto/lib/base/text/literal_name.h"
#include "panto/lib/core/tensor/dtype.h"

namespace panto {

template <LiteralName kOp>
struct OpTypes {
  static_assert(kOp.text[0] == 0,
                "no op of this name is known here: include the types of its family, "
                "\"panto/lib/ops/<family>_types.h\"");
};

}  // namespace panto
