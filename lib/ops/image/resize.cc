// Resizes images; and the gradients.
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

void expect_one_grid(const ShapeContext& c) {
  if (c.flag("align_corners") && c.flag("half_pixel_centers")) {
    invalid("align_corners: expected false where half_pixel_centers is true, got true");
  }
}

template <bool kHasCenters>
void resize_shape(ShapeContext& c) {
  if constexpr (kHasCenters) expect_one_grid(c);
  images::expect_pixels(c, 0, "images");
  c.output(images::resized(c.shape(0), images::size_from(c, 1, "size")));
}

// grads must have the batch and channels of original_image; only the size may differ.
void grad_like_image(ShapeContext& c) {
  expect_one_grid(c);
  images::expect_pixels(c, 0, "grads");
  images::expect_pixels(c, 1, "original_image");
  c.expect_equal(c.dim(0, 0), c.dim(1, 0), "number of images in grads and original_image");
  c.expect_equal(c.dim(0, 3), c.dim(1, 3), "channels of grads and original_image");
  c.output(c.shape(1).known_rank() ? c.shape(1) : PartialShape::of_rank(4));
}

void grad_of_size(ShapeContext& c) {
  expect_one_grid(c);
  images::expect_pixels(c, 0, "grads");
  c.output(images::resized(c.shape(0), images::size_from(c, 1, "size")));
}

// Height and width of a shape.
Tensor size_in(const Tensor& shape) { return slice(shape, {1}, {2}); }

template <class Options, class Context>
Options options(const Context& c) {
  return {.align_corners = c.flag("align_corners"), .half_pixel_centers = c.flag("half_pixel_centers")};
}

int64_t flops(const CostContext& c) { return 8 * c.out_numel(0); }

}  // namespace

const Op& kResizeBilinear = define_op(
    "ResizeBilinear(images: T, size: int32 @host; T: float16|bfloat16|float32|float64|int8|int16|int32|int64|uint8|"
    "uint16, align_corners: bool = false, half_pixel_centers: bool = false) -> (resized_images: float32)",
    {.doc =
         "Images [batch, height, width, channels] of the height and width `size`: each pixel a mean of the four that "
         "are nearest to its place in `images`, the nearer the heavier, computed in float32. Pixel i of n is at i * "
         "m / n of m; with `half_pixel_centers` at (i + 0.5) * m / n - 0.5; with `align_corners` at i * (m - 1) / (n "
         "- 1).",
     .shape = resize_shape<true>,
     .saves = {in(0)},
     .gradient =
         [](GradContext& g) { g.set(0, resize_bilinear_grad(g.dy(), g.in(0), options<ResizeBilinearGradAttrs>(g))); },
     .flops = flops,
     .batch = batching::rows,
     .jvp = tangents::linear});

const Op& kResizeBilinearGrad = define_op(
    "ResizeBilinearGrad(grads: float32, original_image: T; T: floating, align_corners: bool = false,"
    " half_pixel_centers: bool = false) -> (output: T)",
    {.doc = "The gradient of ResizeBilinear with respect to its images, which `original_image` has the shape of.",
     .shape = grad_like_image,
     .saves = {shape_of(0)},
     .gradient =
         [](GradContext& g) {
           if (g.needs(0)) g.set(0, resize_bilinear(g.dy(), size_in(g.shape(0)), options<ResizeBilinearAttrs>(g)));
         },
     .flops = flops,
     .batch = batching::rows,
     .jvp = tangents::linear_in<0>});

const Op& kResizeNearestNeighbor = define_op(
    "ResizeNearestNeighbor(images: T, size: int32 @host; T: float16|bfloat16|float32|float64|int8|int16|int32|int64|"
    "uint8|uint16, align_corners: bool = false, half_pixel_centers: bool = false) -> (resized_images: T)",
    {.doc =
         "Images [batch, height, width, channels] of the height and width `size`: each pixel is that of `images` at "
         "i * m / n rounded down, for pixel i of n and m in `images`; with `half_pixel_centers` at (i + 0.5) * m / n "
         "rounded down; with `align_corners` at i * (m - 1) / (n - 1) rounded to the nearest.",
     .traits = {Trait::kDataMovement},
     .shape = resize_shape<true>,
     .saves = {shape_of(0)},
     .gradient =
         [](GradContext& g) {
           g.set(0,
                 resize_nearest_neighbor_grad(g.dy(), size_in(g.shape(0)), options<ResizeNearestNeighborGradAttrs>(g)));
         },
     .batch = batching::rows,
     .jvp = tangents::linear});

