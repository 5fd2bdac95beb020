// Variables on the GPU: reads, assignments, and the optimizers' steps, which change values in place where nobody looks.
#include "panto/device/cuda/elementwise/loops.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/op_kernels.h"
#include "panto/device/state.h"

namespace panto {
namespace {

void run_is_initialized(KernelContext& c) {
  const cuda::DeviceUse stream = cuda::device_of(c).use();
  const int value = variable_of(c.in(0)).initialized() ? 1 : 0;
  cuda::check(cudaMemsetAsync(c.out_data<bool>(0), value, sizeof(bool), stream), "setting a value");
}

const CudaKernel var_is_initialized_kernel("VarIsInitializedOp", run_is_initialized);
const CudaKernel read_variable_kernel("ReadVariableOp", dtypes::kBytes, state::read);
const CudaKernel assign_variable_kernel("AssignVariableOp", dtypes::kBytes, state::assign);

// Calls change(i) for each of n elements.
template <class Change>
__global__ void __launch_bounds__(cuda::kThreads) run_changes(int64_t n, Change change) {
  const int64_t step = int64_t{blockDim.x} * gridDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) change(i);
}

template <class Change>
void launch(const KernelContext& c, int64_t n, const Change& change) {
  if (n == 0) return;
  cuda::CudaDevice& device = cuda::device_of(c);
  const cuda::DeviceUse stream = device.use();
  run_changes<<<cuda::grid_size(device, n), cuda::kThreads, 0, stream>>>(n, change);
  cuda::check(cudaGetLastError(), "starting a kernel");
}

// v = F(v, delta).
template <class F, class T>
struct ChangeBy {
  T* v;
  const T* delta;
  __device__ void operator()(int64_t i) const { v[i] = cuda::FunctorFor<F, T>{}(v[i], delta[i]); }
};

template <class F>
struct AssignChange {
  template <class T>
  static void run(KernelContext& c) {
    state::update<T>(c, 1, [&](T* v, int64_t n) { launch(c, n, ChangeBy<F, T>{v, c.data<T>(1)}); });
  }
};

const CudaKernel assign_add_kernel("AssignAddVariableOp", types::arithmetic{}, AssignChange<AddFn>{});
const CudaKernel assign_sub_kernel("AssignSubVariableOp", types::arithmetic{}, AssignChange<SubFn>{});

// ---- Optimizers' steps ---------------------------------------------------------------------------------------------

template <class T>
struct Descend {
  T* v;
  const T* alpha;
  const T* delta;
  __device__ void operator()(int64_t i) const { v[i] -= *alpha * delta[i]; }
};

struct GradientDescent {
  template <class T>
  static void run(KernelContext& c) {
    state::update<T>(c, 2, [&](T* v, int64_t n) { launch(c, n, Descend<T>{v, c.data<T>(1), c.data<T>(2)}); });
  }
};

template <class T, bool kNesterov>
struct AdamStep {
  T *var, *m, *v;
  const T *beta1_power, *beta2_power, *lr, *beta1, *beta2, *epsilon, *grad;
  __device__ void operator()(int64_t i) const {
    const T new1 = T{1} - *beta1;
    const T new2 = T{1} - *beta2;
    const T rate = *lr * k::sqrt(T{1} - *beta2_power) / (T{1} - *beta1_power);
    const T g = grad[i];
    const T first = m[i] + (g - m[i]) * new1;
    const T second = v[i] + (g * g - v[i]) * new2;
    m[i] = first;
    v[i] = second;
    const T direction = kNesterov ? g * new1 + *beta1 * first : first;
    var[i] -= (direction * rate) / (k::sqrt(second) + *epsilon);
  }
};

struct Adam {
  template <class T>
  static void run(KernelContext& c) {
    state::update_together<T, 3>(c, 9, [&](T* var, T* m, T* v, int64_t n) {
      c.flag("use_nesterov") ? step<T, true>(c, var, m, v, n) : step<T, false>(c, var, m, v, n);
    });
  }

