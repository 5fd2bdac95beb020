// Optimizer steps on the GPU: the CPU's rules (device/training/rules.h), one kernel per step. Scalars stay on the
// device, where threads read them.
#include <cstdint>
#include <tuple>
#include <utility>

#include "panto/device/cuda/elementwise/loops.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/training_step.cuh"
#include "panto/device/op_kernels.h"
#include "panto/device/state.h"
#include "panto/device/training/rules.h"

namespace panto {
namespace {

template <class T, size_t kSlots>
struct Change {
  T* slots[kSlots];
  const T* grad;

  template <class Rule>
  __device__ void run(const Rule& rule, int64_t i) const {
    run_on(rule, i, std::make_index_sequence<kSlots>{});
  }

 private:
  template <class Rule, size_t... I>
  __device__ void run_on(const Rule& rule, int64_t i, std::index_sequence<I...>) const {
    Compute<T> values[] = {convert<Compute<T>>(slots[I][i])...};
    rule(convert<Compute<T>>(grad[i]), values[I]...);
    ((slots[I][i] = convert<T>(values[I])), ...);
  }
};

template <template <class> class Rule>
struct Dense {
  template <class T>
  static void run(KernelContext& c) {
    using R = Rule<Compute<T>>;
    state::update_together<T, R::kSlots>(c, R::kGrad, [&](auto... given) {
      const auto all = std::tuple(given...);
      const auto n = std::get<R::kSlots>(all);
      if (n == 0) return;
      const auto change = [&]<size_t... I>(std::index_sequence<I...>) {
        return Change<T, R::kSlots>{{std::get<I>(all)...}, c.data<T>(R::kGrad)};
      }(std::make_index_sequence<R::kSlots>{});
      const cuda::Scalars<T> scalars(c, R::kSlots, R::kGrad, R::kGrad);
      cuda::launch_step<R>(c, n, scalars, change);
    });
  }
};

using Reals = TypeList<float, double, Half, BFloat16>;
constexpr Reals kReals;

using namespace training;
const CudaKernel gradient_descent_kernel("ResourceApplyGradientDescent", kReals, Dense<GradientDescent>{});
const CudaKernel adam_kernel("ResourceApplyAdam", kReals, Dense<Adam>{});
const CudaKernel momentum_kernel("ResourceApplyMomentum", kReals, Dense<Momentum>{});
const CudaKernel keras_momentum_kernel("ResourceApplyKerasMomentum", kReals, Dense<KerasMomentum>{});
const CudaKernel rms_prop_kernel("ResourceApplyRMSProp", kReals, Dense<RmsProp>{});
const CudaKernel centered_kernel("ResourceApplyCenteredRMSProp", kReals, Dense<CenteredRmsProp>{});
const CudaKernel adagrad_v2_kernel("ResourceApplyAdagradV2", kReals, Dense<AdagradV2>{});
const CudaKernel adagrad_kernel("ResourceApplyAdagrad", kReals, Dense<Adagrad>{});
const CudaKernel adadelta_kernel("ResourceApplyAdadelta", kReals, Dense<Adadelta>{});
const CudaKernel adagrad_da_kernel("ResourceApplyAdagradDA", kReals, Dense<AdagradDA>{});
const CudaKernel amsgrad_kernel("ResourceApplyAdamWithAmsgrad", kReals, Dense<AdamWithAmsgrad>{});
const CudaKernel ada_max_kernel("ResourceApplyAdaMax", kReals, Dense<AdaMax>{});
const CudaKernel ftrl_kernel("ResourceApplyFtrl", kReals, Dense<Ftrl>{});
const CudaKernel ftrl_v2_kernel("ResourceApplyFtrlV2", kReals, Dense<FtrlV2>{});
const CudaKernel proximal_adagrad_kernel("ResourceApplyProximalAdagrad", kReals, Dense<ProximalAdagrad>{});
const CudaKernel proximal_kernel("ResourceApplyProximalGradientDescent", kReals, Dense<ProximalGradientDescent>{});
const CudaKernel add_sign_kernel("ResourceApplyAddSign", kReals, Dense<AddSign>{});
const CudaKernel power_sign_kernel("ResourceApplyPowerSign", kReals, Dense<PowerSign>{});

}  // namespace
}  // namespace panto
