// Ops on quantized images [batch, height, width, channels]: convolution, pooling, normalization, resizing. Formulas as
// in quantize.cc.
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/core/op/op.h"
#include "panto/lib/ops/image/image_shapes.h"
#include "panto/lib/ops/nn/window.h"
#include "panto/lib/ops/quantized/rules.h"
#include "panto/ops/quantized.h"

namespace panto {
namespace {

using namespace quantized;  // NOLINT(google-build-using-namespace): of this file

void conv_shape(ShapeContext& c) {
  c.expect_rank(0, 4);
  c.expect_rank(1, 4);
  expect_numbers(c, 2, 6);
  const Convolution convolution = convolution_of(c, c.shape(0), c.shape(1));
  if (convolution.groups != 1) {
    invalid("channels of the input: expected the filter's {}, got {}", c.dim(1, 2), convolution.in_channels);
  }
  c.output(convolution.output());
  output_range(c);
}

void pool_shape(ShapeContext& c) {
  c.expect_rank(0, 4);
  expect_numbers(c, 1, 3);
  c.output(pooled_shape(pool_of(c, c.shape(0)), c.shape(0)));
  output_range(c);
}

void instance_norm_shape(ShapeContext& c) {
  c.expect_rank(0, 4);
  if (c.flag("output_range_given") && !(c.real("given_y_min") < c.real("given_y_max"))) {
    invalid("given_y_min: expected less than given_y_max, which is {}, got {}", c.real("given_y_max"),
            c.real("given_y_min"));
  }
  like_input(c);
}

// Inputs: five tensors, each with its range.
void batch_norm_shape(ShapeContext& c) {
  c.expect_rank(0, 4);
  int64_t channels = c.shape(0).known_rank() ? c.dim(0, 3) : kUnknownDim;
  for (int k = 0; k < 5; ++k) {
    expect_numbers(c, 3 * k + 1, 3 * k + 3);
    if (k > 0) channels = c.merge(channels, c.vector(3 * k), "number of channels");
  }
  const PartialShape& t = c.shape(0);
  c.output(t.known_rank() ? PartialShape{t.dim(0), t.dim(1), t.dim(2), channels}
                          : PartialShape{kUnknownDim, kUnknownDim, kUnknownDim, channels});
  output_range(c);
}

void resize_shape(ShapeContext& c) {
  if (c.flag("align_corners") && c.flag("half_pixel_centers")) {
    invalid("half_pixel_centers: expected false with align_corners, got true");
  }
  images::expect_pixels(c, 0, "images");
  expect_numbers(c, 2, 4);
  c.output(images::resized(c.shape(0), images::size_from(c, 1, "size")));
  output_range(c);
}

int64_t by_input(const CostContext& c) { return c.numel(0); }

}  // namespace

const Op& kQuantizedConv2D = define_op(
    "QuantizedConv2D(input: Tinput, filter: Tfilter, min_input: float32, max_input: float32, min_filter: float32,"
    " max_filter: float32; Tinput: quantized, Tfilter: quantized, out_type: quantized = qint32, strides: list(int),"
    " padding: {\"SAME\", \"VALID\"}, dilations: list(int) = [1, 1, 1, 1])"
    " -> (output: out_type, min_output: float32, max_output: float32)",
    {.doc = "The convolution of images [batch, height, width, in] with a filter [height, width, in, out], of integers "
            "of 8 bits, in sums of 32 bits: as QuantizedMatMul. Padding is 0.",
     .primary = "Tinput",
     .shape = conv_shape,
     .no_gradient = kNoGradient,
     .flops =
         [](const CostContext& c) {
           return convolution_flops(c.out_numel(0), c.numel(1), std::max<int64_t>(1, c.dim(1, 3)));
         },
     .types_reason = kEightBits,
     .batch = images_batch});

const Op& kQuantizedMaxPool = define_op(
    "QuantizedMaxPool(input: T, min_input: float32, max_input: float32; T: quantized, ksize: list(int),"
    " strides: list(int), padding: {\"SAME\", \"VALID\"})"
    " -> (output: T, min_output: float32, max_output: float32)",
    {.doc = "The largest integer of each window of `ksize` over the height and width of images, in the same range.",
     .shape = pool_shape,
     .no_gradient = kNoGradient,
     .flops = by_input,
     .batch = images_batch});

const Op& kQuantizedAvgPool = define_op(
    "QuantizedAvgPool(input: T, min_input: float32, max_input: float32; T: quantized, ksize: list(int),"
    " strides: list(int), padding: {\"SAME\", \"VALID\"})"
    " -> (output: T, min_output: float32, max_output: float32)",
    {.doc = "The mean of the integers of each window of `ksize` over the height and width of images, rounded towards "
            "the integer 0, in the same range; padding is not counted.",
     .shape = pool_shape,
     .no_gradient = kNoGradient,
     .flops = by_input,
     .batch = images_batch});

const Op& kQuantizedInstanceNorm = define_op(
    "QuantizedInstanceNorm(x: T, x_min: float32, x_max: float32; T: quantized, output_range_given: bool = false,"
    " given_y_min: float = 0, given_y_max: float = 0, variance_epsilon: float = 1e-05, min_separation: float = 0.001)"
    " -> (y: T, y_min: float32, y_max: float32)",
    {.doc = "Each channel of each image less its mean, divided by the root of its variance and `variance_epsilon`, in "
            "the range from `given_y_min` to `given_y_max` if `output_range_given`, else in that of the results, of "
            "at least `min_separation`. Errors: InvalidArgument where a range's end is not above its beginning.",
     .shape = instance_norm_shape,
     .no_gradient = kNoGradient,
     .flops = [](const CostContext& c) { return 10 * c.numel(0); },
     .batch = batching::loop});

const Op& kQuantizedBatchNormWithGlobalNormalization = define_op(
    "QuantizedBatchNormWithGlobalNormalization(t: Tinput, t_min: float32, t_max: float32, m: Tinput, m_min: float32,"
    " m_max: float32, v: Tinput, v_min: float32, v_max: float32, beta: Tinput, beta_min: float32, beta_max: float32,"
    " gamma: Tinput, gamma_min: float32, gamma_max: float32; Tinput: quantized, out_type: quantized,"
    " variance_epsilon: float, scale_after_normalization: bool)"
    " -> (result: out_type, result_min: float32, result_max: float32)",
    {.doc = "(t - m) / sqrt(v + variance_epsilon) * gamma + beta for each channel, without gamma where not "
            "`scale_after_normalization`, of integers of 8 bits as qint32 of the range from -2^20 to 2^20, in its "
            "steps of 2^-11.",
     .cpp = "quantized_batch_norm_with_global_normalization",
     .primary = "Tinput",
     .shape = batch_norm_shape,
     .no_gradient = kNoGradient,
     .flops = [](const CostContext& c) { return 8 * c.numel(0); },
     .types_reason = kEightBits,
     .batch = images_batch});

const Op& kQuantizedResizeBilinear = define_op(
    "QuantizedResizeBilinear(images: T, size: int32 @host, min: float32, max: float32; T: quint8|qint32|float32,"
    " align_corners: bool = false, half_pixel_centers: bool = false)"
    " -> (resized_images: T, out_min: float32, out_max: float32)",
    {.doc = "ResizeBilinear on integers, in the same range, with weights of 7 bits for quint8 and of 30 for qint32, "
            "whose elements are rounded to float32 before, as in TensorFlow; float32 is as in ResizeBilinear.",
     .shape = resize_shape,
     .no_gradient = kNoGradient,
     .flops = [](const CostContext& c) { return 8 * c.out_numel(0); },
     .batch = images_batch});

}  // namespace panto
