// Gathering and updating rows of variables. Updates are in place if no reader holds the value.
#include <algorithm>
#include <numeric>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/cpu/row_numbers.h"
#include "panto/device/math/convert.h"
#include "panto/device/math/functors.h"
#include "panto/device/math/row_changes.h"
#include "panto/device/op_kernels.h"
#include "panto/device/state_rows.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/state_types.h"

namespace panto {
namespace {

// Throws InvalidArgument for an integer to divide by that is 0.
template <class Change, class T>
void check_updates(const T* updates, int64_t count) {
  if constexpr (kRefusesZero<Change, T>) {
    if (std::find(updates, updates + count, T{0}) == updates + count) return;
    invalid("updates: expected no 0 among integers to divide by, got one");
  }
}

struct GatherKernel {
  template <class T>
  static void run(KernelContext& c) {
    state::gather_rows<T>(c, [&](const T* from, const state::Rows& rows) {
      const Indices indices(c.in(1));
      indices.check(rows.count);
      T* to = c.out_data<T>(0);
      cpu::parallel_ranges(
          indices.count(), 2 * c.out_numel(0) * static_cast<int64_t>(sizeof(T)),
          [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
              std::copy_n(from + indices.at(i, rows.count) * rows.width, rows.width, to + i * rows.width);
            }
          },
          std::max<int64_t>(1, 64 / std::max<int64_t>(1, rows.width)));
    });
  }
};

// Threads take columns, so that repeated updates of a row happen in order. Not cancelled once begun, as in state.cc.
template <class Change>
struct ScatterKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Indices indices(c.in(1));
    const T* updates = c.data<T>(2);
    const bool scalar = c.shape(2).rank() == 0;
    state::change_rows<T>(c, [&](T* to, const state::Rows& given) {
      const int64_t rows = given.count, width = given.width;
      // All checks come before the first write.
      indices.check(rows);
      check_updates<Change>(updates, c.numel(2));
      if constexpr (is_half_type<T>) {
        change_rounded(to, updates, indices, rows, width, scalar);
      } else {
        cpu::parallel_for(
            width, 3 * indices.count() * width * static_cast<int64_t>(sizeof(T)),
            [&](int64_t begin, int64_t end) {
              for (int64_t i = 0; i < indices.count(); ++i) {
                T* row = to + indices.at(i, rows) * width;
                for (int64_t k = begin; k < end; ++k) row[k] = Change{}(row[k], updates[scalar ? 0 : i * width + k]);
              }
            },
            64);
      }
    });
  }

 private:
  // 16-bit types: all updates of a row are computed in float and rounded once.
  template <class T>
  static void change_rounded(T* to, const T* updates, const Indices& indices, int64_t rows, int64_t width,
                             bool scalar) {
    std::vector<int64_t> order(static_cast<size_t>(indices.count()));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::ranges::stable_sort(order, {}, [&](int64_t i) { return indices[i]; });
    cpu::parallel_for(
        width, 3 * indices.count() * width * static_cast<int64_t>(sizeof(T)),
        [&](int64_t begin, int64_t end) {
          for (size_t first = 0; first < order.size();) {
            const int64_t row = indices.at(order[first], rows);
            size_t last = first + 1;
            while (last < order.size() && indices[order[last]] == row) ++last;
            for (int64_t k = begin; k < end; ++k) {
              T& element = to[row * width + k];
              auto value = convert<float>(element);
              for (size_t i = first; i < last; ++i) {
                value = Change{}(value, convert<float>(updates[scalar ? 0 : order[i] * width + k]));
              }
              element = convert<T>(value);
            }
            first = last;
          }
        },
        64);
  }
};

const CpuKernel gather_kernel("ResourceGather", types::every{}, GatherKernel{});
const CpuKernel add_kernel("ResourceScatterAdd", types::of<"ResourceScatterAdd">{}, ScatterKernel<AddFn>{});
const CpuKernel subtract_kernel("ResourceScatterSub", types::of<"ResourceScatterSub">{}, ScatterKernel<SubFn>{});
const CpuKernel multiply_kernel("ResourceScatterMul", types::of<"ResourceScatterMul">{}, ScatterKernel<MulFn>{});
const CpuKernel divide_kernel("ResourceScatterDiv", types::of<"ResourceScatterDiv">{}, ScatterKernel<DivideRow>{});
const CpuKernel max_kernel("ResourceScatterMax", types::of<"ResourceScatterMax">{}, ScatterKernel<MaximumFn>{});
const CpuKernel min_kernel("ResourceScatterMin", types::of<"ResourceScatterMin">{}, ScatterKernel<MinimumFn>{});
const CpuKernel update_kernel("ResourceScatterUpdate", types::plain{}, ScatterKernel<ReplaceRow>{});

}  // namespace
}  // namespace panto
