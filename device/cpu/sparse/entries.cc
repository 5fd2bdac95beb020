// Kernels on the entries of sparse tensors. One thread goes through the entries in order: the work per entry is small,
// and an entry's place in the output depends on those before it.
#include "panto/device/cpu/sparse/entries.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <optional>
#include <type_traits>
#include <vector>

#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/math/convert.h"
#include "panto/device/math/vocabulary.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/ops/array/values.h"

namespace panto {
namespace {

using cpu::compare_indices;
using cpu::EntryIndices;
using cpu::order_of;

// ---- SparseReorder --------------------------------------------------------------------------------------------------

struct RunReorder {
  template <class T>
  static void run(KernelContext& c) {
    const EntryIndices indices(c, 0);
    auto* to = c.out_data<int64_t>(0);
    const T* values = c.data<T>(1);
    T* out = c.out_data<T>(1);
    for (const int64_t i : order_of(indices)) {
      to = std::copy_n(indices[i], indices.rank(), to);
      *out++ = values[i];
    }
  }
};

// ---- SparseAdd ------------------------------------------------------------------------------------------------------

// Returns true if the sum of two entries is kept. long double represents the values of all types exactly.
template <class T>
bool reaches(T sum, long double thresh) {
  if constexpr (is_complex_type<T>) {
    return static_cast<long double>(std::abs(sum)) >= thresh;
  } else if constexpr (is_half_type<T>) {
    return std::fabs(static_cast<long double>(static_cast<float>(sum))) >= thresh;
  } else {
    return std::fabs(static_cast<long double>(sum)) >= thresh;
  }
}

long double threshold(const Tensor& t) {
  long double value = 0;
  with_type(types::reals{}, t.dtype(), [&]<class T>() {
    value = static_cast<long double>(convert<Compute<T>>(*static_cast<const T*>(t.impl()->data)));
  });
  return value;
}

struct RunAdd {
  template <class T>
  static void run(KernelContext& c) {
    cpu::check_one_shape(c);
    const T *x = c.data<T>(1), *y = c.data<T>(4);
    const long double thresh = threshold(c.in(6));
    cpu::put_out_merged<T>(c, [&](int64_t i, int64_t j) -> std::optional<T> {
      if (i < 0) return y[j];
      if (j < 0) return x[i];
      const T sum = convert<T>(k::add(convert<Compute<T>>(x[i]), convert<Compute<T>>(y[j])));
      return reaches(sum, thresh) ? std::optional(sum) : std::nullopt;
    });
    c.set_out(2, c.in(2));
  }
};

// If entry i has the same index as entry k of the sum, copies k's gradient to to[i]. Increments i unless its index is
// after k's. Returns true unless its index was before k's.
template <class T>
bool take_gradient(const EntryIndices& indices, int64_t& i, const EntryIndices& sum, int64_t k, const T* from, T* to) {
  const int order = compare_indices(indices[i], sum[k], sum.rank());
  if (order == 0) to[i] = from[k];
  if (order <= 0) ++i;
  return order >= 0;
}

struct RunAddGrad {
  template <class T>
  static void run(KernelContext& c) {
    const EntryIndices a(c, 1), b(c, 2), sum(c, 3);
    const T* from = c.data<T>(0);
    T *to_a = c.out_data<T>(0), *to_b = c.out_data<T>(1);
    std::fill_n(to_a, c.out_numel(0), T{});
    std::fill_n(to_b, c.out_numel(1), T{});
    int64_t i = 0, j = 0;
    for (int64_t k = 0; k < sum.count();) {
      if (i == a.count() && j == b.count()) break;
      // k advances once both operands have reached it.
      const bool past_a = i == a.count() || take_gradient(a, i, sum, k, from, to_a);
      const bool past_b = j == b.count() || take_gradient(b, j, sum, k, from, to_b);
      if (past_a && past_b) ++k;
    }
  }
};

// ---- SparseFillEmptyRows --------------------------------------------------------------------------------------------

struct RunFillEmptyRows {
  template <class T>
  static void run(KernelContext& c) {
    const EntryIndices indices(c, 0);
    const int64_t rank = indices.rank(), rows = host_integer(c.in(2));
    for (int64_t i = 0; i < indices.count(); ++i) {
      if (!cpu::in_range(indices[i][0], rows)) cpu::out_of_range("indices", i, 0, rows, indices[i][0]);
    }
    Tensor empty = allocate_tensor(c.device(), kBool, Shape{rows});
    // Where the next entry of each row goes. A tensor, so that too large an allocation fails like any other.
    Tensor places = allocate_tensor(c.device(), kInt64, Shape{checked_add(rows, 1, "rows")});
    auto* next = mutable_data<int64_t>(places);
    auto* is_empty = mutable_data<bool>(empty);
    std::fill_n(next, rows + 1, int64_t{0});
    for (int64_t i = 0; i < indices.count(); ++i) ++next[indices[i][0] + 1];
    for (int64_t r = 0; r < rows; ++r) {
      is_empty[r] = next[r + 1] == 0;
      next[r + 1] = next[r] + std::max<int64_t>(1, next[r + 1]);
    }
    const int64_t count = next[rows];
    Tensor to = allocate_tensor(c.device(), kInt64, Shape{count, rank});
    Tensor filled = allocate_tensor(c.device(), c.in(1).dtype(), Shape{count});
    Tensor map = allocate_tensor(c.device(), kInt64, Shape{indices.count()});
    auto *index = mutable_data<int64_t>(to), *where = mutable_data<int64_t>(map);
    T* values = mutable_data<T>(filled);
    for (int64_t r = 0; r < rows; ++r) {
      if (!is_empty[r]) continue;
      const int64_t at = next[r];
      index[at * rank] = r;
      std::fill_n(index + at * rank + 1, rank - 1, int64_t{0});
      values[at] = c.data<T>(3)[0];
    }
    for (int64_t i = 0; i < indices.count(); ++i) {
      const int64_t at = next[indices[i][0]]++;
      std::copy_n(indices[i], rank, index + at * rank);
      values[at] = c.data<T>(1)[i];
      where[i] = at;
    }
    c.set_out(0, std::move(to));
    c.set_out(1, std::move(filled));
    c.set_out(2, std::move(empty));
    c.set_out(3, std::move(map));
  }
};

struct RunFillEmptyRowsGrad {
  template <class T>
  static void run(KernelContext& c) {
    const auto* map = c.data<int64_t>(0);
    const T* grad = c.data<T>(1);
    const int64_t count = c.numel(1);
    std::vector<bool> taken(static_cast<size_t>(count));
    for (int64_t i = 0; i < c.numel(0); ++i) {
      if (!cpu::in_range(map[i], count)) {
        invalid("reverse_index_map[{}]: expected one in [0, {}), got {}", i, count, map[i]);
      }
      taken[static_cast<size_t>(map[i])] = true;
      c.out_data<T>(0)[i] = grad[map[i]];
    }
    T rest{};
    for (int64_t i = 0; i < count; ++i) {
      if (!taken[static_cast<size_t>(i)]) rest = k::add(rest, grad[i]);
    }
    *c.out_data<T>(1) = rest;
  }
};

// ---- SparseSoftmax --------------------------------------------------------------------------------------------------

struct RunSoftmax {
  template <class T>
  static void run(KernelContext& c) {
    const EntryIndices indices(c, 0);
    const std::vector<int64_t> order = order_of(indices);
    const T* x = c.data<T>(1);
    T* y = c.out_data<T>(0);
    for (size_t i = 0; i < order.size(); ++i) y[i] = x[order[i]];
    for (size_t begin = 0, end; begin < order.size(); begin = end) {
      const int64_t* row = indices[order[begin]];
      end = begin + 1;
      while (end < order.size() && compare_indices(row, indices[order[end]], indices.rank() - 1) == 0) ++end;
      T highest = y[begin];
      for (size_t i = begin + 1; i < end; ++i) highest = std::max(highest, y[i]);
      T sum = 0;
      for (size_t i = begin; i < end; ++i) sum += y[i] = std::exp(y[i] - highest);
      for (size_t i = begin; i < end; ++i) y[i] /= sum;
    }
  }
};

const CpuKernel reorder_kernel("SparseReorder", types::every{}, RunReorder{});
const CpuKernel add_kernel("SparseAdd", types::arithmetic{}, RunAdd{});
const CpuKernel add_grad_kernel("SparseAddGrad", types::arithmetic{}, RunAddGrad{});
const CpuKernel fill_kernel("SparseFillEmptyRows", types::every{}, RunFillEmptyRows{});
const CpuKernel fill_grad_kernel("SparseFillEmptyRowsGrad", types::arithmetic{}, InWider<RunFillEmptyRowsGrad>{});
const CpuKernel softmax_kernel("SparseSoftmax", TypeList<float, double, Half>{}, InWider<RunSoftmax>{});

}  // namespace
}  // namespace panto
