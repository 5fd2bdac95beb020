// Comparisons, logic and SelectV2.
#include <complex>
#include <string>

#include "panto/device/broadcast.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/loops.h"

namespace panto {
namespace {

// With incompatible_shape_error = false, shapes that do not broadcast make a scalar output that says so.
template <class F, bool kIfIncompatible>
struct Equality {
  template <class T>
  static Kernel kernel() {
    Kernel kernel = Binary<F>::template kernel<T>();
    kernel.run = run<T>;
    return kernel;
  }
  template <class T>
  static void run(KernelContext& c) {
    static const KernelFn compare = Binary<F>::template kernel<T>().run;
    if (c.out_numel(0) == 1 &&
        (!broadcasts_to(c.shape(0), c.out_shape(0)) || !broadcasts_to(c.shape(1), c.out_shape(0)))) [[unlikely]] {
      *c.out_data<bool>(0) = kIfIncompatible;
      return;
    }
    compare(c);
  }
};

using comparable =
    TypeList<float, double, int32_t, int64_t, bool, std::complex<float>, std::complex<double>, std::string>;
const CpuKernel equal_kernel("Equal", comparable{}, Equality<EqualFn, false>{});
const CpuKernel not_equal_kernel("NotEqual", comparable{}, Equality<NotEqualFn, true>{});

const CpuKernel less_kernel("Less", types::numeric{}, binary<LessFn>);
const CpuKernel less_equal_kernel("LessEqual", types::numeric{}, binary<LessEqualFn>);
const CpuKernel greater_kernel("Greater", types::numeric{}, binary<GreaterFn>);
const CpuKernel greater_equal_kernel("GreaterEqual", types::numeric{}, binary<GreaterEqualFn>);

const CpuKernel logical_and_kernel("LogicalAnd", Binary<LogicalAndFn>::kernel<bool>());
const CpuKernel logical_or_kernel("LogicalOr", Binary<LogicalOrFn>::kernel<bool>());
const CpuKernel logical_not_kernel("LogicalNot", Unary<LogicalNotFn>::kernel<bool>());

const CpuKernel select_kernel("SelectV2", types::every{}, masked<SelectFn>);

}  // namespace
}  // namespace panto
