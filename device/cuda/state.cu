// Variables on the GPU: reads, assignments, and the optimizers' steps, which change values in place where nobody looks.
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/loops.cuh"
#include "panto/device/state.h"

namespace panto {
namespace {

void run_is_initialized(KernelContext& c) {
  const cuda::DeviceUse stream = cuda::device_of(c).use();
  const int value = variable_of(c.in(0)).initialized() ? 1 : 0;
  cuda::check(cudaMemsetAsync(c.out_data<bool>(0), value, sizeof(bool), stream), "setting a value");
}

const CudaKernel var_is_initialized_kernel("VarIsInitializedOp", run_is_initialized);
const CudaKernel read_variable_kernel("ReadVariableOp", dtypes::kPlain, state::read);
const CudaKernel assign_variable_kernel("AssignVariableOp", dtypes::kPlain, state::assign);

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
  __device__ void operator()(int64_t i) const { v[i] = F{}(v[i], delta[i]); }
};

template <class F>
struct AssignChange {
  template <class T>
  static void run(KernelContext& c) {
    state::update<T>(c, 1, [&](T* v, int64_t n) { launch(c, n, ChangeBy<F, T>{v, c.data<T>(1)}); });
  }
};

const CudaKernel assign_add_kernel("AssignAddVariableOp", types::numeric{}, AssignChange<AddFn>{});
const CudaKernel assign_sub_kernel("AssignSubVariableOp", types::numeric{}, AssignChange<SubFn>{});

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
    state::update_three<T>(c, 9, [&](T* var, T* m, T* v, int64_t n) {
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

const CudaKernel gradient_descent_kernel("ResourceApplyGradientDescent", types::floating{}, GradientDescent{});
const CudaKernel adam_kernel("ResourceApplyAdam", types::floating{}, Adam{});

}  // namespace
}  // namespace panto
