// Gathering and updating rows of variables. Updates are in place if no reader holds the value.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/cpu/row_changes.h"
#include "panto/device/cpu/row_numbers.h"
#include "panto/device/math/convert.h"
#include "panto/device/op_kernels.h"
#include "panto/device/state.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/state_types.h"

namespace panto {
namespace {

void expect_rows(const VariableResource& variable, const Shape& shape) {
  if (shape.rank() > 0) return;
  with_context([&] { return fmt::format("variable \"{}\"", variable.name()); },
               [] { invalid("variable: expected a rank of at least 1, got shape []"); });
}

struct GatherKernel {
  template <class T>
  static void run(KernelContext& c) {
    VariableResource& variable = variable_of(c.in(0));
    state::check_dtype(variable, c.type("dtype"));
    const Tensor value = variable.read(c.device());
    expect_rows(variable, value.shape());
    const int64_t rows = value.shape()[0], width = row_size(value.shape());
    const Indices indices(c.in(1));
    if (c.out_numel(0) != indices.count() * width) {
      invalid("variable \"{}\": expected rows of {} elements, got {}", variable.name(),
              c.out_numel(0) / std::max<int64_t>(1, indices.count()), width);
    }
    indices.check(rows);
    const T* from = static_cast<const T*>(value.impl()->data);
    T* to = c.out_data<T>(0);
    cpu::parallel_ranges(
        indices.count(), 2 * c.out_numel(0) * static_cast<int64_t>(sizeof(T)),
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) std::copy_n(from + indices.at(i, rows) * width, width, to + i * width);
        },
        std::max<int64_t>(1, 64 / std::max<int64_t>(1, width)));
  }
};

// Threads take columns, so that repeated updates of a row happen in order. Not cancelled once begun, as in state.cc.
template <class Change>
struct ScatterKernel {
  template <class T>
  static void run(KernelContext& c) {
    VariableResource& variable = variable_of(c.in(0));
    state::check_dtype(variable, c.type("dtype"));
    const Indices indices(c.in(1));
    const T* updates = c.data<T>(2);
    const bool scalar = c.shape(2).rank() == 0;
    variable.update(c.device(), [&](Tensor& value) {
      expect_rows(variable, value.shape());
      const int64_t rows = value.shape()[0], width = row_size(value.shape());
      if (!scalar && c.numel(2) != indices.count() * width) {
        invalid("updates: expected {} elements, got {}", indices.count() * width, c.numel(2));
      }
      // All checks come before the first write.
      indices.check(rows);
      check_updates<Change>(updates, c.numel(2));
      T* to = mutable_data<T>(value);
      if constexpr (is_half_type<T>) {
        change_rounded(to, updates, indices, rows, width, scalar);
      } else {
        cpu::parallel_for(
            width, 3 * indices.count() * width * static_cast<int64_t>(sizeof(T)),
            [&](int64_t begin, int64_t end) {
              for (int64_t i = 0; i < indices.count(); ++i) {
                T* row = to + indices.at(i, rows) * width;
                for (int64_t k = begin; k < end; ++k)
                  Change::template change<T>(row[k], updates[scalar ? 0 : i * width + k]);
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
                Change::template change<float>(value, convert<float>(updates[scalar ? 0 : order[i] * width + k]));
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
const CpuKernel add_kernel("ResourceScatterAdd", types::of<"ResourceScatterAdd">{}, ScatterKernel<AddRow>{});
const CpuKernel subtract_kernel("ResourceScatterSub", types::of<"ResourceScatterSub">{}, ScatterKernel<SubtractRow>{});
const CpuKernel multiply_kernel("ResourceScatterMul", types::of<"ResourceScatterMul">{}, ScatterKernel<MultiplyRow>{});
const CpuKernel divide_kernel("ResourceScatterDiv", types::of<"ResourceScatterDiv">{}, ScatterKernel<DivideRow>{});
const CpuKernel max_kernel("ResourceScatterMax", types::of<"ResourceScatterMax">{}, ScatterKernel<GreaterRow>{});
const CpuKernel min_kernel("ResourceScatterMin", types::of<"ResourceScatterMin">{}, ScatterKernel<LesserRow>{});
const CpuKernel update_kernel("ResourceScatterUpdate", types::plain{}, ScatterKernel<ReplaceRow>{});

}  // namespace
}  // namespace panto
