// Kernels on pairs of tensors, one or both sparse. Indices are checked before they are used.
#include <algorithm>
#include <optional>

#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/row_numbers.h"
#include "panto/device/cpu/sparse/entries.h"
#include "panto/device/math/convert.h"
#include "panto/device/math/vocabulary.h"
#include "panto/device/op_kernels.h"

namespace panto {
namespace {

using cpu::EntryIndices;

struct RunDenseAdd {
  template <class T>
  static void run(KernelContext& c) {
    const Indices indices(c.in(0));
    const Shape& shape = c.out_shape(0);
    const int64_t count = c.numel(1), rank = shape.rank();
    T* out = c.out_data<T>(0);
    std::copy_n(c.data<T>(3), c.out_numel(0), out);
    for (int64_t i = 0; i < count; ++i) {
      int64_t at = 0;
      for (int64_t d = 0; d < rank; ++d) {
        const int64_t size = shape.dim(static_cast<int>(d)), index = indices[i * rank + d];
        if (!cpu::in_range(index, size)) cpu::out_of_range("a_indices", i, d, size, index);
        at = at * size + index;
      }
      out[at] = k::add(out[at], c.data<T>(1)[i]);
    }
  }
};

// Returns NaN if one operand is NaN.
struct Larger {
  template <class T>
  static T of(T a, T b) {
    return a != a || a > b ? a : b;
  }
};
struct Smaller {
  template <class T>
  static T of(T a, T b) {
    return a != a || a < b ? a : b;
  }
};

template <class F>
struct RunExtremes {
  template <class T>
  static void run(KernelContext& c) {
    cpu::check_one_shape(c);
    cpu::check_within(EntryIndices(c, 0), c.data<int64_t>(2), "a_indices");
    cpu::check_within(EntryIndices(c, 3), c.data<int64_t>(5), "b_indices");
    cpu::put_out_merged<T>(c, [&](int64_t i, int64_t j) -> std::optional<T> {
      const auto x = convert<Compute<T>>(i >= 0 ? c.data<T>(1)[i] : T{});
      const auto y = convert<Compute<T>>(j >= 0 ? c.data<T>(4)[j] : T{});
      return convert<T>(F::of(x, y));
    });
  }
};

const CpuKernel dense_add_kernel("SparseTensorDenseAdd", types::arithmetic{}, InWider<RunDenseAdd>{});
const CpuKernel maximum_kernel("SparseSparseMaximum", types::reals{}, RunExtremes<Larger>{});
const CpuKernel minimum_kernel("SparseSparseMinimum", types::reals{}, RunExtremes<Smaller>{});

}  // namespace
}  // namespace panto
