// Variables on the GPU: reads and assignments. A value is changed in place if no other tensor shares it.
#include "panto/device/cuda/each.cuh"
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
    state::update<T>(
        c, 1, [&](T* v, int64_t n) { cuda::for_each_index(cuda::device_of(c), n, ChangeBy<F, T>{v, c.data<T>(1)}); });
  }
};

const CudaKernel assign_add_kernel("AssignAddVariableOp", types::arithmetic{}, AssignChange<AddFn>{});
const CudaKernel assign_sub_kernel("AssignSubVariableOp", types::arithmetic{}, AssignChange<SubFn>{});

}  // namespace
}  // namespace panto
