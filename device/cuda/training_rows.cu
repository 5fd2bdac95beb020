// Optimizer steps on the GPU with gradients of some rows of the variables. One thread takes a column of a row, and
// applies all its gradients in order.
#include <cstdint>
#include <utility>

#include "panto/device/cuda/elementwise/loops.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/scatter/places.cuh"
#include "panto/device/cuda/training_step.cuh"
#include "panto/device/op_kernels.h"
#include "panto/device/state_rows.h"
#include "panto/device/training/rules.h"

namespace panto {
namespace {

template <class T, size_t kSlots>
struct RowChange {
  T* slots[kSlots];
  const T* grad;
  int64_t width;
  cuda::Runs runs;

  // Changes element `at % width` of the row whose gradients begin at place `at / width` of the order.
  template <class Rule>
  __device__ void run(const Rule& rule, int64_t at) const {
    const int64_t i = at / width, k = at - i * width;
    if (runs.begins_at(i)) run_on(rule, i, k, std::make_index_sequence<kSlots>{});
  }

 private:
  template <class Rule, size_t... I>
  __device__ void run_on(const Rule& rule, int64_t i, int64_t k, std::index_sequence<I...>) const {
    const int64_t element = int64_t{runs.keys[i]} * width + k;
    Compute<T> values[] = {convert<Compute<T>>(slots[I][element])...};
    runs.for_each(i, [&](int64_t row) { rule(convert<Compute<T>>(grad[row * width + k]), values[I]...); });
    ((slots[I][element] = convert<T>(values[I])), ...);
  }
};

template <template <class> class Rule>
struct Sparse {
  template <class T>
  static void run(KernelContext& c) {
    using R = Rule<Compute<T>>;
    constexpr int kIndices = R::kGrad + 1;
    const auto check = [&](const Shape& shape) {
      state::expect_elements(c, R::kGrad, "grad", c.numel(kIndices) * row_size(shape));
    };
    const cuda::Scalars<T> scalars(c, R::kSlots, R::kGrad, kIndices);
    state::update_rows_together<T, R::kSlots>(c, check, [&](const Shape& shape, auto*... slots) {
      cuda::CudaDevice& device = cuda::device_of(c);
      const cuda::Places places = cuda::rows_of(c, kIndices, shape[0]);
      const int64_t n = c.numel(R::kGrad);
      if (n == 0) return cuda::check_places(device, places);
      const cuda::SortedPlaces sorted(device, places);
      const RowChange<T, R::kSlots> change{{slots...}, c.data<T>(R::kGrad), row_size(shape), sorted.runs()};
      cuda::launch_step<R>(c, n, scalars, change);
    });
  }
};

using Reals = TypeList<float, double, Half, BFloat16>;
constexpr Reals kReals;

using namespace training;
const CudaKernel momentum_kernel("ResourceSparseApplyMomentum", kReals, Sparse<Momentum>{});
const CudaKernel keras_momentum_kernel("ResourceSparseApplyKerasMomentum", kReals, Sparse<KerasMomentum>{});
const CudaKernel adagrad_kernel("ResourceSparseApplyAdagrad", kReals, Sparse<Adagrad>{});
const CudaKernel adagrad_v2_kernel("ResourceSparseApplyAdagradV2", kReals, Sparse<AdagradV2>{});
const CudaKernel adagrad_da_kernel("ResourceSparseApplyAdagradDA", kReals, Sparse<AdagradDA>{});
const CudaKernel proximal_adagrad_kernel("ResourceSparseApplyProximalAdagrad", kReals, Sparse<ProximalAdagrad>{});
const CudaKernel proximal_kernel("ResourceSparseApplyProximalGradientDescent", kReals,
                                 Sparse<ProximalGradientDescent>{});
const CudaKernel adadelta_kernel("ResourceSparseApplyAdadelta", kReals, Sparse<Adadelta>{});
const CudaKernel rms_prop_kernel("ResourceSparseApplyRMSProp", kReals, Sparse<RmsProp>{});
const CudaKernel centered_kernel("ResourceSparseApplyCenteredRMSProp", kReals, Sparse<CenteredRmsProp>{});
const CudaKernel ftrl_kernel("ResourceSparseApplyFtrl", kReals, Sparse<Ftrl>{});
const CudaKernel ftrl_v2_kernel("ResourceSparseApplyFtrlV2", kReals, Sparse<FtrlV2>{});

}  // namespace
}  // namespace panto
