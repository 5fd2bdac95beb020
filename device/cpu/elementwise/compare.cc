// Comparisons, logic and SelectV2.
#include <complex>
#include <string>

#include "panto/device/cpu/elementwise/loops.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/math/elementwise_ops.h"
#include "panto/device/shape/broadcast.h"

namespace panto {
namespace {

// With incompatible_shape_error = false, shapes that do not broadcast give the scalar kIfIncompatible.
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

using comparable = types::Join<types::numbers, TypeList<std::string>>::type;
const CpuKernel equal_kernel("Equal", comparable{}, Equality<EqualFn, false>{});
const CpuKernel not_equal_kernel("NotEqual", comparable{}, Equality<NotEqualFn, true>{});

// Quantized elements are equal if their integers are; these types do not know their ranges.
template <class Maker>
struct EqualBytes {
  explicit EqualBytes(const char* op) noexcept {
    (void)CpuKernel(op, DTypeSet{kQInt8, kQUint8}, make_kernel<Maker, uint8_t>());
    (void)CpuKernel(op, DTypeSet{kQInt16, kQUint16}, make_kernel<Maker, uint16_t>());
    (void)CpuKernel(op, DTypeSet{kQInt32}, make_kernel<Maker, int32_t>());
  }
};
const EqualBytes<Equality<EqualFn, false>> equal_bytes("Equal");
const EqualBytes<Equality<NotEqualFn, true>> not_equal_bytes("NotEqual");

const TableKernels<"CPU", Binary, types::common> comparison_kernels(ComparisonOps{});

const CpuKernel logical_and_kernel("LogicalAnd", Binary<LogicalAndFn>::kernel<bool>());
const CpuKernel logical_or_kernel("LogicalOr", Binary<LogicalOrFn>::kernel<bool>());
const CpuKernel logical_not_kernel("LogicalNot", Unary<LogicalNotFn>::kernel<bool>());

const CpuKernel select_kernel("SelectV2", types::every{}, masked<SelectFn>);

}  // namespace
}  // namespace panto
