#include "panto/device/shape/axes.h"

#include "panto/lib/base/text/format.h"

namespace panto {

int64_t axis_at(const KernelContext& c, int input, int64_t i, int rank) {
  if (i >= c.numel(input)) invalid("axis: expected a scalar, got no element");
  int64_t axis = 0;
  switch (c.in(input).dtype()) {
    case DType::kInt16: axis = c.data<int16_t>(input)[i]; break;
    case DType::kInt32: axis = c.data<int32_t>(input)[i]; break;
    default: axis = c.data<int64_t>(input)[i]; break;
  }
  if (axis < -rank || axis >= rank) invalid("axis: expected one in [{}, {}), got {}", -rank, rank, axis);
  return axis < 0 ? axis + rank : axis;
}

AxisFlags reduced_axes(const KernelContext& c) {
  AxisFlags axes;
  for (int64_t i = 0; i < c.numel(1); ++i) axes.set(static_cast<size_t>(axis_at(c, 1, i, c.shape(0).rank())));
  return axes;
}

void expect_positions(int64_t size, DType type) {
  if (size == 0) invalid("dimension: expected at least one element, got 0");
  int64_t most = INT64_MAX;
  if (type == kInt16) most = INT16_MAX;
  if (type == kUint16) most = UINT16_MAX;
  if (type == kInt32) most = INT32_MAX;
  if (size - 1 > most) {
    invalid("dimension: expected a size whose positions fit {}, got {}", dtype_name(type), size);
  }
}

}  // namespace panto
