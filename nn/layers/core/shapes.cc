#include "panto/nn/layers/core/shapes.h"

#include <algorithm>
#include <limits>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/create.h"
#include "panto/ops/array.h"

namespace panto::detail {

Tensor reshape_as(const Tensor& x, const Tensor& like, std::vector<int64_t> dims) {
  const PartialShape& shape = like.partial_shape();
  size_t unknown = 0;
  bool empty = false;
  std::vector<int64_t> known = dims;
  for (int64_t& d : known) {
    if (d < 0) d = shape.dim(static_cast<int>(~d));
    if (d < 0) ++unknown;
    if (d == 0) empty = true;
  }
  // A single unknown dimension follows from the others, unless there are no elements.
  if (unknown == 0 || (unknown == 1 && !empty)) return reshape(x, known);
  const Tensor sizes = panto::shape(like);
  std::vector<Tensor> each;
  for (size_t k = 0; k < dims.size(); ++k) {
    each.push_back(known[k] >= 0 ? tensor(checked_cast<int32_t>(known[k], "size")) : sizes[~dims[k]]);
  }
  return reshape(x, pack(each));
}

bool has_channels(const Tensor& x, int rank, int64_t channels) noexcept {
  const PartialShape& shape = x.partial_shape();
  if (!shape.known_rank()) return true;
  return shape.rank() == rank && (channels < 0 || shape.dim(rank - 1) < 0 || shape.dim(rank - 1) == channels);
}

void expect_channels(std::string_view layer, const Tensor& x, int rank, std::string_view expected, int64_t channels) {
  if (has_channels(x, rank, channels)) return;
  invalid("{}: expected an input of shape [{}, {}], got {}", layer, expected,
          channels < 0 ? "channels" : fmt::format("{}", channels), x.partial_shape().to_string());
}

int known_rank(std::string_view layer, const Tensor& x, int least) {
  const PartialShape& shape = x.partial_shape();
  if (!shape.known_rank() || shape.rank() < least) {
    invalid("{}: expected an input of known rank of at least {}, got {}", layer, least, shape.to_string());
  }
  return shape.rank();
}

int normal_axis(std::string_view layer, int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    invalid("{}: expected an axis in [{}, {}), got {}", layer, -rank, rank, axis);
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

double lowest(DType dtype) {
  return dtype == kFloat16 ? -65504 : dtype == kBFloat16 ? -3.3895314e38 : std::numeric_limits<float>::lowest();
}

}  // namespace panto::detail
