// Elementwise kernels of one tensor.
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/loops.h"

namespace panto {
namespace {

const CpuKernel neg_kernel("Neg", types::numeric{}, unary<NegFn>);
const CpuKernel abs_kernel("Abs", types::numeric{}, unary<AbsFn>);
const CpuKernel sign_kernel("Sign", types::numeric{}, unary<SignFn>);
const CpuKernel floor_kernel("Floor", types::floating{}, unary<FloorFn>);
const CpuKernel ceil_kernel("Ceil", types::floating{}, unary<CeilFn>);
const CpuKernel rint_kernel("Rint", types::floating{}, unary<RintFn>);
const CpuKernel round_kernel("Round", types::numeric{}, unary<RintFn>);
const CpuKernel is_nan_kernel("IsNan", types::floating{}, unary<IsNanFn>);
const CpuKernel is_inf_kernel("IsInf", types::floating{}, unary<IsInfFn>);
const CpuKernel is_finite_kernel("IsFinite", types::floating{}, unary<IsFiniteFn>);
const CpuKernel square_kernel("Square", types::numeric{}, unary<SquareFn>);
const CpuKernel sqrt_kernel("Sqrt", types::floating{}, unary<SqrtFn>);
const CpuKernel rsqrt_kernel("Rsqrt", types::floating{}, unary<RsqrtFn>);
const CpuKernel reciprocal_kernel("Reciprocal", types::floating{}, unary<ReciprocalFn>);
const CpuKernel exp_kernel("Exp", types::floating{}, unary<ExpFn>);
const CpuKernel expm1_kernel("Expm1", types::floating{}, unary<Expm1Fn>);
const CpuKernel log_kernel("Log", types::floating{}, unary<LogFn>);
const CpuKernel log1p_kernel("Log1p", types::floating{}, unary<Log1pFn>);
const CpuKernel sin_kernel("Sin", types::floating{}, unary<SinFn>);
const CpuKernel cos_kernel("Cos", types::floating{}, unary<CosFn>);
const CpuKernel erf_kernel("Erf", types::floating{}, unary<ErfFn>);
const CpuKernel erfc_kernel("Erfc", types::floating{}, unary<ErfcFn>);
const CpuKernel tanh_kernel("Tanh", types::floating{}, unary<TanhFn>);
const CpuKernel sigmoid_kernel("Sigmoid", types::floating{}, unary<SigmoidFn>);
const CpuKernel softplus_kernel("Softplus", types::floating{}, unary<SoftplusFn>);
const CpuKernel relu_kernel("Relu", types::numeric{}, unary<ReluFn>);
const CpuKernel relu_grad_kernel("ReluGrad", types::numeric{}, binary<ReluGradFn>);

}  // namespace
}  // namespace panto
