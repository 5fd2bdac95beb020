// Bitwise ops on integers.
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/math/elementwise.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

constexpr const char* kWhole = "integers are not differentiable";

}  // namespace

const Op& kBitwiseAnd = define_op("BitwiseAnd(x: T, y: T; T: integer) -> (z: T)",
                                  {.doc = "The bits that x and y both have.",
                                   .traits = {Trait::kElementwise, Trait::kBroadcasts, Trait::kCommutative},
                                   .shape = shapes::broadcast_two,
                                   .no_gradient = kWhole,
                                   .flops = flops_each<1>});

const Op& kBitwiseOr = define_op("BitwiseOr(x: T, y: T; T: integer) -> (z: T)",
                                 {.doc = "The bits that x or y has.",
                                  .traits = {Trait::kElementwise, Trait::kBroadcasts, Trait::kCommutative},
                                  .shape = shapes::broadcast_two,
                                  .no_gradient = kWhole,
                                  .flops = flops_each<1>});

const Op& kBitwiseXor = define_op("BitwiseXor(x: T, y: T; T: integer) -> (z: T)",
                                  {.doc = "The bits that one of x and y has, but not the other.",
                                   .traits = {Trait::kElementwise, Trait::kBroadcasts, Trait::kCommutative},
                                   .shape = shapes::broadcast_two,
                                   .no_gradient = kWhole,
                                   .flops = flops_each<1>});

const Op& kInvert = define_op("Invert(x: T; T: integer) -> (y: T)",
                              {.doc = "The bits that x does not have: `-1 - x` of signed integers.",
                               .traits = {Trait::kElementwise},
                               .shape = shapes::same_as_input,
                               .no_gradient = kWhole,
                               .flops = flops_each<1>});

const Op& kLeftShift = define_op(
    "LeftShift(x: T, y: T; T: integer) -> (z: T)",
    {.doc = "x moved by y bits towards the higher ones, zeros behind it. y is taken as at least 0 and at most "
            "the width of x less one, as TensorFlow's kernel does.",
     .traits = {Trait::kElementwise, Trait::kBroadcasts},
     .shape = shapes::broadcast_two,
     .no_gradient = kWhole,
     .flops = flops_each<3>});

const Op& kRightShift = define_op(
    "RightShift(x: T, y: T; T: integer) -> (z: T)",
    {.doc = "x moved by y bits towards the lower ones; signed integers keep their sign. y is taken as at least "
            "0 and at most the width of x less one, as TensorFlow's kernel does.",
     .traits = {Trait::kElementwise, Trait::kBroadcasts},
     .shape = shapes::broadcast_two,
     .no_gradient = kWhole,
     .flops = flops_each<3>});

const Op& kPopulationCount =
    define_op("PopulationCount(x: T; T: integer) -> (y: uint8)", {.doc = "How many bits of x are set.",
                                                                  .traits = {Trait::kElementwise},
                                                                  .shape = shapes::same_as_input,
                                                                  .no_gradient = kWhole,
                                                                  .flops = flops_each<4>});

}  // namespace panto
