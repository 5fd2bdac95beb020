#include "panto/lib/ops/numpy/axes.h"

#include <algorithm>
#include <numeric>
#include <utility>

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

std::vector<int64_t> normal_axes(const std::vector<int64_t>& axes, int rank) {
  std::vector<int64_t> counted;
  for (const int64_t axis : axes) {
    const int64_t a = normal_axis(axis, rank);
    if (std::find(counted.begin(), counted.end(), a) != counted.end()) invalid("axis: expected each one once");
    counted.push_back(a);
  }
  return counted;
}

std::vector<int64_t> other_axes(const std::vector<int64_t>& axes, int rank) {
  std::vector<int64_t> rest;
  for (int64_t k = 0; k < rank; ++k) {
    if (std::find(axes.begin(), axes.end(), k) == axes.end()) rest.push_back(k);
  }
  return rest;
}

int rank_of_at_least(const Tensor& t, int least, const char* what) {
  const int rank = known_rank(t, what);
  if (rank < least) {
    invalid("{}: expected a rank of at least {}, got shape {}", what, least, t.partial_shape().to_string());
  }
  return rank;
}

std::vector<int64_t> moved_order(int64_t from, int64_t to, int rank) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < rank; ++i) {
    if (i != from) order.push_back(i);
  }
  order.insert(order.begin() + to, from);
  return order;
}

std::vector<int64_t> swapped_order(int64_t a, int64_t b, int rank) {
  std::vector<int64_t> order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::swap(order[static_cast<size_t>(a)], order[static_cast<size_t>(b)]);
  return order;
}

Tensor part_of(const Tensor& sizes, int64_t begin, int64_t count) {
  return slice(sizes, std::vector<int64_t>{begin}, std::vector<int64_t>{count});
}

}  // namespace panto
