// Cast: conversion between element types.
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/math/elementwise.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

std::optional<int64_t> same_value(int64_t x, int64_t) { return x; }

}  // namespace

const Op& kCast = define_op(
    "Cast(x: SrcT; SrcT: any, DstT: any, Truncate: bool = false) -> (y: DstT)",
    {.doc = "x with its elements converted to type DstT. Numbers round towards zero to integers; what does not fit "
            "gives the smallest integer (of 32 or 64 bits, then cut to narrower types); everything but zero is true; "
            "complex numbers lose their imaginary part. Truncate: cut surplus bits of a floating-point number instead "
            "of rounding.",
     .kind = OpKind::kCast,
     .traits = {Trait::kElementwise},
     .primary = "DstT",
     .shape = shapes::unary_integers<same_value>,
     .gradient =
         [](GradContext& g) {
           if (dtypes::kDifferentiable.contains(g.in_type(0)) && dtypes::kDifferentiable.contains(g.type("DstT"))) {
             g.set(0, cast(g.dy(), g.in_type(0)));
           }
         },
     .flops = flops_each<1>});

}  // namespace panto
