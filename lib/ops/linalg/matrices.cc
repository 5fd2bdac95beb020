#include "panto/lib/ops/linalg/matrices.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/math/complex.h"
#include "panto/lib/ops/operators.h"
#include "panto/ops/array.h"
#include "panto/ops/linalg.h"
#include "panto/ops/math.h"

namespace panto::matrix {

PartialShape with_last(const PartialShape& shape, std::initializer_list<int64_t> dims, int replaced) {
  if (!shape.known_rank()) return PartialShape::unknown();
  SmallVector<int64_t, 8> all;
  for (int i = 0; i + replaced < shape.rank(); ++i) all.push_back(shape.dim(i));
  for (const int64_t d : dims) all.push_back(d);
  return PartialShape(std::span<const int64_t>(all.data(), all.size()));
}

int64_t square(const ShapeContext& c, int i) {
  c.expect_rank_at_least(i, 2);
  return c.merge(c.dim(i, -2), c.dim(i, -1), "columns of a square matrix");
}

PartialShape same_batch(const ShapeContext& c, std::initializer_list<int64_t> last) {
  const PartialShape a = with_last(c.shape(0), {}), b = with_last(c.shape(1), {});
  if (!a.compatible_with(b)) {
    c.invalid("batch dimensions: expected " + a.to_string() + ", got " + b.to_string());
  }
  const PartialShape batch = a.merged_with(b);
  return batch.known_rank() ? with_last(batch, last, 0) : batch;
}

void broadcast_batch(ShapeContext& c, std::initializer_list<int64_t> last) {
  const int rx = c.rank(0), ry = c.rank(1);
  if (rx < 0 || ry < 0) return c.output(PartialShape());
  const int rank = std::max(rx, ry);
  SmallVector<int64_t, 8> dims(static_cast<size_t>(rank));
  for (int k = 3; k <= rank; ++k) {
    const int64_t x = k <= rx ? c.dim(0, -k) : 1;
    const int64_t y = k <= ry ? c.dim(1, -k) : 1;
    if (x != 1 && y != 1) c.expect_equal(x, y, "batch dimensions");
    // An unknown dimension equals the other one, unless that is 1.
    dims[static_cast<size_t>(rank - k)] = x == 1 ? y : (y == 1 || y < 0 ? x : y);
  }
  std::copy(last.begin(), last.end(), dims.begin() + (rank - 2));
  c.output(PartialShape(std::span<const int64_t>(dims)));
}

Tensor swapped(const Tensor& x) {
  const PartialShape& shape = x.partial_shape();
  if (!shape.known_rank()) {
    const Tensor last = rank(x);
    return transpose(x, concat({range(0, last - 2, 1), pack({last - 1, last - 2})}, 0));
  }
  std::vector<int64_t> perm(static_cast<size_t>(shape.rank()));
  std::iota(perm.begin(), perm.end(), int64_t{0});
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return transpose(x, perm);
}
Tensor adjoint(const Tensor& x) { return conjugate(swapped(x)); }

Tensor matrix_mul(const Tensor& a, const Tensor& b) { return batch_matmul(a, b); }
Tensor adjoint_mul(const Tensor& a, const Tensor& b) { return batch_matmul(a, b, {.adj_x = true}); }
Tensor mul_adjoint(const Tensor& a, const Tensor& b) { return batch_matmul(a, b, {.adj_y = true}); }

Tensor lower(const Tensor& x) { return matrix_band_part(x, int64_t{-1}, int64_t{0}); }
Tensor upper(const Tensor& x) { return matrix_band_part(x, int64_t{0}, int64_t{-1}); }
Tensor half_lower(const Tensor& x) { return with_diagonal(lower(x), 0.5 * diagonal(x)); }
Tensor with_diagonal(const Tensor& x, const Tensor& diagonal) { return matrix_set_diag_main(x, diagonal); }
Tensor diagonal(const Tensor& x) { return matrix_diag_part_main(x); }
Tensor of_diagonal(const Tensor& diagonal) { return matrix_diag_main(diagonal); }
Tensor identity_like(const Tensor& square) { return of_diagonal(ones_like(diagonal(square))); }

Tensor real_of(const Tensor& x) { return dtypes::kComplex.contains(x.dtype()) ? 0.5 * (x + conj(x)) : x; }
Tensor hermitian(const Tensor& x) { return 0.5 * (x + adjoint(x)); }
Tensor hermitian_of_lower(const Tensor& x) {
  const Tensor half = half_lower(x);
  return half + adjoint(half);
}

Tensor safe_reciprocal(const Tensor& x) { return x * reciprocal(square(x) + 1e-20); }

Tensor reciprocal_differences(const Tensor& values) {
  return with_diagonal(safe_reciprocal(expand_dims(values, -2) - expand_dims(values, -1)), zeros_like(values));
}

Tensor over_adjoint_of_upper(const Tensor& x, const Tensor& r) {
  return adjoint(matrix_triangular_solve(r, adjoint(x), {.lower = false}));
}

}  // namespace panto::matrix
