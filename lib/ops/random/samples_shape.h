// Shapes of samples of parameterized distributions. Internal.
#pragma once

#include <string_view>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/array/values.h"

namespace panto {

// Input `shape` holds the shape of the output, all samples, which must end with `each`, the shape of `whose`. Throws
// InvalidArgument if it does not.
inline void samples_shape(ShapeContext& c, int shape, const PartialShape& each, std::string_view whose) {
  const PartialShape samples = c.shape_from(shape);
  c.output(samples);
  if (!samples.known_rank() || !each.known_rank()) return;
  const int further = samples.rank() - each.rank();
  bool fits = further >= 0;
  for (int i = 0; fits && i < each.rank(); ++i) {
    const int64_t a = samples.dim(i + further), b = each.dim(i);
    fits = a < 0 || b < 0 || a == b;
  }
  if (!fits) {
    invalid("shape: expected one that ends with {}, that of {}, got {}", each.to_string(), whose, samples.to_string());
  }
}

}  // namespace panto
