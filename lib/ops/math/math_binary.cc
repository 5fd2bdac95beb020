// Elementwise arithmetic of two tensors, with broadcasting.
#include <algorithm>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/math/elementwise.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/strings.h"

namespace panto {
namespace {

using Value = std::optional<int64_t>;

Value add_value(int64_t x, int64_t y) {
  int64_t z;
  return __builtin_add_overflow(x, y, &z) ? std::nullopt : Value(z);
}
Value sub_value(int64_t x, int64_t y) {
  int64_t z;
  return __builtin_sub_overflow(x, y, &z) ? std::nullopt : Value(z);
}
Value mul_value(int64_t x, int64_t y) {
  int64_t z;
  return __builtin_mul_overflow(x, y, &z) ? std::nullopt : Value(z);
}
// The smallest integer divided by -1 would overflow.
bool divides(int64_t x, int64_t y) { return y != 0 && !(x == INT64_MIN && y == -1); }
Value div_value(int64_t x, int64_t y) { return divides(x, y) ? Value(x / y) : std::nullopt; }
Value floor_div_value(int64_t x, int64_t y) {
  if (!divides(x, y)) return std::nullopt;
  return x / y - (x % y != 0 && (x < 0) != (y < 0) ? 1 : 0);
}
Value floor_mod_value(int64_t x, int64_t y) {
  if (!divides(x, y)) return std::nullopt;
  const int64_t rest = x % y;
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}
Value max_value(int64_t x, int64_t y) { return std::max(x, y); }
Value min_value(int64_t x, int64_t y) { return std::min(x, y); }

// d(x / y) = dx / y - (x / y) dy / y.
void quotient_gradient(GradContext& g) {
  const Tensor scaled = g.dy() / g.conj_in(1);
  if (g.needs(0)) g.set(0, scaled);
  if (g.needs(1)) g.set(1, -scaled * g.conj_out(0));
}

// Routes dy to the chosen operand; `first` is true where that was x.
void choice_gradient(GradContext& g, const Tensor& first) {
  if (g.needs(0)) g.set(0, select(first, g.dy(), 0));
  if (g.needs(1)) g.set(1, select(first, 0, g.dy()));
}

// For complex numbers |d|^2 is not holomorphic, so the tangent is not a derivative times t.
void squared_difference_tangent(JvpContext& c) {
  const Tensor d = c.in(0) - c.in(1);
  const Tensor t = !c.has_tangent(1)   ? c.tangent(0) + zeros_like(d)
                   : !c.has_tangent(0) ? zeros_like(d) - c.tangent(1)
                                       : c.tangent(0) - c.tangent(1);
  if (!dtypes::kComplex.contains(d.dtype())) return c.set(0, 2 * d * t);
  c.set(0, d * conj(t) + conj(d) * t);
}

}  // namespace

const Op& kAddV2 = define_op("AddV2(x: T, y: T; T: numeric) -> (z: T)",
                             {.doc = "`x + y`. Integers wrap.",
                              .traits = {Trait::kElementwise, Trait::kBroadcasts, Trait::kCommutative},
                              .shape = shapes::binary_integers<add_value>,
                              .gradient =
                                  [](GradContext& g) {
                                    if (g.needs(0)) g.set(0, g.dy());
                                    if (g.needs(1)) g.set(1, g.dy());
                                  },
                              .flops = flops_each<1>});

const Op& kAdd = define_op("Add(x: T, y: T; T: numeric|string) -> (z: T)",
                           {.doc = "AddV2 of numbers; of strings, those of `y` after those of `x`.",
                            .cpp = "add_v1",
                            .body =
                                [](CompositeContext& c) {
                                  const bool text = c.type("T") == kString;
                                  c.set_out(0, text ? string_join({c.in(0), c.in(1)}) : add(c.in(0), c.in(1)));
                                },
                            .in_tensorflow = true});

const Op& kSub =
    define_op("Sub(x: T, y: T; T: numeric) -> (z: T)", {.doc = "`x - y`. Integers wrap.",
                                                        .traits = {Trait::kElementwise, Trait::kBroadcasts},
                                                        .shape = shapes::binary_integers<sub_value>,
                                                        .gradient =
                                                            [](GradContext& g) {
                                                              if (g.needs(0)) g.set(0, g.dy());
                                                              if (g.needs(1)) g.set(1, -g.dy());
                                                            },
                                                        .flops = flops_each<1>});

const Op& kMul = define_op("Mul(x: T, y: T; T: numeric) -> (z: T)",
                           {.doc = "`x * y`. Integers wrap.",
                            .traits = {Trait::kElementwise, Trait::kBroadcasts, Trait::kCommutative},
                            .shape = shapes::binary_integers<mul_value>,
                            .saves = {in(0), in(1)},
                            .gradient =
                                [](GradContext& g) {
                                  if (g.needs(0)) g.set(0, g.dy() * g.conj_in(1));
                                  if (g.needs(1)) g.set(1, g.dy() * g.conj_in(0));
                                },
                            .flops = flops_each<1>});

const Op& kRealDiv =
    define_op("RealDiv(x: T, y: T; T: numeric) -> (z: T)",
              {.doc = "`x / y` of floating-point numbers.",
               .traits = {Trait::kElementwise, Trait::kBroadcasts},
               .shape = shapes::broadcast_two,
               .saves = {in(1), out(0)},
               .gradient = quotient_gradient,
               .flops = flops_each<4>,
               .types_reason = "integers are divided by Div and FloorDiv: their type does not hold the quotient"});

const Op& kDiv =
    define_op("Div(x: T, y: T; T: numeric) -> (z: T)",
              {.doc = "`x / y`; integers round towards zero. Throws InvalidArgument for an integer divided "
                      "by zero.",
               .traits = {Trait::kElementwise, Trait::kBroadcasts},
               .shape = shapes::binary_integers<div_value>,
               .saves = {in(1), out(0)},
               .gradient = quotient_gradient,
               .flops = flops_each<4>});

const Op& kFloorDiv = define_op("FloorDiv(x: T, y: T; T: numeric) -> (z: T)",
                                {.doc = "`floor(x / y)`, also of integers. Throws InvalidArgument for an integer "
                                        "divided by zero.",
                                 .traits = {Trait::kElementwise, Trait::kBroadcasts},
                                 .shape = shapes::binary_integers<floor_div_value>,
                                 .no_gradient = "it is piecewise constant",
                                 .flops = flops_each<8>,
                                 .types_reason = "complex numbers are not ordered, so none is the floor of another"});

const Op& kFloorMod = define_op(
    "FloorMod(x: T, y: T; T: real) -> (z: T)",
    {.doc =
         "`x - floor(x / y) * y`: the remainder, with y's sign. Throws InvalidArgument for an integer divided by zero.",
     .traits = {Trait::kElementwise, Trait::kBroadcasts},
     .shape = shapes::binary_integers<floor_mod_value>,
     .saves = {in(0), in(1)},
     .gradient =
         [](GradContext& g) {
           if (g.needs(0)) g.set(0, g.dy());
           if (g.needs(1)) g.set(1, -g.dy() * floor_div(g.in(0), g.in(1)));
         },
     .flops = flops_each<16>});

// A step function; TensorFlow gives it no gradient.
const Op& kTruncateDiv =
    define_op("TruncateDiv(x: T, y: T; T: real) -> (z: T)",
              {.doc = "`x / y` rounded towards zero. Throws InvalidArgument for an integer divided by zero.",
               .traits = {Trait::kElementwise, Trait::kBroadcasts},
               .shape = shapes::binary_integers<div_value>,
               .no_gradient = "steps are flat, and not differentiable where they jump",
               .flops = flops_each<8>});

const Op& kTruncateMod = define_op(
    "TruncateMod(x: T, y: T; T: real) -> (z: T)",
    {.doc = "The remainder of TruncateDiv, with x's sign, as C++'s `%` and `fmod`. Throws InvalidArgument for an "
            "integer divided by zero.",
     .aliases = {"Mod"},
     .traits = {Trait::kElementwise, Trait::kBroadcasts},
     .shape = shapes::broadcast_two,
     .saves = {in(0), in(1)},
     .gradient =
         [](GradContext& g) {
           if (g.needs(0)) g.set(0, g.dy());
           if (g.needs(1)) g.set(1, -g.dy() * truncate_div(g.in(0), g.in(1)));
         },
     .flops = flops_each<16>});

const Op& kPow = define_op(
    "Pow(x: T, y: T; T: floating|complex|signed) -> (z: T)",
    {.doc = "x to the power y. Throws InvalidArgument for an integer to a negative power. Gradients are finite "
            "where the mathematical ones are: zero for x where y = 0, zero for y where x <= 0 (complex: where x = 0).",
     .traits = {Trait::kElementwise, Trait::kBroadcasts},
     .shape = shapes::broadcast_two,
     .saves = {in(0), in(1), out(0)},
     .gradient =
         [](GradContext& g) {
           const Tensor& x = g.conj_in(0);
           const Tensor& y = g.conj_in(1);
           if (g.needs(0)) {
             // At x = y = 0, x^(y - 1) is infinite and y times it NaN, where the derivative of x^0 is
             // zero. TensorFlow gives that NaN; it would reach second derivatives of x^1 at zero.
             const Tensor exponent = select(equal(y, 0), 1, y - 1);
             g.set(0, g.dy() * (y * pow(x, exponent)));
           }
           if (g.needs(1)) {
             const bool complex = dtypes::kComplex.contains(g.in_type(0));
             const Tensor defined = complex ? not_equal(x, 0) : x > 0;
             const Tensor log_x = log(select(defined, x, 1));  // log(1) = 0
             g.set(1, g.dy() * (g.conj_out(0) * log_x));
           }
         },
     .flops = flops_each<32>});

const Op& kMaximum =
    define_op("Maximum(x: T, y: T; T: real) -> (z: T)",
              {.doc = "The larger of x and y; NaN if either is. Where they are equal, x gets the gradient.",
               .traits = {Trait::kElementwise, Trait::kBroadcasts},
               .shape = shapes::binary_integers<max_value>,
               .saves = {in(0), in(1)},
               .gradient = [](GradContext& g) { choice_gradient(g, g.in(0) >= g.in(1)); },
               .flops = flops_each<1>});

const Op& kMinimum =
    define_op("Minimum(x: T, y: T; T: real) -> (z: T)",
              {.doc = "The smaller of x and y; NaN if either is. Where they are equal, x gets the gradient.",
               .traits = {Trait::kElementwise, Trait::kBroadcasts},
               .shape = shapes::binary_integers<min_value>,
               .saves = {in(0), in(1)},
               .gradient = [](GradContext& g) { choice_gradient(g, g.in(0) <= g.in(1)); },
               .flops = flops_each<1>});

const Op& kSquaredDifference =
    define_op("SquaredDifference(x: T, y: T; T: floating|complex|int32|int64) -> (z: T)",
              {.doc = "`(x - y) * (x - y)`; of complex numbers `(x - y) * conj(x - y)`.",
               .traits = {Trait::kElementwise, Trait::kBroadcasts, Trait::kCommutative},
               .shape = shapes::broadcast_two,
               .saves = {in(0), in(1)},
               .gradient =
                   [](GradContext& g) {
                     // |x - y|^2 is real, so only the real part of dy counts.
                     const Tensor difference = g.in(0) - g.in(1);
                     const bool complex = dtypes::kComplex.contains(g.in_type(0));
                     const Tensor dx = complex ? (g.dy() + conj(g.dy())) * difference : g.dy() * (2 * difference);
                     if (g.needs(0)) g.set(0, dx);
                     if (g.needs(1)) g.set(1, -dx);
                   },
               .flops = flops_each<2>,
               .jvp = squared_difference_tangent});

const Op& kAddN =
    define_op("AddN(inputs: N*T; N: int >= 1, T: numeric|variant) -> (sum: T)",
              {.doc = "The sum of tensors of one shape, added from left to right. Of lists of one length: the list "
                      "of the sums of their elements; one that is set in a single list is as it is there.",
               .traits = {Trait::kElementwise, Trait::kCommutative},
               .shape = shapes::all_equal,
               .gradient =
                   [](GradContext& g) {
                     for (int i = 0; i < g.num_inputs(); ++i) {
                       if (g.needs(i)) g.set(i, g.dy());
                     }
                   },
               .flops = [](const CostContext& c) { return (c.num_inputs() - 1) * c.out_numel(0); }});

const Op& kAccumulateNV2 = define_op(
    "AccumulateNV2(inputs: N*T; N: int >= 1, T: numeric, shape: shape) -> (sum: T)",
    {.doc = "AddN of tensors of a shape that is known before they are, as far as `shape` says it.",
     .cpp = "accumulate_n",
     .body =
         [](CompositeContext& c) {
           const PartialShape& declared = c.shape_attr("shape");
           std::vector<Tensor> inputs;
           for (int i = 0; i < c.num_inputs(); ++i) inputs.push_back(c.in(i));
           const Tensor sum = add_n(inputs);
           const bool fits = sum.partial_shape().fully_known() && declared.compatible_with(sum.partial_shape());
           c.set_out(0, fits ? sum : ensure_shape(sum, declared));
         },
     .in_tensorflow = true});

const Op& kNextAfter =
    define_op("NextAfter(x1: T, x2: T; T: float32|float64 = float32) -> (output: T)",
              {.doc = "The next number that the type can represent after `x1` in the direction of `x2`; x2 where they "
                      "are equal, NaN if one is. The derivative by x1 is 1, that by x2 is 0.",
               .traits = {Trait::kElementwise, Trait::kBroadcasts},
               .shape = shapes::broadcast_two,
               .gradient =
                   [](GradContext& g) {
                     if (g.needs(0)) g.set(0, g.dy());
                   },
               .flops = flops_each<10>});

const Op& kClipByValue = define_op(
    "ClipByValue(t: T, clip_value_min: T, clip_value_max: T; T: real) -> (output: T)",
    {.doc = "`t`, but at least `clip_value_min` and at most `clip_value_max`, which broadcast to its shape. NaN stays.",
     .body =
         [](CompositeContext& c) {
           const PartialShape& shape = c.in(0).partial_shape();
           const Tensor clipped = minimum(maximum(c.in(0), c.in(1)), c.in(2));
           if (!clipped.partial_shape().compatible_with(shape)) {
             invalid(
                 "clip_value_min and clip_value_max: expected shapes that broadcast to that of t, {}, got {} and {}",
                 shape.to_string(), c.in(1).partial_shape().to_string(), c.in(2).partial_shape().to_string());
           }
           c.set_out(0, clipped);
         },
     .in_tensorflow = true});

}  // namespace panto
