// Kernels on a sparse and a dense tensor. Indices are checked before they are used. The entries of a product are added
// in order, whatever the number of threads.
#include <algorithm>
#include <complex>
#include <type_traits>
#include <vector>

#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/elementwise/inner_loop.h"
#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/cpu/row_numbers.h"
#include "panto/device/cpu/sparse/entries.h"
#include "panto/device/cpu/stream.h"
#include "panto/device/math/convert.h"
#include "panto/device/math/vocabulary.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/array/values.h"

namespace panto {
namespace {

using cpu::AddEntries;
using cpu::EntryIndices;
using cpu::LargestEntry;

// ---- SparseToDense --------------------------------------------------------------------------------------------------

// Returns the offset of entry i in a tensor of `shape`. Throws InvalidArgument if an index is out of range.
int64_t place(const Indices& indices, int64_t i, const Shape& shape) {
  const int rank = shape.rank();
  int64_t at = 0;
  for (int d = 0; d < rank; ++d) {
    const int64_t index = indices[i * rank + d];
    if (!cpu::in_range(index, shape.dim(d))) cpu::out_of_range("sparse_indices", i, d, shape.dim(d), index);
    at = at * shape.dim(d) + index;
  }
  return at;
}

struct RunToDense {
  template <class T>
  static void run(KernelContext& c) {
    const Shape& shape = c.out_shape(0);
    const Indices indices(c.in(0));
    const int64_t count = c.shape(0).rank() == 0 ? 1 : c.shape(0).dim(0);
    const bool ordered = c.flag("validate_indices"), one_value = c.shape(2).rank() == 0;
    const T* values = c.data<T>(2);
    T* out = c.out_data<T>(0);
    int64_t before = -1;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = place(indices, i, shape);
      if (ordered && at <= before) {
        invalid("sparse_indices[{}]: expected one after the one before, got one that is {}", i,
                at == before ? "repeated" : "out of order");
      }
      before = at;
    }
    std::fill_n(out, c.out_numel(0), *c.data<T>(3));
    for (int64_t i = 0; i < count; ++i) out[place(indices, i, shape)] = values[one_value ? 0 : i];
  }
};

// ---- SparseTensorDenseMatMul ----------------------------------------------------------------------------------------

template <class T>
T conjugate_if(T x, bool conjugated) {
  if constexpr (is_complex_type<T>) {
    return conjugated ? std::conj(x) : x;
  } else {
    return x;
  }
}

struct RunProduct {
  template <class T>
  static void run(KernelContext& c) {
    const bool adjoint_a = c.flag("adjoint_a"), adjoint_b = c.flag("adjoint_b");
    const Indices indices(c.in(0));
    const int64_t count = c.numel(1), rows = c.out_shape(0).dim(0), columns = c.out_shape(0).dim(1);
    const int64_t inner = c.shape(3).dim(adjoint_b ? 1 : 0);
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t d = 0; d < 2; ++d) {
        const int64_t size = (d == 0) != adjoint_a ? rows : inner, index = indices[2 * i + d];
        if (!cpu::in_range(index, size)) cpu::out_of_range("a_indices", i, d, size, index);
      }
    }
    const T *values = c.data<T>(1), *b = c.data<T>(3);
    T* out = c.out_data<T>(0);
    std::fill_n(out, c.out_numel(0), T{});
    const int64_t row_at = adjoint_a ? 1 : 0, inner_at = 1 - row_at;  // positions in an entry's indices
    // Prefetch distance in entries, and the number of elements of each row of b that are prefetched.
    constexpr int64_t kAhead = 8, kAsked = 64;
    // Threads share out the columns; each one goes through all entries.
    cpu::parallel_for(columns, count * columns * static_cast<int64_t>(4 * sizeof(T)), [&](int64_t begin, int64_t end) {
      const int64_t piece = std::max<int64_t>(1, (1 << 20) / std::max<int64_t>(1, end - begin));
      cpu::in_pieces(count, piece, [&](int64_t first, int64_t last) {
        cpu::multiversioned_for<T>([&] {
          for (int64_t i = first; i < last; ++i) {
            const T value = conjugate_if(values[i], adjoint_a);
            T* to = out + indices[2 * i + row_at] * columns;
            const int64_t k = indices[2 * i + inner_at];
            if (adjoint_b) {
              for (int64_t j = begin; j < end; ++j) {
                to[j] = k::add(to[j], k::mul(value, conjugate_if(b[j * inner + k], true)));
              }
            } else {
              if (i + kAhead < last) {
                cpu::prefetch(b + indices[2 * (i + kAhead) + inner_at] * columns + begin,
                              std::min(end - begin, kAsked));
              }
              const T* from = b + k * columns;
              PANTO_INDEPENDENT
              for (int64_t j = begin; j < end; ++j) to[j] = k::add(to[j], k::mul(value, from[j]));
            }
          }
        });
      });
    });
  }
};

