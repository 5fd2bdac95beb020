#include "panto/device/shape/indexing.h"

#include "panto/lib/base/small_vector.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/array/values.h"

namespace panto {
namespace {

// Wraps around: the other dimensions of an empty tensor may multiply to more than 2^63; their product is not used then.
int64_t product(std::span<const int64_t> dims, size_t first, size_t last) {
  uint64_t n = 1;
  for (size_t i = first; i < last; ++i) n *= static_cast<uint64_t>(dims[i]);
  return static_cast<int64_t>(n);
}

}  // namespace

Shape with_first(int64_t first, const Shape& shape, int replaced) {
  SmallVector<int64_t, 8> dims = {first};
  for (int i = replaced; i < shape.rank(); ++i) dims.push_back(shape.dim(i));
  return Shape(std::span<const int64_t>(dims.data(), dims.size()));
}

int64_t numel_behind(const Shape& shape, int rank) {
  const std::span<const int64_t> dims = shape.dims();
  return product(dims, static_cast<size_t>(rank), dims.size());
}

GatherDims gather_dims(const KernelContext& c) {
  const std::span<const int64_t> params = c.shape(0).dims();
  const std::span<const int64_t> indices = c.shape(1).dims();
  const auto rank = static_cast<int64_t>(params.size());
  const int64_t given = host_integer(c.in(2));
  const int64_t batch_dims = c.integer("batch_dims");
  const int64_t batch = batch_dims < 0 ? batch_dims + static_cast<int64_t>(indices.size()) : batch_dims;
  // The shape function checks the axis only if its value is known then.
  if (given < -rank || given >= rank) invalid("axis: expected one in [{}, {}), got {}", -rank, rank, given);
  const int64_t axis = given < 0 ? given + rank : given;
  if (axis < batch) invalid("axis: expected at least {}, the number of batch dimensions, got {}", batch, axis);
  const auto a = static_cast<size_t>(axis);
  const auto b = static_cast<size_t>(batch);
  return {.batch = product(params, 0, b),
          .outer = product(params, b, a),
          .limit = params[a],
          .inner = product(params, a + 1, params.size()),
          .each = product(indices, b, indices.size())};
}

OneHotDims one_hot_dims(const KernelContext& c) {
  const std::span<const int64_t> dims = c.shape(0).dims();
  const int64_t axis = c.integer("axis");
  const size_t at = axis < 0 ? dims.size() : static_cast<size_t>(axis);
  return {.outer = product(dims, 0, at),
          .depth = c.out_shape(0).dim(static_cast<int>(at)),
          .inner = product(dims, at, dims.size())};
}

int64_t nth_of(const KernelContext& c, int64_t size) {
  const int64_t n = host_integer(c.in(1));
  if (n < 0 || n >= size) invalid("n: expected one in [0, {}), got {}", size, n);
  return c.flag("reverse") ? size - 1 - n : n;
}

}  // namespace panto