 private:
  template <class T, bool kNesterov>
  static void step(KernelContext& c, T* var, T* m, T* v, int64_t n) {
    const auto in = [&c](int i) { return c.data<T>(i); };
    launch(c, n, AdamStep<T, kNesterov>{var, m, v, in(3), in(4), in(5), in(6), in(7), in(8), in(9)});
  }
};

// kKeras: the rate is applied to each gradient as it is accumulated, not to what has accumulated.
template <class T, bool kKeras, bool kNesterov>
struct MomentumStep {
  T *var, *accum;
  const T *lr, *grad, *momentum;
  __device__ void operator()(int64_t i) const {
    const T g = kKeras ? -(grad[i] * *lr) : grad[i];
    const T sum = accum[i] * *momentum + g;
    accum[i] = sum;
    const T direction = kNesterov ? sum * *momentum + g : sum;
    var[i] = kKeras ? var[i] + direction : var[i] - direction * *lr;
  }
};

template <bool kKeras>
struct Momentum {
  template <class T>
  static void run(KernelContext& c) {
    state::update_together<T, 2>(c, 3, [&](T* var, T* accum, int64_t n) {
      c.flag("use_nesterov") ? step<T, true>(c, var, accum, n) : step<T, false>(c, var, accum, n);
    });
  }

 private:
  template <class T, bool kNesterov>
  static void step(KernelContext& c, T* var, T* accum, int64_t n) {
    const auto in = [&c](int i) { return c.data<T>(i); };
    launch(c, n, MomentumStep<T, kKeras, kNesterov>{var, accum, in(2), in(3), in(4)});
  }
};

template <class T>
struct RmsPropStep {
  T *var, *ms, *mom;
  const T *lr, *rho, *momentum, *epsilon, *grad;
  __device__ void operator()(int64_t i) const {
    const T g = grad[i];
    const T square = ms[i] + (g * g - ms[i]) * (T{1} - *rho);
    const T step = mom[i] * *momentum + (g * *lr) / k::sqrt(square + *epsilon);
    ms[i] = square;
    mom[i] = step;
    var[i] -= step;
  }
};

struct RmsProp {
  template <class T>
  static void run(KernelContext& c) {
    const auto in = [&c](int i) { return c.data<T>(i); };
    state::update_together<T, 3>(c, 7, [&](T* var, T* ms, T* mom, int64_t n) {
      launch(c, n, RmsPropStep<T>{var, ms, mom, in(3), in(4), in(5), in(6), in(7)});
    });
  }
};

template <class T>
struct CenteredRmsPropStep {
  T *var, *mg, *ms, *mom;
  const T *lr, *rho, *momentum, *epsilon, *grad;
  __device__ void operator()(int64_t i) const {
    const T g = grad[i];
    const T rest = T{1} - *rho;
    const T square = ms[i] + (g * g - ms[i]) * rest;
    const T mean = mg[i] + (g - mg[i]) * rest;
    const T step = mom[i] * *momentum + (g * *lr) / k::sqrt(square - mean * mean + *epsilon);
    ms[i] = square;
    mg[i] = mean;
    mom[i] = step;
    var[i] -= step;
  }
};

struct CenteredRmsProp {
  template <class T>
  static void run(KernelContext& c) {
    const auto in = [&c](int i) { return c.data<T>(i); };
    state::update_together<T, 4>(c, 8, [&](T* var, T* mg, T* ms, T* mom, int64_t n) {
      launch(c, n, CenteredRmsPropStep<T>{var, mg, ms, mom, in(4), in(5), in(6), in(7), in(8)});
    });
  }
};

template <class T>
struct AdagradStep {
  T *var, *accum;
  bool update_slots;
  const T *lr, *epsilon, *grad;
  __device__ void operator()(int64_t i) const {
    const T g = grad[i];
    const T sum = update_slots ? accum[i] + g * g : accum[i];
    accum[i] = sum;
    var[i] -= (g * *lr) / (k::sqrt(sum) + *epsilon);
  }
};

struct Adagrad {
  template <class T>
  static void run(KernelContext& c) {
    const auto in = [&c](int i) { return c.data<T>(i); };
    state::update_together<T, 2>(c, 4, [&](T* var, T* accum, int64_t n) {
      launch(c, n, AdagradStep<T>{var, accum, c.flag("update_slots"), in(2), in(3), in(4)});
    });
  }
};

const CudaKernel gradient_descent_kernel("ResourceApplyGradientDescent", types::floating{}, GradientDescent{});
const CudaKernel adam_kernel("ResourceApplyAdam", types::floating{}, Adam{});
const CudaKernel momentum_kernel("ResourceApplyMomentum", types::floating{}, Momentum<false>{});
const CudaKernel keras_momentum_kernel("ResourceApplyKerasMomentum", types::floating{}, Momentum<true>{});
const CudaKernel rms_prop_kernel("ResourceApplyRMSProp", types::floating{}, RmsProp{});
const CudaKernel centered_rms_prop_kernel("ResourceApplyCenteredRMSProp", types::floating{}, CenteredRmsProp{});
const CudaKernel adagrad_kernel("ResourceApplyAdagradV2", types::floating{}, Adagrad{});

}  // namespace
}  // namespace panto
