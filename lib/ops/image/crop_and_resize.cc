// Crops boxes from images and resizes each to the same size; and the gradients.
#include <string>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/op/gradient.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/image/image_shapes.h"
#include "panto/lib/ops/tangents.h"
#include "panto/ops/array.h"
#include "panto/ops/image.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

// Checks input i, boxes, and input i + 1, the numbers of their images; returns the number of boxes.
int64_t boxes_of(const ShapeContext& c, int i) {
  c.expect_rank(i, 2);
  c.expect_equal(4, c.dim(i, 1), "dimension 1 of boxes");
  return c.merge(c.dim(i, 0), c.vector(i + 1), "number of boxes in boxes and box_ind");
}

void crop_shape(ShapeContext& c) {
  images::expect_pixels(c, 0, "image");
  const int64_t boxes = boxes_of(c, 1);
  const images::Size size = images::size_from(c, 3, "crop_size");
  c.output({boxes, size.height, size.width, images::dim_of(c.shape(0), 3)});
}

void grad_image_shape(ShapeContext& c) {
  images::expect_pixels(c, 0, "grads");
  c.expect_equal(c.dim(0, 0), boxes_of(c, 1), "number of boxes in grads and boxes");
  const int64_t count = c.vector(3);
  if (count >= 0 && count != 4) invalid("image_size: expected 4 numbers, got {}", count);
  const PartialShape size = c.shape_from(3);
  for (const int k : {1, 2}) {
    if (images::dim_of(size, k) == 0) {
      invalid("image_size: expected a height and width of at least 1, got {}", size.to_string());
    }
  }
  c.expect_equal(c.dim(0, 3), images::dim_of(size, 3), "channels of grads and image_size");
  c.output(size.known_rank() ? size : PartialShape::of_rank(4));
}

void grad_boxes_shape(ShapeContext& c) {
  images::expect_pixels(c, 0, "grads");
  images::expect_pixels(c, 1, "image");
  const int64_t boxes = c.merge(c.dim(0, 0), boxes_of(c, 2), "number of boxes in grads and boxes");
  c.expect_equal(c.dim(0, 3), c.dim(1, 3), "channels of grads and image");
  c.output({boxes, 4});
}

std::string method_of(const GradContext& g) { return std::string(g.text("method")); }

void gradient_of_crop(GradContext& g) {
  // The gradient op takes float16, float32 and float64. Other image types are integers, which have no gradient.
  if (g.needs(0)) {
    g.set(0,
          crop_and_resize_grad_image(g.dy(), g.in(1), g.in(2), g.shape(0), g.in(0).dtype(), {.method = method_of(g)}));
  }
  // The nearest pixel stays the same when a box moves a little.
  if (g.needs(1) && method_of(g) == "bilinear") {
    g.set(1, crop_and_resize_grad_boxes(g.dy(), g.in(0), g.in(1), g.in(2)));
  }
}

// There is no op for tangents of boxes.
void crop_tangent(JvpContext& c) {
  if (c.has_tangent(1) && c.text("method") == "bilinear") {
    fail(Code::kUnimplemented, "jvp of CropAndResize: expected tangents of images only, got one of boxes");
  }
  if (!c.has_tangent(0)) return;
  c.set(0, crop_and_resize(c.tangent(0), c.in(1), c.in(2), c.in(3), {.method = std::string(c.text("method"))}));
}

}  // namespace

const Op& kCropAndResize = define_op(
    "CropAndResize(image: T, boxes: float32, box_ind: int32, crop_size: int32 @host;"
    " T: float16|float32|float64|int8|int16|int32|int64|uint8|uint16, method: {\"bilinear\", \"nearest\"} = "
    "\"bilinear\","
    " extrapolation_value: float = 0) -> (crops: float32)",
    {.doc = "Boxes cut out of the images [batch, height, width, channels] and resized to `crop_size`: [boxes, crop "
            "height, crop width, channels]. A row of `boxes` is y1, x1, y2, x2, of which 0 is the first row or column "
            "and 1 the last; `box_ind` says which image it is cut from. What is outside is `extrapolation_value`.",
     .shape = crop_shape,
     .saves = {in(0), in(1), in(2)},
     .gradient = gradient_of_crop,
     .flops = [](const CostContext& c) { return 8 * c.out_numel(0); },
     .batch = batching::loop,
     .jvp = crop_tangent});

const Op& kCropAndResizeGradImage = define_op(
    "CropAndResizeGradImage(grads: float32, boxes: float32, box_ind: int32, image_size: int32 @host;"
    " T: float16|float32|float64, method: {\"bilinear\", \"nearest\"} = \"bilinear\") -> (output: T)",
    {.doc = "The gradient of CropAndResize with respect to its images, whose shape is `image_size`.",
     .shape = grad_image_shape,
     .saves = {in(0), in(1), in(2)},
     .gradient =
         [](GradContext& g) {
           if (g.needs(0)) {
             const Tensor size = slice(shape(g.in(0)), {1}, {2});
             g.set(0, crop_and_resize(g.dy(), g.in(1), g.in(2), size, {.method = method_of(g)}));
           }
           if (g.needs(1) && method_of(g) == "bilinear") {
             g.set(1, crop_and_resize_grad_boxes(g.in(0), g.dy(), g.in(1), g.in(2)));
           }
         },
     .flops = [](const CostContext& c) { return 8 * c.numel(0); },
     .batch = batching::loop,
     .jvp =
         [](JvpContext& c) {
           if (c.has_tangent(1) && c.text("method") == "bilinear") {
             fail(Code::kUnimplemented, "jvp of CropAndResizeGradImage: expected no tangent of boxes, got one");
           }
           tangents::linear_by(c, 0);
         }});

const Op& kCropAndResizeGradBoxes = define_op(
    "CropAndResizeGradBoxes(grads: float32, image: T, boxes: float32, box_ind: int32;"
    " T: float16|float32|float64|int8|int16|int32|int64|uint8|uint16, method: {\"bilinear\"} = \"bilinear\")"
    " -> (output: float32)",
    {.doc = "The gradient of CropAndResize with respect to its boxes: [boxes, 4].",
     .shape = grad_boxes_shape,
     .no_gradient = "TensorFlow has none, and no op gives the derivative by boxes",
     .flops = [](const CostContext& c) { return 16 * c.numel(0); },
     .batch = batching::loop});

}  // namespace panto
