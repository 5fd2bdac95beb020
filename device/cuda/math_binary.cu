// Elementwise arithmetic kernels of two and more tensors.
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/loops.cuh"

namespace panto {
namespace {

const CudaKernel add_kernel("AddV2", types::numeric{}, binary<AddFn>);
const CudaKernel sub_kernel("Sub", types::numeric{}, binary<SubFn>);
const CudaKernel mul_kernel("Mul", types::numeric{}, binary<MulFn>);
const CudaKernel real_div_kernel("RealDiv", types::floating{}, binary<DivFn>);
const CudaKernel div_kernel("Div", types::numeric{}, binary<DivFn>);
const CudaKernel floor_div_kernel("FloorDiv", types::numeric{}, binary<FloorDivFn>);
const CudaKernel floor_mod_kernel("FloorMod", types::numeric{}, binary<FloorModFn>);
const CudaKernel pow_kernel("Pow", types::numeric{}, binary<PowFn>);
const CudaKernel maximum_kernel("Maximum", types::numeric{}, binary<MaximumFn>);
const CudaKernel minimum_kernel("Minimum", types::numeric{}, binary<MinimumFn>);
const CudaKernel squared_difference_kernel("SquaredDifference", types::numeric{}, binary<SquaredDifferenceFn>);

}  // namespace
}  // namespace panto
