// Elementwise kernels of one tensor.
#include "panto/device/cuda/kernel.h"
#include "panto/device/cuda/loops.cuh"

namespace panto {
namespace {

const CudaKernel neg_kernel("Neg", types::numeric{}, unary<NegFn>);
const CudaKernel abs_kernel("Abs", types::numeric{}, unary<AbsFn>);
const CudaKernel sign_kernel("Sign", types::numeric{}, unary<SignFn>);
const CudaKernel floor_kernel("Floor", types::floating{}, unary<FloorFn>);
const CudaKernel ceil_kernel("Ceil", types::floating{}, unary<CeilFn>);
const CudaKernel rint_kernel("Rint", types::floating{}, unary<RintFn>);
const CudaKernel round_kernel("Round", types::numeric{}, unary<RintFn>);
const CudaKernel is_nan_kernel("IsNan", types::floating{}, unary<IsNanFn>);
const CudaKernel is_inf_kernel("IsInf", types::floating{}, unary<IsInfFn>);
const CudaKernel is_finite_kernel("IsFinite", types::floating{}, unary<IsFiniteFn>);
const CudaKernel square_kernel("Square", types::numeric{}, unary<SquareFn>);
const CudaKernel sqrt_kernel("Sqrt", types::floating{}, unary<SqrtFn>);
const CudaKernel rsqrt_kernel("Rsqrt", types::floating{}, unary<RsqrtFn>);
const CudaKernel reciprocal_kernel("Reciprocal", types::floating{}, unary<ReciprocalFn>);
const CudaKernel exp_kernel("Exp", types::floating{}, unary<ExpFn>);
const CudaKernel expm1_kernel("Expm1", types::floating{}, unary<Expm1Fn>);
const CudaKernel log_kernel("Log", types::floating{}, unary<LogFn>);
const CudaKernel log1p_kernel("Log1p", types::floating{}, unary<Log1pFn>);
const CudaKernel sin_kernel("Sin", types::floating{}, unary<SinFn>);
const CudaKernel cos_kernel("Cos", types::floating{}, unary<CosFn>);
const CudaKernel erf_kernel("Erf", types::floating{}, unary<ErfFn>);
const CudaKernel erfc_kernel("Erfc", types::floating{}, unary<ErfcFn>);
const CudaKernel tanh_kernel("Tanh", types::floating{}, unary<TanhFn>);
const CudaKernel sigmoid_kernel("Sigmoid", types::floating{}, unary<SigmoidFn>);
const CudaKernel softplus_kernel("Softplus", types::floating{}, unary<SoftplusFn>);
const CudaKernel relu_kernel("Relu", types::numeric{}, unary<ReluFn>);
const CudaKernel relu_grad_kernel("ReluGrad", types::numeric{}, binary<ReluGradFn>);

}  // namespace
}  // namespace panto
