#include "panto/lib/ops/products.h"

#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

// The rank of x; -1 if unknown.
[[gnu::always_inline]] inline int rank_of(const Arg& x) {
  if (x.kind() == Arg::Kind::kVariable) return x.variable().shape().rank();
  if (!x.is_literal()) return x.tensor().partial_shape().rank();
  return x.is_integer_list() ? 1 : 0;
}

bool is_matrix(int rank) { return rank == 2 || rank < 0; }

// Swaps the last two dimensions.
Tensor swapped(const Tensor& x, int rank) {
  std::vector<int64_t> perm;
  for (int k = 0; k < rank; ++k) perm.push_back(k);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return transpose(x, perm);
}

// The product if there are vectors or batches.
Tensor product_of(Arg& a, Arg& b, int rank_a, int rank_b, const MatMulAttrs& attrs) {
  if (rank_a == 0 || rank_b == 0) invalid("matmul: expected at least one dimension on both sides, got a scalar");
  Tensor x = identity(std::move(a)), y = identity(std::move(b));
  bool transpose_a = attrs.transpose_a, transpose_b = attrs.transpose_b;
  if (rank_a == 1) {
    x = expand_dims(x, 0);
    transpose_a = false;
  }
  if (rank_b == 1) {
    y = expand_dims(y, 1);
    transpose_b = false;
  }
  Tensor product;
  if (rank_a <= 2 && rank_b <= 2) {
    product = mm(x, y, {.transpose_a = transpose_a, .transpose_b = transpose_b});
  } else {
    // BatchMatMulV2 conjugates what it transposes.
    if (transpose_a && dtypes::kComplex.contains(x.dtype())) {
      x = swapped(x, rank_a);
      transpose_a = false;
    }
    if (transpose_b && dtypes::kComplex.contains(y.dtype())) {
      y = swapped(y, rank_b);
      transpose_b = false;
    }
    product = batch_matmul(x, y, {.adj_x = transpose_a, .adj_y = transpose_b});
  }
  std::vector<int64_t> gone;
  if (rank_a == 1) gone.push_back(-2);
  if (rank_b == 1) gone.push_back(-1);
  return gone.empty() ? product : squeeze(product, {.squeeze_dims = gone});
}

// Like mm, but without moving the arguments again, which took a twentieth of the time for small matrices.
Tensor product_of_matrices(Arg& a, Arg& b, const MatMulAttrs& attrs) {
  Arg* args[] = {&a, &b};
  AttrSlot slots[] = {attrs.transpose_a, attrs.transpose_b, {}, attrs.grad_a, attrs.grad_b};
  return dispatch::call_typed_1(kMatMul, args, slots);
}

}  // namespace

Tensor matmul(Arg a, Arg b, const MatMulAttrs& attrs) {
  const int rank_a = rank_of(a), rank_b = rank_of(b);
  if (is_matrix(rank_a) && is_matrix(rank_b)) [[likely]]
    return product_of_matrices(a, b, attrs);
  return from_caller(a.where(), [&] { return product_of(a, b, rank_a, rank_b, attrs); });
}

}  // namespace panto
