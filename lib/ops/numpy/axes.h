// Numbers of dimensions, for functions that are built from ops.
#pragma once

#include <cstdint>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"
#include "panto/ops/array.h"

namespace panto {

// Returns the rank of t. Throws InvalidArgument, which begins with `what`, if it is not known.
int known_rank(const Tensor& t, const char* what);
// Returns the axis, counted from the front. Throws InvalidArgument unless it is in [-rank, rank).
int64_t normal_axis(int64_t axis, int rank);
// The same of each axis. Throws InvalidArgument also if one is there twice.
std::vector<int64_t> normal_axes(const std::vector<int64_t>& axes, int rank);
// The axes that are not among these, which are counted from the front; in order.
std::vector<int64_t> other_axes(const std::vector<int64_t>& axes, int rank);
// Returns the rank of t. Throws InvalidArgument, which begins with `what`, if it is not known or less than `least`.
int rank_of_at_least(const Tensor& t, int least, const char* what);
// The order of dimensions in which dimension `from` is at place `to`, and the others follow each other as before.
std::vector<int64_t> moved_order(int64_t from, int64_t to, int rank);
// The order in which dimensions `a` and `b` are exchanged.
std::vector<int64_t> swapped_order(int64_t a, int64_t b, int rank);
// The sizes of t's dimensions: int64.
inline Tensor sizes_of(const Tensor& t) { return panto::shape(t, {.out_type = kInt64}); }
// `count` of them from `begin` on; -1: the rest.
Tensor part_of(const Tensor& sizes, int64_t begin, int64_t count);

// Applies f to x with dimension `axis` exchanged with the last one, and exchanges them again.
template <class F>
Tensor along(const Tensor& x, int64_t axis, const char* what, const F& f) {
  if (axis == -1) return f(x);
  const int rank = known_rank(x, what);
  const int64_t a = normal_axis(axis, rank);
  if (a == rank - 1) return f(x);
  const std::vector<int64_t> order = swapped_order(a, rank - 1, rank);
  return transpose(f(transpose(x, order)), order);
}

}  // namespace panto
