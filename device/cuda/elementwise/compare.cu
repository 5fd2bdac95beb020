// Comparisons, logic and SelectV2.
#include "panto/device/cuda/elementwise/loops.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/math/elementwise_ops.h"

namespace panto {
namespace {

// With incompatible_shape_error = false, shapes that do not broadcast make a scalar output that says so.
template <class F, bool kIfIncompatible>
struct Equality {
  template <class T>
  static Kernel kernel() {
    return elementwise_kernel<F, T>(&run<T>);
  }
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 1 &&
        (!broadcasts_to(c.shape(0), c.out_shape(0)) || !broadcasts_to(c.shape(1), c.out_shape(0)))) {
      const cuda::DeviceUse stream = cuda::device_of(c).use();
      cuda::check(cudaMemsetAsync(c.out_data<bool>(0), kIfIncompatible ? 1 : 0, 1, stream), "setting a value");
      return;
    }
    CudaBinary<F>::template run<T>(c);
  }
};
const CudaKernel equal_kernel("Equal", types::numbers{}, Equality<EqualFn, false>{});
const CudaKernel not_equal_kernel("NotEqual", types::numbers{}, Equality<NotEqualFn, true>{});

const TableKernels<"GPU", CudaBinary, types::numbers> comparison_kernels(ComparisonOps{});

const CudaKernel logical_and_kernel("LogicalAnd", CudaBinary<LogicalAndFn>::kernel<bool>());
const CudaKernel logical_or_kernel("LogicalOr", CudaBinary<LogicalOrFn>::kernel<bool>());
const CudaKernel logical_not_kernel("LogicalNot", CudaUnary<LogicalNotFn>::kernel<bool>());

const CudaKernel select_kernel("SelectV2", types::plain{}, masked<SelectFn>);

}  // namespace
}  // namespace panto
