// Fake quantization for training networks that will be quantized (Jacob et al. 2017).
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/run_time_checks.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

// The two inputs from `first` on must be scalars or, with `channels`, vectors of `depth` elements.
void expect_range(const ShapeContext& c, int first, bool channels, int64_t depth) {
  for (int i = first; i < c.num_inputs() && i < first + 2; ++i) {
    c.expect_rank(i, channels ? 1 : 0);
    if (channels) c.expect_equal(depth, c.dim(i, 0), i == first ? "the length of min" : "the length of max");
  }
}

// Inputs 0 and 1, a gradient and a value, must have the same shape; returns it merged.
PartialShape one_shape(const ShapeContext& c) {
  if (!c.shape(0).compatible_with(c.shape(1))) {
    const auto& inputs = c.op().signature().inputs;
    invalid("{}: expected the shape {} of gradients, got {}", inputs[1].name, c.shape(0).to_string(),
            c.shape(1).to_string());
  }
  return c.shape(0).fully_known() ? c.shape(0) : c.shape(1);
}

// ---- FakeQuant: steps of equal size that include 0 -----------------------------------------------------------------

void expect_bits(const ShapeContext& c) {
  const int64_t bits = c.integer("num_bits");
  if (bits < 2 || bits > 16) invalid("num_bits: expected 2 to 16, got {}", bits);
}
void expect_bits_and_range(const ShapeContext& c) {
  expect_bits(c);
  if (!(c.real("min") < c.real("max"))) {
    invalid("min: expected less than max, which is {}, got {}", c.real("max"), c.real("min"));
  }
}

// Checks input `at`, [..., channels], and the inputs `min` and `max` after it.
void expect_fake_quant(const ShapeContext& c, int at, bool channels) {
  expect_bits(c);
  if (channels) c.expect_rank_at_least(at, 1);
  expect_range(c, at + 1, channels, channels ? c.dim(at, -1) : -1);
}
template <bool kChannels>
void fake_quant_shape(ShapeContext& c) {
  expect_fake_quant(c, 0, kChannels);
  c.output(c.shape(0));
}
template <bool kChannels>
void fake_quant_gradient_shape(ShapeContext& c) {
  expect_fake_quant(c, 1, kChannels);
  c.output(one_shape(c));
  c.output(1, kChannels ? PartialShape({c.dim(1, -1)}) : PartialShape(Shape{}));
  c.output(2, kChannels ? PartialShape({c.dim(1, -1)}) : PartialShape(Shape{}));
}

// Straight-through derivative, as in TensorFlow (the true derivative of steps is 0): `inside` where x is in the range,
// `below` and `above` where it is outside, which belong to the range's ends. Undefined tensors count as zero. The range
// is shifted so that 0 is one of its steps, computed in float32 and in the order of the kernels.
template <class Context>
Tensor through(const Context& c, const Tensor& x, const Tensor& min, const Tensor& max, const Tensor& inside,
               const Tensor& below, const Tensor& above) {
  const float first = c.flag("narrow_range") ? 1 : 0, last = static_cast<float>((1 << c.integer("num_bits")) - 1);
  const Tensor size = (max - min) / (last - first), zero = first - min / size;
  const Tensor nearest = floor(zero) + cast(zero - floor(zero) >= 0.5F, kFloat32);
  const Tensor at = minimum(maximum(nearest, first), last);
  const Tensor low = (first - at) * size, high = (last - at) * size;
  Tensor sum;
  const auto add = [&](const Tensor& where, const Tensor& what) {
    if (what.defined()) sum = add_tangents(sum, select(where, what, zeros_like(x)));
  };
  add(logical_or(logical_and(min == 0, max == 0), logical_and(x >= low, x <= high)), inside);
  add(x < low, below);
  add(x > high, above);
  return sum;
}

void fake_quant_tangent(JvpContext& c) {
  const Tensor sum = through(c, c.in(0), c.in(1), c.in(2), c.tangent(0), c.tangent(1), c.tangent(2));
  if (sum.defined()) c.set(0, sum);
}
// The gradient with respect to `gradients`, in which the op is linear.
void fake_quant_second_order(GradContext& g) {
  const Tensor sum = through(g, g.in(1), g.in(2), g.in(3), g.dy(0), g.dy(1), g.dy(2));
  if (sum.defined()) g.set(0, sum);
}

