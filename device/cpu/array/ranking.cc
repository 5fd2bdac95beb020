// Ranks of elements: the n-th element, membership of the first k, and insertion positions.
#include <algorithm>
#include <cmath>
#include <vector>

#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/math/convert.h"
#include "panto/device/op_kernels.h"
#include "panto/device/shape/indexing.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/array_types.h"

namespace panto {
namespace {

struct RunNth {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t size = c.shape(0).dim(c.shape(0).rank() - 1), n = nth_of(c, size);
    const T* x = c.data<T>(0);
    T* out = c.out_data<T>(0);
    cpu::parallel_ranges(
        c.out_numel(0), c.numel(0) * 16,
        [&](int64_t begin, int64_t end) {
          std::vector<T> row(static_cast<size_t>(size));
          for (int64_t r = begin; r < end; ++r) {
            std::copy_n(x + r * size, size, row.begin());
            // NaN comes last.
            const auto numbers = std::partition(row.begin(), row.end(), [](T v) { return v == v; });
            const auto nth = row.begin() + n;
            if (nth < numbers) std::nth_element(row.begin(), nth, numbers);
            out[r] = *nth;
          }
        },
        1);
  }
};

template <class T>
void find_among_first(KernelContext& c) {
  const float* predictions = c.data<float>(0);
  const T* targets = c.data<T>(1);
  const int64_t k = host_integer(c.in(2)), classes = c.shape(0).dim(1);
  bool* among = c.out_data<bool>(0);
  cpu::parallel_ranges(
      c.out_numel(0), c.numel(0) * int64_t{sizeof(float)},
      [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const float* row = predictions + r * classes;
          const auto target = static_cast<int64_t>(targets[r]);
          among[r] = target >= 0 && target < classes && std::isfinite(row[target]);
          int64_t larger = 0;
          // Stops once more than k are larger.
          for (int64_t i = 0; i < classes && among[r]; ++i) {
            if (!std::isfinite(row[i]) || (row[i] > row[target] && ++larger > k)) among[r] = false;
          }
          among[r] = among[r] && larger < k;
        }
      },
      1);
}

template <bool kUpper>
struct RunBound {
  template <class T>
  static void run(KernelContext& c) {
    with_index_type(c.type("out_type"), [&]<class Index>() { find<T>(c, c.out_data<Index>(0)); });
  }

 private:
  template <class T, class Index>
  static void find(KernelContext& c, Index* out) {
    const int64_t sorted = c.shape(0).dim(1), each = c.shape(1).dim(1);
    const T *rows = c.data<T>(0), *values = c.data<T>(1);
    const auto less = [](T a, T b) { return convert<Compute<T>>(a) < convert<Compute<T>>(b); };
    cpu::parallel_ranges(c.out_numel(0), c.out_numel(0) * 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* row = rows + i / each * sorted;
        const T* at = kUpper ? std::upper_bound(row, row + sorted, values[i], less)
                             : std::lower_bound(row, row + sorted, values[i], less);
        out[i] = static_cast<Index>(at - row);
      }
    });
  }
};

struct RunBucketize {
  template <class T>
  static void run(KernelContext& c) {
    const AttrSlot& slot = c.slot("boundaries");
    const auto* first = static_cast<const float*>(slot.p);
    const auto* last = first + slot.n;
    const T* x = c.data<T>(0);
    auto* out = c.out_data<int32_t>(0);
    // Compared in the common type of x and the boundaries, as in TensorFlow: integers as float32.
    using Common = std::conditional_t<std::is_same_v<T, double>, double, float>;
    cpu::parallel_ranges(c.numel(0), c.numel(0) * 64, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        out[i] = static_cast<int32_t>(std::upper_bound(first, last, static_cast<Common>(x[i])) - first);
      }
    });
  }
};

const CpuKernel nth_kernel("NthElement", types::of<"NthElement">{}, InWider<RunNth>{});
const CpuKernel lower_kernel("LowerBound", types::of<"LowerBound">{}, RunBound<false>{});
const CpuKernel upper_kernel("UpperBound", types::of<"UpperBound">{}, RunBound<true>{});
const CpuKernel bucketize_kernel("Bucketize", types::of<"Bucketize">{}, RunBucketize{});
const CpuKernel in_top_k_kernel("InTopKV2", TypeList<int32_t, int64_t>{},
                                []<class T>(KernelContext& c) { find_among_first<T>(c); });

}  // namespace
}  // namespace panto
