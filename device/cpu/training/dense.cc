// Optimizer steps with dense gradients.
#include <tuple>
#include <utility>

#include "panto/device/cpu/elementwise/as_floats.h"
#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/cpu/training/scalars.h"
#include "panto/device/math/convert.h"
#include "panto/device/op_kernels.h"
#include "panto/device/state.h"
#include "panto/device/training/rules.h"

namespace panto {
namespace {

// An input's elements in the type of the computation.
template <class T>
class Given {
 public:
  Given(const KernelContext& c, int i) {
    if constexpr (is_half_type<T>) {
      floats_ = cpu::widened<T>(c.in(i), c.device());
      data_ = mutable_data<float>(floats_);
    } else {
      data_ = c.data<T>(i);
    }
  }
  const Compute<T>* data() const { return data_; }

 private:
  Tensor floats_;
  const Compute<T>* data_;
};

// Calls change(n, first, second, ...) with the elements of the first `kCount` variables (device/state.h) in the type of
// the computation. Halves are rounded once, at the end.
template <class T, size_t kCount, class Change>
void step(KernelContext& c, int like, const Change& change) {
  state::update_together<T, kCount>(c, like, [&](auto... given) {
    const auto all = std::tuple(given...);
    const int64_t n = std::get<kCount>(all);
    [&]<size_t... I>(std::index_sequence<I...>) {
      if constexpr (is_half_type<T>) {
        const cpu::AsFloats<T> floats[] = {{std::get<I>(all), n, c.device()}...};
        change(n, floats[I].data()...);
        (floats[I].write(std::get<I>(all)), ...);
      } else {
        change(n, std::get<I>(all)...);
      }
    }(std::make_index_sequence<kCount>{});
  });
}

// kFast: loops are compiled for several instruction sets. Threads share out the elements. A step is not cancelled once
// it began, because a partly updated variable would be useless.
template <template <class> class Rule, bool kFast>
struct Dense {
  template <class T>
  static void run(KernelContext& c) {
    using R = Rule<Compute<T>>;
    const Given<T> given(c, R::kGrad);
    training::Scalars<T> scalars(c, R::kSlots, R::kGrad, R::kGrad);
    R::with(training::flag_for<R>(c), scalars, [&](const auto& rule) {
      step<T, R::kSlots>(c, R::kGrad, [&](int64_t n, auto*... slots) {
        constexpr auto kBytes = static_cast<int64_t>((2 * R::kSlots + 1) * sizeof(T));
        apply<T>(rule, given.data(), n, kBytes, slots...);
      });
    });
  }

 private:
  template <class T, class Step, class V, class... Slots>
  static void apply(const Step& rule, const V* grad, int64_t n, int64_t bytes, Slots... slots) {
    cpu::parallel_for(n, n * bytes, [=](int64_t begin, int64_t end) {
      const auto loop = [=] {
#pragma GCC ivdep
        for (int64_t i = begin; i < end; ++i) rule(grad[i], slots[i]...);
      };
      if constexpr (kFast) {
        cpu::multiversioned_for<T>(loop);
      } else {
        loop();
      }
    });
  }
};

using Reals = TypeList<float, double, Half, BFloat16>;
constexpr types::fractions kFractions;
constexpr Reals kReals;

using namespace training;
const CpuKernel gradient_descent_kernel("ResourceApplyGradientDescent", kFractions, Dense<GradientDescent, true>{});
const CpuKernel adam_kernel("ResourceApplyAdam", kFractions, Dense<Adam, true>{});
const CpuKernel momentum_kernel("ResourceApplyMomentum", kFractions, Dense<Momentum, true>{});
const CpuKernel keras_momentum_kernel("ResourceApplyKerasMomentum", kFractions, Dense<KerasMomentum, true>{});
const CpuKernel rms_prop_kernel("ResourceApplyRMSProp", kFractions, Dense<RmsProp, true>{});
const CpuKernel centered_kernel("ResourceApplyCenteredRMSProp", kFractions, Dense<CenteredRmsProp, true>{});
const CpuKernel adagrad_v2_kernel("ResourceApplyAdagradV2", kFractions, Dense<AdagradV2, true>{});
const CpuKernel adagrad_kernel("ResourceApplyAdagrad", kFractions, Dense<Adagrad, false>{});
const CpuKernel adadelta_kernel("ResourceApplyAdadelta", kFractions, Dense<Adadelta, false>{});
const CpuKernel adagrad_da_kernel("ResourceApplyAdagradDA", kReals, Dense<AdagradDA, false>{});
const CpuKernel amsgrad_kernel("ResourceApplyAdamWithAmsgrad", kReals, Dense<AdamWithAmsgrad, false>{});
const CpuKernel ada_max_kernel("ResourceApplyAdaMax", kReals, Dense<AdaMax, false>{});
const CpuKernel ftrl_kernel("ResourceApplyFtrl", kReals, Dense<Ftrl, false>{});
const CpuKernel ftrl_v2_kernel("ResourceApplyFtrlV2", kReals, Dense<FtrlV2, false>{});
const CpuKernel proximal_adagrad_kernel("ResourceApplyProximalAdagrad", kReals, Dense<ProximalAdagrad, false>{});
const CpuKernel proximal_kernel("ResourceApplyProximalGradientDescent", kReals,
                                Dense<ProximalGradientDescent, false>{});
const CpuKernel add_sign_kernel("ResourceApplyAddSign", kReals, Dense<AddSign, false>{});
const CpuKernel power_sign_kernel("ResourceApplyPowerSign", kReals, Dense<PowerSign, false>{});

}  // namespace
}  // namespace panto
