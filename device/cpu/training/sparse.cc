// Optimizer steps with gradients of some rows of the variables.
#include <algorithm>
#include <numeric>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/cpu/row_numbers.h"
#include "panto/device/cpu/training/scalars.h"
#include "panto/device/math/convert.h"
#include "panto/device/op_kernels.h"
#include "panto/device/state_rows.h"
#include "panto/device/training/rules.h"

namespace panto {
namespace {

// A row that occurs several times is updated as often, in the order of the gradients. Threads share out the columns.
// Halves are computed as floats, and rounded after the last update of their row.
template <template <class> class Rule>
struct Sparse {
  template <class T>
  static void run(KernelContext& c) {
    using R = Rule<Compute<T>>;
    const Indices indices(c.in(R::kGrad + 1));
    const auto check = [&](const Shape& shape) {
      state::expect_elements(c, R::kGrad, "grad", indices.count() * row_size(shape));
      indices.check(shape[0]);
    };
    training::Scalars<T> scalars(c, R::kSlots, R::kGrad, R::kGrad + 1);
    R::with(training::flag_for<R>(c), scalars, [&](const auto& rule) {
      state::update_rows_together<T, R::kSlots>(c, check, [&](const Shape& shape, auto*... slots) {
        apply(rule, indices, shape, c.data<T>(R::kGrad), slots...);
      });
    });
  }

 private:
  template <class Step, class T, class... Slots>
  static void apply(const Step& rule, const Indices& indices, const Shape& shape, const T* grad, Slots*... slots) {
    const int64_t rows = shape[0], width = row_size(shape);
    const std::vector<int64_t> order = by_row(indices, is_half_type<T>);
    const int64_t bytes = indices.count() * width * static_cast<int64_t>((2 * sizeof...(slots) + 1) * sizeof(T));
    cpu::parallel_for(
        width, bytes,
        [&](int64_t begin, int64_t end) {
          for (size_t first = 0; first < order.size();) {
            const int64_t row = indices.at(order[first], rows);
            size_t last = first + 1;
            while (last < order.size() && indices[order[last]] == row) ++last;
            for (int64_t k = begin; k < end; ++k) {
              change(rule, grad + k, width, {order.data() + first, last - first}, slots[row * width + k]...);
            }
            first = last;
          }
        },
        64);
  }

  // Applies all gradients of one column of a row.
  template <class Step, class T, class... Elements>
  static void change(const Step& rule, const T* grad, int64_t width, std::span<const int64_t> numbers,
                     Elements&... elements) {
    const auto run = [&](auto... values) {
      for (const int64_t i : numbers) rule(convert<Compute<T>>(grad[i * width]), values...);
      ((elements = convert<T>(values)), ...);
    };
    run(convert<Compute<T>>(elements)...);
  }

  // Returns the numbers 0, 1, ...; if `sorted`, grouped by row.
  static std::vector<int64_t> by_row(const Indices& indices, bool sorted) {
    std::vector<int64_t> order(static_cast<size_t>(indices.count()));
    std::iota(order.begin(), order.end(), int64_t{0});
    if (sorted) std::ranges::stable_sort(order, {}, [&](int64_t i) { return indices[i]; });
    return order;
  }
};

using Reals = TypeList<float, double, Half, BFloat16>;
constexpr Reals kReals;

using namespace training;
const CpuKernel momentum_kernel("ResourceSparseApplyMomentum", kReals, Sparse<Momentum>{});
const CpuKernel keras_momentum_kernel("ResourceSparseApplyKerasMomentum", kReals, Sparse<KerasMomentum>{});
const CpuKernel adagrad_kernel("ResourceSparseApplyAdagrad", kReals, Sparse<Adagrad>{});
const CpuKernel adagrad_v2_kernel("ResourceSparseApplyAdagradV2", kReals, Sparse<AdagradV2>{});
const CpuKernel adagrad_da_kernel("ResourceSparseApplyAdagradDA", kReals, Sparse<AdagradDA>{});
const CpuKernel proximal_adagrad_kernel("ResourceSparseApplyProximalAdagrad", kReals, Sparse<ProximalAdagrad>{});
const CpuKernel proximal_kernel("ResourceSparseApplyProximalGradientDescent", kReals,
                                Sparse<ProximalGradientDescent>{});
const CpuKernel adadelta_kernel("ResourceSparseApplyAdadelta", kReals, Sparse<Adadelta>{});
const CpuKernel rms_prop_kernel("ResourceSparseApplyRMSProp", kReals, Sparse<RmsProp>{});
const CpuKernel centered_kernel("ResourceSparseApplyCenteredRMSProp", kReals, Sparse<CenteredRmsProp>{});
const CpuKernel ftrl_kernel("ResourceSparseApplyFtrl", kReals, Sparse<Ftrl>{});
const CpuKernel ftrl_v2_kernel("ResourceSparseApplyFtrlV2", kReals, Sparse<FtrlV2>{});

}  // namespace
}  // namespace panto
