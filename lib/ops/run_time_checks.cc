#include "panto/lib/ops/run_time_checks.h"

#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"

namespace panto {
namespace {

// Whether equal numbers of elements imply equal shapes, for tensors of these partial shapes.
bool numel_decides(const PartialShape& a, const PartialShape& b) {
  if (!a.known_rank() || !b.known_rank() || a.rank() != b.rank()) return false;
  int unknown = 0;
  for (int k = 0; k < a.rank(); ++k) {
    if (a.dim(k) < 0 || b.dim(k) < 0) {
      ++unknown;
    } else if (a.dim(k) != b.dim(k) || a.dim(k) == 0) {
      return false;
    }
  }
  return unknown <= 1;
}

}  // namespace

std::vector<Tensor> of_one_shape(const std::vector<Tensor>& tensors) {
  return unpack(pack(tensors), static_cast<int64_t>(tensors.size()));
}

Tensor with_shape_of(const Tensor& t, const Tensor& like) {
  const PartialShape &a = t.partial_shape(), &b = like.partial_shape();
  if (a.fully_known() && a == b) return t;
  return numel_decides(a, b) ? reshape(t, shape(like)) : of_one_shape({t, like})[0];
}

// A slice of size 1 from a tensor of size 1 fails unless it begins at 0 in every dimension.
Tensor zero_if_equal(const Tensor& a, const Tensor& b, int64_t count) {
  const std::vector<int64_t> ones(static_cast<size_t>(count), 1);
  const Tensor zero = reshape(constant_integers({0}), ones);
  return reshape(slice(zero, a - b, constant_integers(ones)), {1});
}

}  // namespace panto
