// Making complex numbers from real ones, and extracting parts of them.
#include "panto/device/math/complex_parts.h"

#include "panto/device/cuda/elementwise/loops.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/math_types.h"

namespace panto {
namespace {

// Not `binary`: programs compiled at run time do not know complex numbers.
struct RunComplex {
  template <class T>
  static void run(KernelContext& c) {
    CudaBinary<ComplexFn>::run<T>(c);
  }
};

const CudaKernel complex_kernel("Complex", types::floating{}, RunComplex{});
const CudaKernel real_kernel("Real", types::of<"Real">{}, unary<RealFn>);
const CudaKernel imag_kernel("Imag", types::of<"Imag">{}, unary<ImagFn>);
const CudaKernel angle_kernel("Angle", types::of<"Angle">{}, unary<AngleFn>);
const CudaKernel complex_abs_kernel("ComplexAbs", types::of<"ComplexAbs">{}, unary<ComplexAbsFn>);

}  // namespace
}  // namespace panto
