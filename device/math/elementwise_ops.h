// The elementwise ops, each with the functor that computes one element (device/math/functors.h). Every back-end makes
// its kernels from these tables, for the types that the ops' signatures allow.
#pragma once

#include <algorithm>

#include "panto/device/math/functors.h"
#include "panto/device/math/rare_functors.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/math_types.h"
#include "panto/lib/ops/nn_types.h"

namespace panto {

using UnaryOps = OpTable<  //
    ElementwiseOp<"Neg", NegFn>, ElementwiseOp<"Conj", ConjFn>, ElementwiseOp<"Abs", AbsFn>,
    ElementwiseOp<"Sign", SignFn>, ElementwiseOp<"Floor", FloorFn>, ElementwiseOp<"Ceil", CeilFn>,
    ElementwiseOp<"Rint", RintFn>, ElementwiseOp<"Round", RintFn>, ElementwiseOp<"IsNan", IsNanFn>,
    ElementwiseOp<"IsInf", IsInfFn>, ElementwiseOp<"IsFinite", IsFiniteFn>, ElementwiseOp<"Square", SquareFn>,
    ElementwiseOp<"Sqrt", SqrtFn>, ElementwiseOp<"Rsqrt", RsqrtFn>, ElementwiseOp<"Reciprocal", ReciprocalFn>,
    ElementwiseOp<"Exp", ExpFn>, ElementwiseOp<"Expm1", Expm1Fn>, ElementwiseOp<"Log", LogFn>,
    ElementwiseOp<"Log1p", Log1pFn>, ElementwiseOp<"Sin", SinFn>, ElementwiseOp<"Cos", CosFn>,
    ElementwiseOp<"Erf", ErfFn>, ElementwiseOp<"Erfc", ErfcFn>, ElementwiseOp<"Tanh", TanhFn>,
    ElementwiseOp<"Sigmoid", SigmoidFn>, ElementwiseOp<"Softplus", SoftplusFn>, ElementwiseOp<"Relu", ReluFn>>;

using BinaryOps = OpTable<  //
    ElementwiseOp<"AddV2", AddFn>, ElementwiseOp<"Sub", SubFn>, ElementwiseOp<"Mul", MulFn>,
    ElementwiseOp<"RealDiv", DivFn, types::fractions>, ElementwiseOp<"Div", DivFn>,
    ElementwiseOp<"FloorDiv", FloorDivFn, types::reals>, ElementwiseOp<"FloorMod", FloorModFn>,
    ElementwiseOp<"Pow", PowFn>, ElementwiseOp<"Maximum", MaximumFn>, ElementwiseOp<"Minimum", MinimumFn>,
    ElementwiseOp<"SquaredDifference", SquaredDifferenceFn>, ElementwiseOp<"ReluGrad", ReluGradFn>>;

// Compiled as one portable loop each, not for several instruction sets.
using RareUnaryOps = OpTable<  //
    ElementwiseOp<"Tan", TanFn>, ElementwiseOp<"Asin", AsinFn>, ElementwiseOp<"Acos", AcosFn>,
    ElementwiseOp<"Atan", AtanFn>, ElementwiseOp<"Sinh", SinhFn>, ElementwiseOp<"Cosh", CoshFn>,
    ElementwiseOp<"Asinh", AsinhFn>, ElementwiseOp<"Acosh", AcoshFn>, ElementwiseOp<"Atanh", AtanhFn>,
    ElementwiseOp<"Invert", InvertFn>, ElementwiseOp<"PopulationCount", PopulationCountFn>, ElementwiseOp<"Elu", EluFn>,
    ElementwiseOp<"Selu", SeluFn>, ElementwiseOp<"Relu6", Relu6Fn>, ElementwiseOp<"Softsign", SoftsignFn>>;
using RareBinaryOps = OpTable<  //
    ElementwiseOp<"Atan2", Atan2Fn>, ElementwiseOp<"DivNoNan", DivNoNanFn>, ElementwiseOp<"MulNoNan", MulNoNanFn>,
    ElementwiseOp<"Xdivy", XdivyFn>, ElementwiseOp<"Xlogy", XlogyFn>, ElementwiseOp<"Xlog1py", Xlog1pyFn>,
    ElementwiseOp<"TruncateDiv", TruncateDivFn>, ElementwiseOp<"TruncateMod", TruncateModFn>,
    ElementwiseOp<"BitwiseAnd", BitwiseAndFn>, ElementwiseOp<"BitwiseOr", BitwiseOrFn>,
    ElementwiseOp<"BitwiseXor", BitwiseXorFn>, ElementwiseOp<"LeftShift", LeftShiftFn>,
    ElementwiseOp<"RightShift", RightShiftFn>, ElementwiseOp<"EluGrad", EluGradFn>,
    ElementwiseOp<"SeluGrad", SeluGradFn>, ElementwiseOp<"Relu6Grad", Relu6GradFn>,
    ElementwiseOp<"SoftsignGrad", SoftsignGradFn>>;

using ComparisonOps = OpTable<  //
    ElementwiseOp<"Less", LessFn>, ElementwiseOp<"LessEqual", LessEqualFn>, ElementwiseOp<"Greater", GreaterFn>,
    ElementwiseOp<"GreaterEqual", GreaterEqualFn>>;

// The `.flops` of functor F's op.
template <class F>
inline constexpr int kFlops = std::max({UnaryOps::flops<F>(), BinaryOps::flops<F>(), ComparisonOps::flops<F>(),
                                        RareUnaryOps::flops<F>(), RareBinaryOps::flops<F>()});

}  // namespace panto