// If the range is the same for all examples, a batch is computed like one input.
template <class Attrs, Tensor (*kOp)(Arg, Arg, Arg, const Attrs&)>
void fake_quant_batch(BatchContext& c) {
  if (c.batched(1) || c.batched(2)) {
    c.loop();
  } else {
    c.set_out(
        0, kOp(c.in(0), c.in(1), c.in(2), {.num_bits = c.integer("num_bits"), .narrow_range = c.flag("narrow_range")}));
  }
}

template <class Attrs, class Context>
Attrs fixed_attrs(const Context& c) {
  return {.min = c.real("min"),
          .max = c.real("max"),
          .num_bits = c.integer("num_bits"),
          .narrow_range = c.flag("narrow_range")};
}
void fixed_tangent(JvpContext& c) {
  if (!c.has_tangent(0)) return;
  c.set(0, fake_quant_with_min_max_args_gradient(c.tangent(0), c.in(0),
                                                 fixed_attrs<FakeQuantWithMinMaxArgsGradientAttrs>(c)));
}

// ---- QuantizeAndDequantize: steps around 0 ------------------------------------------------------------------------

void quantize_shape(ShapeContext& c) {
  const int64_t axis = c.integer("axis");
  if (axis < -1) invalid("axis: expected at least -1, got {}", axis);
  if (axis >= 0) c.expect_rank_at_least(0, static_cast<int>(std::min<int64_t>(axis, kMaxRank)) + 1);
  expect_range(c, 1, axis >= 0, axis >= 0 && c.shape(0).known_rank() ? c.dim(0, static_cast<int>(axis)) : -1);
  c.output(c.shape(0));
}

// Fewer than 63 bits, one of which is for a sign.
void quantize_bits_shape(ShapeContext& c) {
  const int64_t bits = c.integer("num_bits"), most = c.flag("signed_input") ? 61 : 62;
  if (bits < 1 || bits > most) invalid("num_bits: expected 1 to {}, got {}", most, bits);
  quantize_shape(c);
}

// Straight-through gradient: as if the op were the identity.
void pass_on(GradContext& g) { g.set(0, g.dy()); }
void pass_on_tangent(JvpContext& c) {
  if (c.has_tangent(0)) c.set(0, c.tangent(0));
}

}  // namespace

const Op& kFakeQuantWithMinMaxArgs = define_op(
    "FakeQuantWithMinMaxArgs(inputs: float32; min: float = -6, max: float = 6, num_bits: int = 8,"
    " narrow_range: bool = false) -> (outputs: float32)",
    {.doc =
         "`inputs` at the nearest of 2^num_bits steps from `min` to `max` (one fewer with `narrow_range`), which are "
         "moved so that 0 is one of them; what is outside is at the ends. num_bits is 2 to 16. Its gradient passes "
         "where `inputs` is inside.",
     .shape =
         [](ShapeContext& c) {
           expect_bits_and_range(c);
           c.output(c.shape(0));
         },
     .saves = {in(0)},
     .gradient =
         [](GradContext& g) {
           g.set(0, fake_quant_with_min_max_args_gradient(g.dy(), g.in(0),
                                                          fixed_attrs<FakeQuantWithMinMaxArgsGradientAttrs>(g)));
         },
     .batch = batching::elementwise,
     .jvp = fixed_tangent});

const Op& kFakeQuantWithMinMaxArgsGradient = define_op(
    "FakeQuantWithMinMaxArgsGradient(gradients: float32, inputs: float32; min: float = -6, max: float = 6,"
    " num_bits: int = 8, narrow_range: bool = false) -> (backprops: float32)",
    {.doc = "`gradients` where `inputs` is inside the range of FakeQuantWithMinMaxArgs, 0 elsewhere.",
     .shape =
         [](ShapeContext& c) {
           expect_bits_and_range(c);
           c.output(one_shape(c));
         },
     .saves = {in(1)},
     .gradient =
         [](GradContext& g) {
           g.set(0, fake_quant_with_min_max_args_gradient(g.dy(), g.in(1),
                                                          fixed_attrs<FakeQuantWithMinMaxArgsGradientAttrs>(g)));
         },
     .batch = batching::trailing,
     .jvp = tangents::linear_in<0>});

