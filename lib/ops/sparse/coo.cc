#include "panto/lib/ops/sparse/coo.h"

#include <algorithm>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/sparse.h"

namespace panto::sparse {

Entries entries(const ShapeContext& c, int indices, int values, int shape) {
  c.expect_rank(indices, 2);
  Entries e{.count = c.dim(indices, 0), .rank = c.dim(indices, 1)};
  if (values >= 0) e.count = c.merge(e.count, c.vector(values), "number of indices and values");
  if (shape >= 0) e.rank = c.merge(e.rank, c.vector(shape), "rank of indices and shape");
  return e;
}

Tensor broadcast_positions(const Tensor& indices, const Tensor& dims) {
  const Tensor rank = slice(shape(indices, {.out_type = kInt64}), {1}, {1});
  const Tensor added = rank - reshape(size(dims, {.out_type = kInt64}), {1});
  const Tensor last = slice(indices, concat({fill({1}, int64_t{0}), added}, 0), {-1, -1});
  return last * cast(not_equal(dims, int64_t{1}), kInt64);
}

Tensor moved(const Tensor& values, const Tensor& from, const Tensor& to) {
  return sparse_add_grad(values, to, to, from).a_val_grad;
}

void expect_none_negative(const KnownIntegers& dims, const char* what) {
  for (int64_t i = 0; dims.counted() && i < dims.count(); ++i) {
    if (dims.known(i) && dims[i] < 0) invalid("{}[{}]: expected at least 0, got {}", what, i, dims[i]);
  }
}

std::vector<int64_t> reshaped(std::span<const int64_t> from, std::span<const int64_t> to) {
  const int64_t elements = Shape(from).numel();
  std::vector<int64_t> dims(to.begin(), to.end());
  const auto open = std::ranges::find(dims, -1);
  if (open == dims.end()) {
    const int64_t others = Shape(dims).numel();
    if (others != elements) invalid("new_shape: expected one of {} elements, got {}", elements, others);
    return dims;
  }
  *open = 1;
  if (std::ranges::count(dims, -1) > 0) invalid("new_shape: expected at most one dimension of -1, got several");
  const int64_t others = Shape(dims).numel();
  if (others == 0) invalid("new_shape: expected no dimensions of 0 beside -1, got {}", Shape(dims).to_string());
  if (elements % others != 0)
    invalid("new_shape: expected dimensions that divide {} elements, got {}", elements, others);
  *open = elements / others;
  return dims;
}

}  // namespace panto::sparse
