// Gathering and updating elements and slices of variables at multi-dimensional positions. Updates are in place if no
// reader holds the value.
#include <algorithm>
#include <numeric>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/math/convert.h"
#include "panto/device/math/functors.h"
#include "panto/device/math/row_changes.h"
#include "panto/device/op_kernels.h"
#include "panto/device/shape/indexing.h"
#include "panto/device/shape/positions.h"
#include "panto/device/state_rows.h"
#include "panto/lib/ops/state_types.h"

namespace panto {
namespace {

// Returns, for each row of the indices, the offset of its slice's first element. Checks all indices.
std::vector<int64_t> places_in(const KernelContext& c, const Positions& positions) {
  std::vector<int64_t> places(static_cast<size_t>(positions.rows));
  with_index_type(c.in(1).dtype(), [&]<class Index>() {
    const auto* indices = c.data<Index>(1);
    for (int64_t r = 0; r < positions.rows; ++r) places[static_cast<size_t>(r)] = positions.at(indices, r);
  });
  return places;
}

struct GatherKernel {
  template <class T>
  static void run(KernelContext& c) {
    state::gather_slices<T>(c, [&](const T* from, const Positions& positions) {
      T* to = c.out_data<T>(0);
      for (const int64_t place : places_in(c, positions)) to = std::copy_n(from + place, positions.inner, to);
    });
  }
};

template <class Change>
struct ScatterKernel {
  template <class T>
  static void run(KernelContext& c) {
    state::change_slices<T>(c, [&](T* to, const Positions& positions) {
      const T* updates = c.data<T>(2);
      // All checks come before the first write.
      const std::vector<int64_t> places = places_in(c, positions);
      if constexpr (is_half_type<T>) {
        change_rounded(to, updates, places, positions.inner);
      } else {
        for (const int64_t place : places) {
          for (int64_t k = 0; k < positions.inner; ++k) to[place + k] = Change{}(to[place + k], *updates++);
        }
      }
    });
  }

 private:
  // 16-bit types: all updates of an element are computed in float and rounded once.
  template <class T>
  static void change_rounded(T* to, const T* updates, const std::vector<int64_t>& places, int64_t inner) {
    std::vector<size_t> order(places.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t i) { return places[i]; });
    for (size_t first = 0, last = 0; first < order.size(); first = last) {
      const int64_t place = places[order[first]];
      while (last < order.size() && places[order[last]] == place) ++last;
      for (int64_t k = 0; k < inner; ++k) {
        auto value = convert<float>(to[place + k]);
        for (size_t i = first; i < last; ++i) {
          value = Change{}(value, convert<float>(updates[static_cast<int64_t>(order[i]) * inner + k]));
        }
        to[place + k] = convert<T>(value);
      }
    }
  }
};

const CpuKernel gather_kernel("ResourceGatherNd", types::every{}, GatherKernel{});
const CpuKernel update_kernel("ResourceScatterNdUpdate", types::plain{}, ScatterKernel<ReplaceRow>{});
const CpuKernel add_kernel("ResourceScatterNdAdd", types::of<"ResourceScatterNdAdd">{}, ScatterKernel<AddFn>{});
const CpuKernel subtract_kernel("ResourceScatterNdSub", types::of<"ResourceScatterNdSub">{}, ScatterKernel<SubFn>{});
const CpuKernel max_kernel("ResourceScatterNdMax", types::of<"ResourceScatterNdMax">{}, ScatterKernel<MaximumFn>{});
const CpuKernel min_kernel("ResourceScatterNdMin", types::of<"ResourceScatterNdMin">{}, ScatterKernel<MinimumFn>{});

}  // namespace
}  // namespace panto