const Op& kFakeQuantWithMinMaxVars = define_op(
    "FakeQuantWithMinMaxVars(inputs: float32, min: float32, max: float32; num_bits: int = 8,"
    " narrow_range: bool = false) -> (outputs: float32)",
    {.doc =
         "FakeQuantWithMinMaxArgs with a range that is learned: `min` and `max` are numbers (rank 0), whose gradients "
         "are the sums of those of the inputs outside. A range from 0 to 0 gives zeros.",
     .shape = fake_quant_shape<false>,
     .saves = {in(0), in(1), in(2)},
     .gradient =
         [](GradContext& g) {
           const auto back = fake_quant_with_min_max_vars_gradient(
               g.dy(), g.in(0), g.in(1), g.in(2),
               {.num_bits = g.integer("num_bits"), .narrow_range = g.flag("narrow_range")});
           g.set(0, back.backprops_wrt_input);
           g.set(1, back.backprop_wrt_min);
           g.set(2, back.backprop_wrt_max);
         },
     .batch = fake_quant_batch<FakeQuantWithMinMaxVarsAttrs, fake_quant_with_min_max_vars>,
     .jvp = fake_quant_tangent});

const Op& kFakeQuantWithMinMaxVarsGradient = define_op(
    "FakeQuantWithMinMaxVarsGradient(gradients: float32, inputs: float32, min: float32, max: float32;"
    " num_bits: int = 8, narrow_range: bool = false)"
    " -> (backprops_wrt_input: float32, backprop_wrt_min: float32, backprop_wrt_max: float32)",
    {.doc = "The gradients of FakeQuantWithMinMaxVars by its inputs, `min` and `max`.",
     .shape = fake_quant_gradient_shape<false>,
     .saves = {in(1), in(2), in(3)},
     .gradient = fake_quant_second_order,
     .batch = batching::loop,
     .jvp = tangents::linear_in<0>});

const Op& kFakeQuantWithMinMaxVarsPerChannel = define_op(
    "FakeQuantWithMinMaxVarsPerChannel(inputs: float32, min: float32, max: float32; num_bits: int = 8,"
    " narrow_range: bool = false) -> (outputs: float32)",
    {.doc = "FakeQuantWithMinMaxVars with a range for each index of the last dimension: `min` and `max` are vectors.",
     .shape = fake_quant_shape<true>,
     .saves = {in(0), in(1), in(2)},
     .gradient =
         [](GradContext& g) {
           const auto back = fake_quant_with_min_max_vars_per_channel_gradient(
               g.dy(), g.in(0), g.in(1), g.in(2),
               {.num_bits = g.integer("num_bits"), .narrow_range = g.flag("narrow_range")});
           g.set(0, back.backprops_wrt_input);
           g.set(1, back.backprop_wrt_min);
           g.set(2, back.backprop_wrt_max);
         },
     .batch = fake_quant_batch<FakeQuantWithMinMaxVarsPerChannelAttrs, fake_quant_with_min_max_vars_per_channel>,
     .jvp = fake_quant_tangent});

const Op& kFakeQuantWithMinMaxVarsPerChannelGradient = define_op(
    "FakeQuantWithMinMaxVarsPerChannelGradient(gradients: float32, inputs: float32, min: float32, max: float32;"
    " num_bits: int = 8, narrow_range: bool = false)"
    " -> (backprops_wrt_input: float32, backprop_wrt_min: float32, backprop_wrt_max: float32)",
    {.doc = "The gradients of FakeQuantWithMinMaxVarsPerChannel by its inputs, `min` and `max`.",
     .shape = fake_quant_gradient_shape<true>,
     .saves = {in(1), in(2), in(3)},
     .gradient = fake_quant_second_order,
     .batch = batching::loop,
     .jvp = tangents::linear_in<0>});

const Op& kQuantizeAndDequantizeV2 = define_op(
    "QuantizeAndDequantizeV2(input: T, input_min: T, input_max: T; signed_input: bool = true, num_bits: int = 8,"
    " range_given: bool = false, T: floating, round_mode: {\"HALF_TO_EVEN\", \"HALF_UP\"} = \"HALF_TO_EVEN\", "
    "narrow_range: bool = false,"
    " axis: int = -1) -> (output: T)",
    {.doc = "As QuantizeAndDequantizeV4, with a gradient that passes everywhere.",
     .cpp = "quantize_and_dequantize_straight",
     .shape = quantize_bits_shape,
     .gradient = pass_on,
     .batch = batching::loop,
     .jvp = pass_on_tangent});

