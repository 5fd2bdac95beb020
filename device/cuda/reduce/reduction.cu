// Kernels of the reductions.
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/reduce/reduce.cuh"
#include "panto/device/op_kernels.h"
#include "panto/device/shape/axes.h"
#include "panto/lib/ops/math_types.h"

namespace panto {
namespace {

template <class R>
void reduce_axes(KernelContext& c) {
  using Out = std::remove_cvref_t<decltype(R::finish(R::total(), int64_t{}))>;
  const ReduceShape s(c.shape(0), reduced_axes(c));
  if (s.results != c.out_numel(0)) {
    fail(Code::kInternal, "reduction: expected an output as inferred from these axes, got another");
  }
  if (s.results == 0) return;
  cuda::reduce<R>(cuda::device_of(c), s, cuda::Elements<typename R::Element>{c.data<typename R::Element>(0)},
                  cuda::Store<R, Out>{c.out_data<Out>(0)});
}

template <template <class> class R>
struct Reduction {
  template <class T>
  static void run(KernelContext& c) {
    reduce_axes<ReducerFor<R, T>>(c);
  }
};

const CudaKernel sum_kernel("Sum", types::of<"Sum">{}, Reduction<SumOf>{});
const CudaKernel mean_kernel("Mean", types::of<"Mean">{}, Reduction<MeanOf>{});
const CudaKernel prod_kernel("Prod", types::of<"Prod">{}, Reduction<ProdOf>{});
const CudaKernel max_kernel("Max", types::of<"Max">{}, Reduction<MaxOf>{});
const CudaKernel min_kernel("Min", types::of<"Min">{}, Reduction<MinOf>{});
const CudaKernel all_kernel("All", dtypes::kIndex, reduce_axes<AllOf>);
const CudaKernel any_kernel("Any", dtypes::kIndex, reduce_axes<AnyOf>);

}  // namespace
}  // namespace panto
