#include "panto/lib/ops/numpy/axes.h"

#include "panto/lib/base/text/format.h"

namespace panto {

int known_rank(const Tensor& t, const char* what) {
  if (!t.partial_shape().known_rank()) {
    invalid("{}: expected a known rank, got shape {}", what, t.partial_shape().to_string());
  }
  return t.partial_shape().rank();
}

int64_t normal_axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) invalid("axis: expected one in [{}, {}), got {}", -rank, rank, axis);
  return axis < 0 ? axis + rank : axis;
}

std::vector<int64_t> moved_order(int64_t from, int64_t to, int rank) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < rank; ++i) {
    if (i != from) order.push_back(i);
  }
  order.insert(order.begin() + to, from);
  return order;
}

}  // namespace panto