const Op& kQuantizeAndDequantizeV3 = define_op(
    "QuantizeAndDequantizeV3(input: T, input_min: T, input_max: T, num_bits: int32; signed_input: bool = true,"
    " range_given: bool = true, T: floating, narrow_range: bool = false, axis: int = -1) -> (output: T)",
    {.doc = "As QuantizeAndDequantizeV2, with `num_bits`, a number (rank 0), known only when it runs.",
     .cpp = "quantize_and_dequantize_bits",
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(3);
           quantize_shape(c);
         },
     .gradient = pass_on,
     .batch = batching::loop,
     .jvp = pass_on_tangent});

const Op& kQuantizeAndDequantizeV4 = define_op(
    "QuantizeAndDequantizeV4(input: T, input_min: T, input_max: T; signed_input: bool = true, num_bits: int = 8,"
    " range_given: bool = false, T: floating, round_mode: {\"HALF_TO_EVEN\", \"HALF_UP\"} = \"HALF_TO_EVEN\", "
    "narrow_range: bool = false,"
    " axis: int = -1) -> (output: T)",
    {.doc =
         "`input` as integers of `num_bits` bits would keep it: round(x * scale) / scale, where scale is the largest "
         "for which the range fits the integers, from -2^(num_bits-1) (one more with `narrow_range`), or from 0 "
         "without `signed_input`. The range is from `input_min` to `input_max` if `range_given`, and what is outside "
         "is at its ends; else that of `input`. With `axis` of at least 0 there is a range for each index of that "
         "dimension, and `input_min` and `input_max` are vectors, else numbers. `round_mode` is HALF_TO_EVEN or "
         "HALF_UP. The gradient passes where `input` is from `input_min` to `input_max`.",
     .cpp = "quantize_and_dequantize",
     .shape = quantize_bits_shape,
     .saves = {in(0), in(1), in(2)},
     .gradient =
         [](GradContext& g) {
           const auto back =
               quantize_and_dequantize_grad(g.dy(), g.in(0), g.in(1), g.in(2), {.axis = g.integer("axis")});
           g.set(0, back.input_backprop);
           g.set(1, back.input_min_backprop);
           g.set(2, back.input_max_backprop);
         },
     .batch = batching::loop,
     .jvp =
         [](JvpContext& c) {
           if (!c.has_tangent(0)) return;
           c.set(0, quantize_and_dequantize_grad(c.tangent(0), c.in(0), c.in(1), c.in(2), {.axis = c.integer("axis")})
                        .input_backprop);
         }});

const Op& kQuantizeAndDequantizeV4Grad = define_op(
    "QuantizeAndDequantizeV4Grad(gradients: T, input: T, input_min: T, input_max: T; T: floating, axis: int = -1)"
    " -> (input_backprop: T, input_min_backprop: T, input_max_backprop: T)",
    {.doc =
         "`gradients` where `input` is from `input_min` to `input_max`, 0 elsewhere; and zeros, the gradients by the "
         "range.",
     .cpp = "quantize_and_dequantize_grad",
     .body =
         [](CompositeContext& c) {
           const Tensor x = stop_gradient(c.in(1));
           const Tensor dy = with_shape_of(c.in(0), x);
           const int64_t axis = c.integer("axis");
           const auto end = [&](const Tensor& given) {
             if (axis < 0) return reshape(given, Shape{});
             // [n, 1, 1 ...] broadcasts against the input.
             const int32_t at = static_cast<int32_t>(axis);
             const Tensor ones = fill(reshape(rank(x) - (at + 1), {1}), 1);
             return reshape(given, concat({slice(shape(x), {axis}, {1}), ones}, 0));
           };
           const Tensor min = end(c.in(2)), max = end(c.in(3));
           c.set_out(0, select(logical_and(x >= min, x <= max), dy, zeros_like(dy)));
           c.set_out(1, zeros_like(c.in(2)));
           c.set_out(2, zeros_like(c.in(3)));
         },
     .in_tensorflow = true});

}  // namespace panto
