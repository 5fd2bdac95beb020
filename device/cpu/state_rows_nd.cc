// Gathering and updating elements and slices of variables at multi-dimensional positions. Updates are in place if no
// reader holds the value.
#include <algorithm>
#include <numeric>
#include <vector>

#include "panto/device/cpu/array/positions.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/row_changes.h"
#include "panto/device/math/convert.h"
#include "panto/device/op_kernels.h"
#include "panto/device/shape/indexing.h"
#include "panto/device/state.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
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

// An eager variable's value may have another rank than the shape function was told.
void expect_depth(const KernelContext& c, const Shape& whole) {
  const int64_t depth = c.shape(1).dim(c.shape(1).rank() - 1);
  if (depth <= whole.rank()) return;
  invalid("last dimension of indices: expected at most {}, the number of dimensions, got {}", whole.rank(), depth);
}

struct GatherKernel {
  template <class T>
  static void run(KernelContext& c) {
    VariableResource& variable = variable_of(c.in(0));
    state::check_dtype(variable, c.type("dtype"));
    const Tensor value = variable.read(c.device());
    expect_depth(c, value.shape());
    const Positions positions(c.shape(1), value.shape());
    if (c.out_numel(0) != positions.rows * positions.inner) {
      invalid("variable \"{}\": expected slices of {} elements, got {}", variable.name(),
              c.out_numel(0) / std::max<int64_t>(1, positions.rows), positions.inner);
    }
    const T* from = static_cast<const T*>(value.impl()->data);
    T* to = c.out_data<T>(0);
    for (const int64_t place : places_in(c, positions)) to = std::copy_n(from + place, positions.inner, to);
  }
};

template <class Change>
struct ScatterKernel {
  template <class T>
  static void run(KernelContext& c) {
    VariableResource& variable = variable_of(c.in(0));
    state::check_dtype(variable, c.type("T"));
    const T* updates = c.data<T>(2);
    variable.update(c.device(), [&](Tensor& value) {
      expect_depth(c, value.shape());
      const Positions positions(c.shape(1), value.shape());
      if (c.numel(2) != positions.rows * positions.inner) {
        invalid("updates: expected {} elements, got {}", positions.rows * positions.inner, c.numel(2));
      }
      // All checks come before the first write.
      const std::vector<int64_t> places = places_in(c, positions);
      T* to = mutable_data<T>(value);
      if constexpr (is_half_type<T>) {
        change_rounded(to, updates, places, positions.inner);
      } else {
        for (const int64_t place : places) {
          for (int64_t k = 0; k < positions.inner; ++k) Change::template change<T>(to[place + k], *updates++);
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
          Change::template change<float>(value, convert<float>(updates[static_cast<int64_t>(order[i]) * inner + k]));
        }
        to[place + k] = convert<T>(value);
      }
    }
  }
};

const CpuKernel gather_kernel("ResourceGatherNd", types::every{}, GatherKernel{});
const CpuKernel update_kernel("ResourceScatterNdUpdate", types::plain{}, ScatterKernel<ReplaceRow>{});
const CpuKernel add_kernel("ResourceScatterNdAdd", types::of<"ResourceScatterNdAdd">{}, ScatterKernel<AddRow>{});
const CpuKernel subtract_kernel("ResourceScatterNdSub", types::of<"ResourceScatterNdSub">{},
                                ScatterKernel<SubtractRow>{});
const CpuKernel max_kernel("ResourceScatterNdMax", types::of<"ResourceScatterNdMax">{}, ScatterKernel<GreaterRow>{});
const CpuKernel min_kernel("ResourceScatterNdMin", types::of<"ResourceScatterNdMin">{}, ScatterKernel<LesserRow>{});

}  // namespace
}  // namespace panto
