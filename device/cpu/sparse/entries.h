// The indices of a sparse tensor's entries: comparing (lexicographically), sorting, merging and checking them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "panto/device/math/vocabulary.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::cpu {

class EntryIndices {
 public:
  EntryIndices(const KernelContext& c, int input)
      : at_(c.data<int64_t>(input)), count_(c.shape(input).dim(0)), rank_(c.shape(input).dim(1)) {}
  EntryIndices(const int64_t* at, int64_t count, int64_t rank) : at_(at), count_(count), rank_(rank) {}

  int64_t count() const { return count_; }
  int64_t rank() const { return rank_; }
  const int64_t* operator[](int64_t i) const { return at_ + i * rank_; }

 private:
  const int64_t* at_;
  int64_t count_, rank_;
};

// Returns -1, 0 or 1 if index `a` is before, equal to or after `b`.
inline int compare_indices(const int64_t* a, const int64_t* b, int64_t rank) {
  for (int64_t d = 0; d < rank; ++d) {
    if (a[d] != b[d]) return a[d] < b[d] ? -1 : 1;
  }
  return 0;
}

// Returns the entries' numbers in ascending order of their indices (stable).
inline std::vector<int64_t> order_of(const EntryIndices& indices) {
  std::vector<int64_t> order(static_cast<size_t>(indices.count()));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::ranges::stable_sort(
      order, [&](int64_t a, int64_t b) { return compare_indices(indices[a], indices[b], indices.rank()) < 0; });
  return order;
}

// Throws InvalidArgument unless the sparse tensors in inputs 0 to 2 and 3 to 5 (indices, values, shape) have one shape.
inline void check_one_shape(const KernelContext& c) {
  for (int64_t d = 0; d < c.shape(0).dim(1); ++d) {
    const int64_t dim_a = c.data<int64_t>(2)[d], dim_b = c.data<int64_t>(5)[d];
    if (dim_a != dim_b) invalid("dimensions of a_shape and b_shape: expected {}, got {}", dim_a, dim_b);
  }
}
// Merges the entries of two sparse tensors, both in ascending order, into outputs 0 and 1 (indices and values). For
// each index calls join(i, j) with the entry of each tensor, -1 if it has none; without a value the index is left out.
template <class T, class Join>
void put_out_merged(KernelContext& c, const Join& join) {
  const EntryIndices a(c, 0), b(c, 3);
  std::vector<const int64_t*> indices;
  std::vector<T> values;
  const auto most = static_cast<size_t>(a.count()) + static_cast<size_t>(b.count());
  indices.reserve(most);
  values.reserve(most);
  int64_t i = 0, j = 0;
  while (i < a.count() || j < b.count()) {
    const int order = i == a.count() ? 1 : j == b.count() ? -1 : compare_indices(a[i], b[j], a.rank());
    if (const std::optional<T> value = join(order <= 0 ? i : -1, order >= 0 ? j : -1)) {
      indices.push_back(order <= 0 ? a[i] : b[j]);
      values.push_back(*value);
    }
    if (order <= 0) ++i;
    if (order >= 0) ++j;
  }
  const auto count = static_cast<int64_t>(values.size());
  Tensor out_indices = allocate_tensor(c.device(), kInt64, Shape{count, a.rank()});
  auto* to = mutable_data<int64_t>(out_indices);
  for (const int64_t* index : indices) to = std::copy_n(index, a.rank(), to);
  Tensor out_values = allocate_tensor(c.device(), dtype_of<T>, Shape{count});
  std::ranges::copy(values, mutable_data<T>(out_values));
  c.set_out(0, std::move(out_indices));
  c.set_out(1, std::move(out_values));
}

// How reductions join entries.
struct AddEntries {
  template <class T>
  static T join(T so_far, T x) {
    return k::add(so_far, x);
  }
};
// An entry after a NaN replaces it, as in TensorFlow.
struct LargestEntry {
  template <class T>
  static T join(T so_far, T x) {
    return so_far > x ? so_far : x;
  }
};

// Returns true if 0 <= index < size.
inline bool in_range(int64_t index, int64_t size) {
  return static_cast<uint64_t>(index) < static_cast<uint64_t>(size);  // sizes are not negative
}

// Throws InvalidArgument: index `i` of entries is out of range in dimension `d`.
[[noreturn]] inline void out_of_range(const char* what, int64_t i, int64_t d, int64_t size, int64_t got) {
  invalid("{}[{},{}]: expected one in [0, {}), got {}", what, i, d, size, got);
}
// Throws InvalidArgument unless all indices are within the shape `dims`.
inline void check_within(const EntryIndices& indices, const int64_t* dims, const char* what) {
  for (int64_t i = 0; i < indices.count(); ++i) {
    for (int64_t d = 0; d < indices.rank(); ++d) {
      if (!in_range(indices[i][d], std::max<int64_t>(0, dims[d]))) out_of_range(what, i, d, dims[d], indices[i][d]);
    }
  }
}
// Throws InvalidArgument unless the indices are strictly ascending.
inline void check_ascending(const EntryIndices& indices, const char* what) {
  for (int64_t i = 1; i < indices.count(); ++i) {
    const int order = compare_indices(indices[i - 1], indices[i], indices.rank());
    if (order < 0) continue;
    invalid("{}[{}]: expected one after the one before, got one that is {}", what, i,
            order == 0 ? "repeated" : "out of order");
  }
}

// Calls f(number, indices, values, shape) for each slice along the first dimension of a sparse tensor whose indices,
// values and shape are inputs 0 to 2. Precondition: check_within, check_ascending.
template <class T, class F>
void for_each_slice(KernelContext& c, const EntryIndices& indices, int64_t count, const F& f) {
  const int64_t inner = indices.rank() - 1;
  const Tensor shape = allocate_tensor(c.device(), kInt64, Shape{inner});
  std::copy_n(c.data<int64_t>(2) + 1, inner, mutable_data<int64_t>(shape));
  int64_t next = 0;
  for (int64_t number = 0; number < count; ++number) {
    const int64_t begin = next;
    while (next < indices.count() && indices[next][0] == number) ++next;
    const Tensor part = allocate_tensor(c.device(), kInt64, Shape{next - begin, inner});
    const Tensor values = allocate_tensor(c.device(), c.in(1).dtype(), Shape{next - begin});
    auto* to = mutable_data<int64_t>(part);
    for (int64_t i = begin; i < next; ++i) to = std::copy_n(indices[i] + 1, inner, to);
    std::copy_n(c.data<T>(1) + begin, next - begin, mutable_data<T>(values));
    f(number, part, values, shape);
  }
}

}  // namespace panto::cpu
