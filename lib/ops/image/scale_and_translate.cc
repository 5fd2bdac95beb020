// Resizes images with a filter kernel that may be scaled to the size of the input region of a pixel (antialiasing).
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

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

void expect_form(const ShapeContext& c, int scale) {
  constexpr std::array<std::string_view, 8> kKernels = {"lanczos1", "lanczos3",  "lanczos5", "gaussian",
                                                        "box",      "keyscubic", "triangle", "mitchellcubic"};
  const std::string_view kernel = c.text("kernel_type");
  if (std::ranges::find(kKernels, kernel) == kKernels.end()) {
    invalid(
        "kernel_type: expected lanczos1, lanczos3, lanczos5, gaussian, box, triangle, keyscubic or mitchellcubic, "
        "got '{}'",
        printable(kernel));
  }
  for (const int i : {scale, scale + 1}) {
    const int64_t count = c.vector(i);
    if (count >= 0 && count != 2) {
      invalid("{}: expected a number for height and width, got {}", i == scale ? "scale" : "translation", count);
    }
  }
}

template <class Options, class Context>
Options options(const Context& c) {
  return {.kernel_type = std::string(c.text("kernel_type")), .antialias = c.flag("antialias")};
}

int64_t flops(const CostContext& c) { return 32 * c.out_numel(0); }

}  // namespace

const Op& kScaleAndTranslate = define_op(
    "ScaleAndTranslate(images: T, size: int32 @host, scale: float32, translation: float32;"
    " T: float16|bfloat16|float32|float64|int8|int16|int32|int64|uint8|uint16, kernel_type: string = \"lanczos3\","
    " antialias: bool = true) -> (resized_images: float32)",
    {.doc = "Images [batch, height, width, channels] of the height and width `size`, of which pixel i is at ((i + 0.5) "
            "- translation) / scale of the original, with a number each for rows and columns: the mean of the pixels "
            "there under a kernel. `kernel_type`: lanczos1, lanczos3, lanczos5, gaussian, box, triangle, keyscubic, "
            "mitchellcubic. With `antialias` it is as wide as what is left out. What is outside is 0.",
     .shape =
         [](ShapeContext& c) {
           expect_form(c, 2);
           images::expect_pixels(c, 0, "images");
           c.output(images::resized(c.shape(0), images::size_from(c, 1, "size")));
         },
     .saves = {in(0), in(2), in(3)},
     .gradient =
         [](GradContext& g) {
           if (!g.needs(0)) return;
           const Tensor like = cast(g.in(0), kFloat32);
           const Tensor dx =
               scale_and_translate_grad(g.dy(), like, g.in(2), g.in(3), options<ScaleAndTranslateGradAttrs>(g));
           g.set(0, cast(dx, g.in(0).dtype()));
         },
     .flops = flops,
     .batch = batching::loop,
     .jvp = tangents::linear_in<0>});

const Op& kScaleAndTranslateGrad = define_op(
    "ScaleAndTranslateGrad(grads: T, original_image: T, scale: float32, translation: float32; T: float32,"
    " kernel_type: string = \"lanczos3\", antialias: bool = true) -> (output: T)",
    {.doc = "The gradient of ScaleAndTranslate with respect to its images, which `original_image` has the shape of.",
     .shape =
         [](ShapeContext& c) {
           expect_form(c, 2);
           images::expect_pixels(c, 0, "grads");
           images::expect_pixels(c, 1, "original_image");
           c.expect_equal(c.dim(0, 0), c.dim(1, 0), "number of images in grads and original_image");
           c.expect_equal(c.dim(0, 3), c.dim(1, 3), "channels of grads and original_image");
           c.output(c.shape(1).known_rank() ? c.shape(1) : PartialShape::of_rank(4));
         },
     .saves = {shape_of(0), in(2), in(3)},
     .gradient =
         [](GradContext& g) {
           if (!g.needs(0)) return;
           g.set(0, scale_and_translate(g.dy(), slice(g.shape(0), {1}, {2}), g.in(2), g.in(3),
                                        options<ScaleAndTranslateAttrs>(g)));
         },
     .flops = flops,
     .batch = batching::loop,
     .jvp = tangents::linear_in<0>});

}  // namespace panto
