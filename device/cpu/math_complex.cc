// Elementwise arithmetic kernels of complex tensors.
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/loops.h"

namespace panto {
namespace {

const CpuKernel conj_kernel("Conj", types::complex{}, unary<ConjFn>);
const CpuKernel neg_kernel("Neg", types::complex{}, unary<NegFn>);
const CpuKernel square_kernel("Square", types::complex{}, unary<SquareFn>);
const CpuKernel sqrt_kernel("Sqrt", types::complex{}, unary<SqrtFn>);
const CpuKernel rsqrt_kernel("Rsqrt", types::complex{}, unary<RsqrtFn>);
const CpuKernel reciprocal_kernel("Reciprocal", types::complex{}, unary<ReciprocalFn>);
const CpuKernel exp_kernel("Exp", types::complex{}, unary<ExpFn>);
const CpuKernel expm1_kernel("Expm1", types::complex{}, unary<Expm1Fn>);
const CpuKernel log_kernel("Log", types::complex{}, unary<LogFn>);
const CpuKernel log1p_kernel("Log1p", types::complex{}, unary<Log1pFn>);
const CpuKernel sin_kernel("Sin", types::complex{}, unary<SinFn>);
const CpuKernel cos_kernel("Cos", types::complex{}, unary<CosFn>);
const CpuKernel tanh_kernel("Tanh", types::complex{}, unary<TanhFn>);
const CpuKernel sigmoid_kernel("Sigmoid", types::complex{}, unary<SigmoidFn>);

const CpuKernel add_kernel("AddV2", types::complex{}, binary<AddFn>);
const CpuKernel sub_kernel("Sub", types::complex{}, binary<SubFn>);
const CpuKernel mul_kernel("Mul", types::complex{}, binary<MulFn>);
const CpuKernel real_div_kernel("RealDiv", types::complex{}, binary<DivFn>);
const CpuKernel div_kernel("Div", types::complex{}, binary<DivFn>);
const CpuKernel pow_kernel("Pow", types::complex{}, binary<PowFn>);
const CpuKernel squared_difference_kernel("SquaredDifference", types::complex{}, binary<SquaredDifferenceFn>);

}  // namespace
}  // namespace panto
