// Making complex numbers from real ones, and extracting parts of them.
#include "panto/device/math/complex_parts.h"
#include "panto/device/cpu/elementwise/loops.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/math_types.h"

namespace panto {
namespace {

const CpuKernel complex_kernel("Complex", types::floating{}, Binary<ComplexFn>{});
const CpuKernel real_kernel("Real", types::of<"Real">{}, Unary<RealFn>{});
const CpuKernel imag_kernel("Imag", types::of<"Imag">{}, Unary<ImagFn>{});
const CpuKernel angle_kernel("Angle", types::of<"Angle">{}, Unary<AngleFn>{});
const CpuKernel complex_abs_kernel("ComplexAbs", types::of<"ComplexAbs">{}, Unary<ComplexAbsFn>{});

}  // namespace
}  // namespace panto