// ---- SparseReduceSum, SparseReduceMax ------------------------------------------------------------------------------

template <class Entries>
struct Reduction {
  template <class T>
  static void run(KernelContext& c) {
    const EntryIndices indices(c, 0);
    const int64_t rank = indices.rank();
    std::vector<bool> reduced(static_cast<size_t>(rank));
    for (int64_t i = 0; i < c.numel(3); ++i) {
      const int64_t axis = host_integer(c.in(3), i);
      reduced[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = true;
    }
    const T* values = c.data<T>(1);
    T* out = c.out_data<T>(0);
    std::fill_n(out, c.out_numel(0), T{});
    std::vector<bool> begun(static_cast<size_t>(c.out_numel(0)));
    for (int64_t i = 0; i < indices.count(); ++i) {
      int64_t at = 0;
      for (int64_t d = 0; d < rank; ++d) {
        if (reduced[static_cast<size_t>(d)]) continue;
        const int64_t size = host_integer(c.in(2), d), index = indices[i][d];
        if (!cpu::in_range(index, size)) cpu::out_of_range("input_indices", i, d, size, index);
        at = at * size + index;
      }
      out[at] = begun[static_cast<size_t>(at)] ? Entries::join(out[at], values[i]) : values[i];
      begun[static_cast<size_t>(at)] = true;
    }
  }
};

// ---- Elementwise with a dense tensor's elements at the entries ------------------------------------------------------

struct AddDense {
  template <class T>
  T operator()(T x, T y, int64_t) const {
    return k::add(x, y);
  }
};
struct MulDense {
  template <class T>
  T operator()(T x, T y, int64_t) const {
    return k::mul(x, y);
  }
};
struct DivDense {
  template <class T>
  T operator()(T x, T y, int64_t i) const {
    if (y == T{}) invalid("dense: expected no zero at index {} of the entries, got one", i);
    if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
      if (y == T{-1}) return k::neg(x);  // the quotient of the smallest number wraps
    }
    return k::div(x, y);
  }
};

template <class F>
struct WithDense {
  template <class T>
  static void run(KernelContext& c) {
    const EntryIndices indices(c, 0);
    const auto* sizes = c.data<int64_t>(2);
    const Shape& dense = c.shape(3);
    const int64_t rank = indices.rank(), added = rank - dense.rank();
    if (added < 0) invalid("rank of dense: expected at most {}, that of the entries, got {}", rank, dense.rank());
    std::vector<int64_t> strides(static_cast<size_t>(rank));
    int64_t stride = 1;
    for (int64_t d = rank; d-- > 0;) {
      if (sizes[d] < 0) invalid("sp_shape[{}]: expected at least 0, got {}", d, sizes[d]);
      if (d < added) continue;
      const int64_t size = dense.dim(static_cast<int>(d - added));
      if (size != 1 && size != sizes[d]) {
        invalid("dense: expected a shape that broadcasts to that of the entries, of dimension {} {}, got {}", d,
                sizes[d], dense.to_string());
      }
      strides[static_cast<size_t>(d)] = size == 1 ? 0 : stride;
      stride *= size;
    }
    const T *values = c.data<T>(1), *y = c.data<T>(3);
    T* out = c.out_data<T>(0);
    for (int64_t i = 0; i < indices.count(); ++i) {
      int64_t at = 0;
      for (int64_t d = 0; d < rank; ++d) {
        const int64_t index = indices[i][d];
        if (!cpu::in_range(index, sizes[d])) cpu::out_of_range("sp_indices", i, d, sizes[d], index);
        at += index * strides[static_cast<size_t>(d)];
      }
      out[i] = F{}(values[i], y[at], i);
    }
  }
};

const CpuKernel to_dense_kernel("SparseToDense", types::every{}, RunToDense{});
const CpuKernel product_kernel("SparseTensorDenseMatMul", types::arithmetic{}, InWider<RunProduct>{});
const CpuKernel reduce_sum_kernel("SparseReduceSum", types::arithmetic{}, InWider<Reduction<AddEntries>>{});
const CpuKernel reduce_max_kernel("SparseReduceMax", types::reals{}, InWider<Reduction<LargestEntry>>{});
const CpuKernel add_kernel("SparseDenseCwiseAdd", types::arithmetic{}, InWider<WithDense<AddDense>>{});
const CpuKernel mul_kernel("SparseDenseCwiseMul", types::arithmetic{}, InWider<WithDense<MulDense>>{});
const CpuKernel div_kernel("SparseDenseCwiseDiv", types::arithmetic{}, InWider<WithDense<DivDense>>{});

}  // namespace
}  // namespace panto
