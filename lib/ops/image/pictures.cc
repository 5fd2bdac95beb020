// Draws boxes on images, and applies projective transforms.
#include <optional>
#include <string>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/image/image_shapes.h"
#include "panto/ops/image.h"

namespace panto {
namespace {

void drawn_shape(ShapeContext& c) {
  images::expect_pixels(c, 0, "images");
  const int64_t channels = c.dim(0, 3);
  if (channels != kUnknownDim && channels != 1 && channels != 3 && channels != 4) {
    invalid("channels of images: expected 1, 3 or 4, got {}", channels);
  }
  c.expect_rank(1, 3);
  c.expect_equal(c.dim(0, 0), c.dim(1, 0), "number of images in images and boxes");
  c.expect_equal(4, c.dim(1, 2), "dimension 2 of boxes");
  if (c.num_inputs() == 3) {
    c.expect_rank(2, 2);
    const int64_t in_colors = c.dim(2, 1);
    if (in_colors != kUnknownDim && channels != kUnknownDim && in_colors < channels) {
      invalid("dimension 1 of colors: expected at least the channels of images, {}, got {}", channels, in_colors);
    }
  }
  shapes::same_as_input(c);
}

void transformed_shape(ShapeContext& c) {
  images::expect_pixels(c, 0, "images");
  const std::string_view interpolation = c.text("interpolation");
  if (interpolation != "NEAREST" && interpolation != "BILINEAR") {
    invalid("interpolation: expected NEAREST or BILINEAR, got '{}'", printable(interpolation));
  }
  const std::string_view mode = c.text("fill_mode");
  if (mode != "CONSTANT" && mode != "REFLECT" && mode != "WRAP" && mode != "NEAREST") {
    invalid("fill_mode: expected CONSTANT, REFLECT, WRAP or NEAREST, got '{}'", printable(mode));
  }
  c.expect_rank(1, 2);
  c.expect_equal(8, c.dim(1, 1), "dimension 1 of transforms");
  const int64_t count = c.dim(1, 0), images = c.dim(0, 0);
  if (count != kUnknownDim && count != 1 && images != kUnknownDim && count != images) {
    invalid("transforms: expected one or one for each of {} images, got {}", images, count);
  }
  if (c.num_inputs() == 4) c.expect_scalar(3);
  c.output(images::resized(c.shape(0), images::size_from(c, 2, "output_shape")));
}

}  // namespace

const Op& kDrawBoundingBoxes = define_op(
    "DrawBoundingBoxes(images: T, boxes: float32; T: float16|float32 = float32) -> (output: T)",
    {.doc = "The images [batch, height, width, channels] of 1, 3 or 4 channels with the outlines of `boxes` [batch, "
            "boxes, 4], whose numbers are y1, x1, y2, x2 from 0 to 1. Ten colours take turns; grey images get white.",
     .cpp = "draw_bounding_boxes_v1",
     .shape = drawn_shape,
     .no_gradient = "TensorFlow has none",
     .batch = batching::loop});

const Op& kDrawBoundingBoxesV2 = define_op(
    "DrawBoundingBoxesV2(images: T, boxes: float32, colors: float32; T: float16|float32 = float32) -> (output: T)",
    {.doc = "DrawBoundingBoxes in turn with these colours, [colors, 1 to 4]; without any, with its own.",
     .shape = drawn_shape,
     .no_gradient = "TensorFlow has none",
     .batch = batching::loop});

const Op& kImageProjectiveTransformV2 = define_op(
    "ImageProjectiveTransformV2(images: dtype, transforms: float32, output_shape: int32 @host;"
    " dtype: uint8|int32|int64|float16|bfloat16|float32|float64, interpolation: string,"
    " fill_mode: string = \"CONSTANT\") -> (transformed_images: dtype)",
    {.doc = "ImageProjectiveTransformV3 with zeros outside of the image.",
     .cpp = "image_projective_transform_v2",
     .shape = transformed_shape,
     .no_gradient = "TensorFlow's own is an approximation",
     .batch = batching::loop});

const Op& kImageProjectiveTransformV3 = define_op(
    "ImageProjectiveTransformV3(images: dtype, transforms: float32, output_shape: int32 @host, fill_value: float32;"
    " dtype: uint8|int32|int64|float16|bfloat16|float32|float64, interpolation: string,"
    " fill_mode: string = \"CONSTANT\") -> (transformed_images: dtype)",
    {.doc =
         "Images [batch, height, width, channels] as `transforms` [batch or 1, 8] see them: pixel (x, y) of the "
         "output is the one at ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k) of the image, with k = c0 x + c1 y + "
         "1; rows are a0, a1, a2, b0, b1, b2, c0, c1. `interpolation`: NEAREST or BILINEAR. `fill_mode`, for places "
         "outside: CONSTANT (`fill_value`), REFLECT, WRAP or NEAREST (the edge).",
     .cpp = "image_projective_transform",
     .shape = transformed_shape,
     .no_gradient = "TensorFlow's own is an approximation",
     .batch = batching::loop});

}  // namespace panto
