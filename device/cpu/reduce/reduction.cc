// Kernels of the reductions.
#include <algorithm>
#include <type_traits>

#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/reduce/reduce.h"
#include "panto/device/math/reducers.h"
#include "panto/device/op_kernels.h"
#include "panto/device/shape/axes.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/math_types.h"

namespace panto {
namespace {

template <class R, class T>
void reduce_axes(KernelContext& c) {
  cpu::reduce<R>(c.data<T>(0), c.shape(0), reduced_axes(c), c.out_data<T>(0), c.out_numel(0), c.device());
}

// Reduces elements converted to Wider<T>; the results are converted back to T. Halves are rounded once.
template <template <class> class R, template <class> class Wider>
struct Reduction {
  template <class T>
  static void run(KernelContext& c) {
    reduce_axes<R<Wider<T>>, T>(c);
  }
};

// For integers without elements the result is the identity of type T, not of the wider type.
template <template <class> class R>
struct Extreme {
  template <class T>
  static void run(KernelContext& c) {
    if constexpr (std::is_integral_v<T>) {
      if (c.numel(0) == 0) {
        std::fill_n(c.out_data<T>(0), c.out_numel(0), R<T>::total());
        return;
      }
    }
    Reduction<R, AsCommon>::template run<T>(c);
  }
};

const CpuKernel sum_kernel("Sum", types::of<"Sum">{}, Reduction<SumOf, AsCommon>{});
const CpuKernel mean_kernel("Mean", types::of<"Mean">{}, Reduction<MeanOf, AsLongest>{});
const CpuKernel prod_kernel("Prod", types::of<"Prod">{}, Reduction<ProdOf, AsCommon>{});
const CpuKernel max_kernel("Max", types::of<"Max">{}, Extreme<MaxOf>{});
const CpuKernel min_kernel("Min", types::of<"Min">{}, Extreme<MinOf>{});
const CpuKernel all_kernel("All", dtypes::kIndex, reduce_axes<AllOf, bool>);
const CpuKernel any_kernel("Any", dtypes::kIndex, reduce_axes<AnyOf, bool>);

}  // namespace
}  // namespace panto
