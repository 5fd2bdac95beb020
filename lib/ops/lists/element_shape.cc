#include "panto/lib/ops/lists/element_shape.h"

#include <span>

#include "panto/lib/base/small_vector.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/array/values.h"

namespace panto {

PartialShape spelled_element_shape(const Tensor& t) {
  const PartialShape& shape = t.partial_shape();
  if (!shape.known_rank()) return {};
  if (shape.rank() > 1) invalid("element_shape: expected a vector, or a scalar -1, got shape {}", shape.to_string());
  const KnownIntegers values(t);
  if (shape.rank() == 0) {
    if (values.counted() && values.known(0) && values[0] != -1) {
      invalid("element_shape: expected a vector, or a scalar -1, got a scalar {}", values[0]);
    }
    return {};
  }
  if (!values.counted()) return {};
  if (values.count() > kMaxRank) {
    invalid("element_shape: expected at most {} dimensions, got {}", kMaxRank, values.count());
  }
  SmallVector<int64_t, 8> dims;
  for (int64_t i = 0; i < values.count(); ++i) {
    if (values.known(i) && values[i] < -1) {
      invalid("element_shape: expected dimensions of at least -1, got {}", values[i]);
    }
    dims.push_back(values.known(i) ? values[i] : kUnknownDim);
  }
  return PartialShape(std::span<const int64_t>(dims.data(), dims.size()));
}

}  // namespace panto
