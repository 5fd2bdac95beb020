// Quantization, dequantization and requantization.
//
// The formulas match TensorFlow's CPU kernels to the bit (tensorflow/core/kernels/quantization_utils.h and the kernels
// of these ops).
#include <algorithm>
#include <string>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/quantized/rules.h"
#include "panto/ops/array.h"
#include "panto/ops/quantized.h"

namespace panto {
namespace quantized {

void elements_batch(BatchContext& c) {
  if (any_batched(c, 1, c.num_inputs()) || c.size() < 0) return c.loop();
  std::vector<Tensor> inputs;
  for (int i = 0; i < c.num_inputs(); ++i) inputs.push_back(c.in(i));
  SmallVector<Tensor, 2> outputs = c.again(inputs);
  c.set_out(0, outputs[0]);
  for (int k = 1; k < static_cast<int>(outputs.size()); ++k) c.set_common(k, outputs[static_cast<size_t>(k)]);
}

void images_batch(BatchContext& c) {
  if (any_batched(c, 1, c.num_inputs()) || c.size() < 0) return c.loop();
  std::vector<Tensor> inputs = {merge_front(c.in(0))};
  for (int i = 1; i < c.num_inputs(); ++i) inputs.push_back(c.in(i));
  SmallVector<Tensor, 2> outputs = c.again(inputs);
  c.set_out(0, split_front(outputs[0], c.size(), c.shape(0).known_rank() ? c.shape(0).dim(0) : kUnknownDim));
  for (int k = 1; k < static_cast<int>(outputs.size()); ++k) c.set_common(k, outputs[static_cast<size_t>(k)]);
}

}  // namespace quantized

namespace {

using namespace quantized;  // NOLINT(google-build-using-namespace): of this file

// The shape of the range's ends: a scalar, or one element per index of dimension `axis`.
PartialShape range_shape(const ShapeContext& c) {
  const int64_t axis = c.integer("axis");
  if (axis < -1) invalid("axis: expected at least -1, got {}", axis);
  if (axis < 0) {
    expect_numbers(c, 1, 3);
    return PartialShape(Shape{});
  }
  c.expect_rank_at_least(0, static_cast<int>(std::min<int64_t>(axis, kMaxRank)) + 1);
  if (c.text("mode") == "MIN_FIRST") {
    failf(Code::kUnimplemented, "mode: expected MIN_COMBINED or SCALED with axis, got MIN_FIRST");
  }
  int64_t depth = c.shape(0).known_rank() ? c.dim(0, static_cast<int>(axis)) : kUnknownDim;
  depth = c.merge(depth, c.vector(1), "length of min_range");
  depth = c.merge(depth, c.vector(2), "length of max_range");
  return PartialShape{depth};
}

void quantize_shape(ShapeContext& c) {
  if (c.text("round_mode") == "HALF_TO_EVEN" && c.text("mode") != "SCALED") {
    invalid("round_mode: expected HALF_AWAY_FROM_ZERO with mode {}, got HALF_TO_EVEN", c.text("mode"));
  }
  const PartialShape range = range_shape(c);
  c.output(c.shape(0));
  c.output(1, range);
  c.output(2, range);
}

void dequantize_shape(ShapeContext& c) {
  if (c.type("dtype") == kBFloat16 && c.text("mode") != "MIN_COMBINED") {
    invalid("mode: expected MIN_COMBINED for bfloat16, got {}", c.text("mode"));
  }
  range_shape(c);
  c.output(c.shape(0));
}

// With ranges per index, the batch's dimension would shift `axis`.
void axis_batch(BatchContext& c) { c.integer("axis") >= 0 ? c.loop() : elements_batch(c); }

constexpr const char* kFromSums = "kernels are for 32 bits, which sums of products have";

}  // namespace

const Op& kQuantizeV2 = define_op(
    "QuantizeV2(input: float32, min_range: float32, max_range: float32; T: quantized,"
    " mode: {\"MIN_COMBINED\", \"MIN_FIRST\", \"SCALED\"} = \"MIN_COMBINED\","
    " round_mode: {\"HALF_AWAY_FROM_ZERO\", \"HALF_TO_EVEN\"} = \"HALF_AWAY_FROM_ZERO\", narrow_range: bool = false,"
    " axis: int = -1, ensure_minimum_range: float = 0.01)"
    " -> (output: T, output_min: float32, output_max: float32)",
    {.doc =
         "Numbers as integers of type T, and the range that these stand for. The range is widened to have 0 in it, and "
         "to `ensure_minimum_range` times the largest of its ends and 1; what is outside is at its ends. MIN_COMBINED: "
         "the lowest and the highest integer stand for the ends. MIN_FIRST: the same, moved so that 0 is a step. "
         "SCALED: 0 is the integer 0, and the range is that of the integers times one step (from one more than the "
         "lowest with `narrow_range`); only here `round_mode` may be HALF_TO_EVEN. With `axis` of at least 0 there is "
         "a range for each index of that dimension, and the ends are vectors, else numbers. Errors: InvalidArgument "
         "where max_range is less than min_range, Unimplemented for MIN_FIRST with axis.",
     .shape = quantize_shape,
     .no_gradient = kNoGradient,
     .flops = [](const CostContext& c) { return 6 * c.numel(0); },
     .batch = axis_batch});

const Op& kDequantize = define_op(
    "Dequantize(input: T, min_range: float32, max_range: float32; T: quantized,"
    " mode: {\"MIN_COMBINED\", \"MIN_FIRST\", \"SCALED\"} = \"MIN_COMBINED\", narrow_range: bool = false,"
    " axis: int = -1, dtype: bfloat16|float32 = float32) -> (output: dtype)",
    {.doc = "The numbers that integers stand for, of what QuantizeV2 gave with the same `mode`, `narrow_range` and "
            "`axis`; the range is the one that it gave. bfloat16 is for MIN_COMBINED only. Errors: Unimplemented for "
            "MIN_FIRST with axis.",
     .primary = "T",
     .shape = dequantize_shape,
     .no_gradient = kNoGradient,
     .flops = [](const CostContext& c) { return 3 * c.numel(0); },
     .batch = axis_batch});

const Op& kRequantize = define_op(
    "Requantize(input: Tinput, input_min: float32, input_max: float32, requested_output_min: float32,"
    " requested_output_max: float32; Tinput: quantized, out_type: quantized)"
    " -> (output: out_type, output_min: float32, output_max: float32)",
    {.doc = "Integers of the range from `input_min` to `input_max` as integers of 8 bits of the requested range, by "
            "MIN_FIRST of QuantizeV2. Errors: InvalidArgument where requested_output_min is above 0, or above "
            "requested_output_max; Unimplemented for other types than qint32, and quint8 or qint8.",
     .primary = "Tinput",
     .shape = like_input,
     .no_gradient = kNoGradient,
     .flops = [](const CostContext& c) { return 6 * c.numel(0); },
     .types_reason = kFromSums,
     .batch = elements_batch});

const Op& kRequantizePerChannel = define_op(
    "RequantizePerChannel(input: T, input_min: float32, input_max: float32, requested_output_min: float32,"
    " requested_output_max: float32; T: quantized = qint32, out_type: quantized = quint8)"
    " -> (output: out_type, output_min: float32, output_max: float32)",
    {.doc = "Integers of images [batch, height, width, channels], of a range for each channel, as integers of 8 bits "
            "of the one that is requested: `input_min` and `input_max` are vectors. All ranges are taken to be "
            "symmetric, up to the larger of both ends, so that 0 stays 0; halves are rounded to even, and what is "
            "outside is at the ends. Errors: InvalidArgument for qint8 where requested_output_min is not below 0; "
            "Unimplemented for other types than qint32, and quint8 or qint8.",
     .primary = "T",
     .shape =
         [](ShapeContext& c) {
           c.expect_rank(0, 4);
           int64_t channels = c.shape(0).known_rank() ? c.dim(0, 3) : kUnknownDim;
           channels = c.merge(channels, c.vector(1), "length of input_min");
           c.merge(channels, c.vector(2), "length of input_max");
           expect_numbers(c, 3, 5);
           c.output(c.shape(0));
           output_range(c);
         },
     .no_gradient = kNoGradient,
     .flops = [](const CostContext& c) { return 2 * c.numel(0); },
     .types_reason = kFromSums,
     .batch = images_batch});

const Op& kRequantizationRange = define_op(
    "RequantizationRange(input: Tinput, input_min: float32, input_max: float32; Tinput: quantized)"
    " -> (output_min: float32, output_max: float32)",
    {.doc = "The numbers that the least (at most 0) and the largest of these integers stand for: the range to ask "
            "Requantize for. Of no integers it is from 0 to 0.",
     .shape =
         [](ShapeContext& c) {
           expect_numbers(c, 1, 3);
           c.output(0, PartialShape(Shape{}));
           c.output(1, PartialShape(Shape{}));
         },
     .no_gradient = kNoGradient,
     .flops = [](const CostContext& c) { return 2 * c.numel(0); },
     .types_reason = kFromSums,
     .batch = batching::loop});

const Op& kQuantizeDownAndShrinkRange = define_op(
    "QuantizeDownAndShrinkRange(input: Tinput, input_min: float32, input_max: float32; Tinput: quantized,"
    " out_type: quantized) -> (output: out_type, output_min: float32, output_max: float32)",
    {.doc = "Requantize to the range of RequantizationRange. Errors: Unimplemented for other types than qint32 and "
            "quint8.",
     .primary = "Tinput",
     .shape = like_input,
     .no_gradient = kNoGradient,
     .flops = [](const CostContext& c) { return 8 * c.numel(0); },
     .types_reason = kFromSums,
     .batch = batching::loop});

}  // namespace panto