const Op& kResizeNearestNeighborGrad = define_op(
    "ResizeNearestNeighborGrad(grads: T, size: int32 @host; T: float16|bfloat16|float32|float64|int8|int32|uint8,"
    " align_corners: bool = false, half_pixel_centers: bool = false) -> (output: T)",
    {.doc = "The gradient of ResizeNearestNeighbor with respect to its images, of the height and width `size`: the sum "
            "of `grads` over the pixels that each one became.",
     .shape = grad_of_size,
     .saves = {shape_of(0)},
     .gradient =
         [](GradContext& g) {
           g.set(0, resize_nearest_neighbor(g.dy(), size_in(g.shape(0)), options<ResizeNearestNeighborAttrs>(g)));
         },
     .flops = flops,
     .batch = batching::rows,
     .jvp = tangents::linear});

const Op& kResizeBicubic = define_op(
    "ResizeBicubic(images: T, size: int32 @host; T: float16|bfloat16|float32|float64|int8|int16|int32|int64|uint8|"
    "uint16, align_corners: bool = false, half_pixel_centers: bool = false) -> (resized_images: float32)",
    {.doc =
         "Images [batch, height, width, channels] of the height and width `size` by cubic convolution (Keys 1981) of "
         "the sixteen nearest pixels, computed in float32. Places are those of ResizeBilinear. With "
         "`half_pixel_centers` Keys' parameter is -0.5 and pixels outside have no weight; otherwise it is -0.75 and "
         "those at the edge stand for them.",
     .shape = resize_shape<true>,
     .saves = {in(0)},
     .gradient =
         [](GradContext& g) {
           const DType type = g.in(0).dtype();
           const Tensor like = type == kFloat64 ? g.in(0) : cast(g.in(0), kFloat32);
           g.set(0, cast(resize_bicubic_grad(g.dy(), like, options<ResizeBicubicGradAttrs>(g)), type));
         },
     .flops = [](const CostContext& c) { return 40 * c.out_numel(0); },
     .batch = batching::rows,
     .jvp = tangents::linear});

const Op& kResizeBicubicGrad = define_op(
    "ResizeBicubicGrad(grads: float32, original_image: T; T: float32|float64, align_corners: bool = false,"
    " half_pixel_centers: bool = false) -> (output: T)",
    {.doc = "The gradient of ResizeBicubic with respect to its images, which `original_image` has the shape of.",
     .shape = grad_like_image,
     .saves = {shape_of(0)},
     .gradient =
         [](GradContext& g) {
           if (g.needs(0)) g.set(0, resize_bicubic(g.dy(), size_in(g.shape(0)), options<ResizeBicubicAttrs>(g)));
         },
     .flops = [](const CostContext& c) { return 40 * c.numel(0); },
     .batch = batching::rows,
     .jvp = tangents::linear_in<0>});

const Op& kResizeArea = define_op(
    "ResizeArea(images: T, size: int32 @host; T: float16|bfloat16|float32|float64|int8|int16|int32|int64|uint8|uint16,"
    " align_corners: bool = false) -> (resized_images: float32)",
    {.doc =
         "Images [batch, height, width, channels] of the height and width `size`: each pixel is the mean of the area "
         "of `images` that it covers, computed in float32. With `align_corners` pixels are (m - 1) / (n - 1) high and "
         "wide instead of m / n, and the edge goes on outside.",
     .shape = resize_shape<false>,
     .no_gradient = "TensorFlow has none; ResizeBilinear has",
     .flops = [](const CostContext& c) { return 2 * c.numel(0) + c.out_numel(0); },
     .batch = batching::rows});

}  // namespace panto
