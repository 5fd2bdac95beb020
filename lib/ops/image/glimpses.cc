// Crops of images: glimpses at given positions, and randomly chosen parts.
#include <climits>
#include <limits>
#include <string_view>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/image/image_shapes.h"
#include "panto/ops/image.h"

namespace panto {
namespace {

void glimpse_shape(ShapeContext& c) {
  const std::string_view noise = c.text("noise");
  if (!noise.empty() && noise != "uniform" && noise != "gaussian" && noise != "zero") {
    invalid("noise: expected uniform, gaussian or zero, got '{}'", printable(noise));
  }
  if (c.flag("uniform_noise") && !noise.empty() && noise != "uniform") {
    invalid("uniform_noise: expected false where noise is '{}', got true", noise);
  }
  images::expect_pixels(c, 0, "input");
  const images::Size size = images::size_from(c, 1, "size", 0);
  c.expect_rank(2, 2);
  c.expect_equal(2, c.dim(2, 1), "dimension 1 of offsets");
  const int64_t count = c.merge(c.dim(0, 0), c.dim(2, 0), "number of images in input and offsets");
  c.output(PartialShape{count, size.height, size.width, images::dim_of(c.shape(0), 3)});
}

void crop_shape(ShapeContext& c) {
  c.expect_rank(0, 3);
  const images::Size size = images::size_from(c, 1, "size", 0);
  for (const auto& [k, wanted] : {std::pair{0, size.height}, std::pair{1, size.width}}) {
    const int64_t have = images::dim_of(c.shape(0), k);
    if (have >= 0 && wanted > have) invalid("size[{}]: expected at most {} pixels, got {}", k, have, wanted);
  }
  c.output(PartialShape{size.height, size.width, images::dim_of(c.shape(0), 2)});
}

void expect_range(const AttrSlot& slot, const char* name, float most) {
  if (slot.n != 2) invalid("{}: expected two numbers, got {}", name, slot.n);
  const auto* values = static_cast<const float*>(slot.p);
  for (int k = 0; k < 2; ++k) {
    if (!(values[k] > 0 && values[k] <= most)) {
      if (most == 1) invalid("{}[{}]: expected above 0 and at most 1, got {}", name, k, values[k]);
      invalid("{}[{}]: expected a finite number above 0, got {}", name, k, values[k]);
    }
  }
}

// Inputs: the image's size, bounding boxes; then the minimal covered part of a box, if it is an input, and a seed.
void distorted_shape(ShapeContext& c) {
  expect_range(c.slot("aspect_ratio_range"), "aspect_ratio_range", std::numeric_limits<float>::max());
  expect_range(c.slot("area_range"), "area_range", 1);
  const int64_t attempts = c.integer("max_attempts");
  if (attempts < 1 || attempts > INT_MAX) invalid("max_attempts: expected 1 to {}, got {}", INT_MAX, attempts);
  if (c.op().signature().find_attr("min_object_covered") >= 0 && !(c.real("min_object_covered") >= 0)) {
    invalid("min_object_covered: expected at least 0, got {}", c.real("min_object_covered"));
  }
  c.expect_equal(3, c.vector(0), "length of image_size");
  const PartialShape& boxes = c.shape(1);
  // Without boxes, any shape is allowed; numel() is -1 if unknown.
  if (boxes.numel() > 0) {
    c.expect_rank(1, 3);
    c.expect_equal(4, c.dim(1, 2), "dimension 2 of bounding_boxes");
  }
  if (c.num_inputs() > 2) c.expect_scalar(2);
  if (c.num_inputs() > 3) c.expect_equal(2, c.vector(3), "length of seed");
  c.output(0, PartialShape{3});
  c.output(1, PartialShape{3});
  c.output(2, PartialShape{1, 1, 4});
}

constexpr const char* kNoGradient = "what is outside of the images is drawn anew by every call";
constexpr const char* kPlaces = "which part is chosen is not differentiable";

}  // namespace

const Op& kExtractGlimpse = define_op(
    "ExtractGlimpse(input: float32, size: int32 @host, offsets: float32; centered: bool = true, normalized: bool = "
    "true, uniform_noise: bool = true, noise: string = \"uniform\") -> (glimpse: float32)",
    {.doc = "From each of the images [batch, height, width, channels] a window of `size`, its height and width, around "
            "`offsets` [batch, 2], rows first: in pixels, or, with `normalized`, in heights and widths of the image, "
            "and from its middle in halves of them where `centered`. A pixel's place is rounded toward 0. Outside of "
            "the image are `noise`: uniform, between the image's least and largest number; gaussian, with each "
            "channel's mean and deviation and between its least and largest number; or zero. `uniform_noise` must be "
            "false for the last two (Mnih et al. 2014, Recurrent Models of Visual Attention).",
     .cpp = "extract_glimpse_v1",
     .effects = {effects::random()},
     .shape = glimpse_shape,
     .no_gradient = kNoGradient,
     .batch = batching::loop});

const Op& kExtractGlimpseV2 = define_op(
    "ExtractGlimpseV2(input: float32, size: int32 @host, offsets: float32; centered: bool = true, normalized: bool = "
    "true, uniform_noise: bool = true, noise: string = \"uniform\") -> (glimpse: float32)",
    {.doc = "ExtractGlimpse, of which `offsets` say where the window's first pixel is; the middle of the window only "
            "where they are both `normalized` and `centered`. Pixels from the image's middle are whole ones.",
     .cpp = "extract_glimpse",
     .effects = {effects::random()},
     .shape = glimpse_shape,
     .no_gradient = kNoGradient,
     .batch = batching::loop});

const Op& kRandomCrop = define_op(
    "RandomCrop(image: T, size: int64 @host; T: uint8|int8|int16|int32|int64|float32|float64, seed: int = 0, seed2: "
    "int = 0) -> (output: T)",
    {.doc = "A part of `size`, its height and width, of an image [height, width, channels], wherever it is, each place "
            "as likely as another. Seeds: as in RandomUniform.",
     .effects = {effects::random()},
     .shape = crop_shape,
     .no_gradient = "TensorFlow has none; slices have one",
     .batch = batching::loop});

const Op& kSampleDistortedBoundingBox = define_op(
    "SampleDistortedBoundingBox(image_size: T, bounding_boxes: float32; T: uint8|int8|int16|int32|int64, seed: int = "
    "0, seed2: int = 0, min_object_covered: float = 0.1, aspect_ratio_range: list(float) = [0.75, 1.33], area_range: "
    "list(float) = [0.05, 1], max_attempts: int = 100, use_image_if_no_bounding_boxes: bool = false) -> (begin: T, "
    "size: T, bboxes: float32)",
    {.doc = "SampleDistortedBoundingBoxV2 with `min_object_covered` as an attribute.",
     .cpp = "sample_distorted_bounding_box_v1",
     .effects = {effects::random()},
     .shape = distorted_shape,
     .no_gradient = kPlaces,
     .batch = batching::loop});

const Op& kSampleDistortedBoundingBoxV2 = define_op(
    "SampleDistortedBoundingBoxV2(image_size: T, bounding_boxes: float32, min_object_covered: float32; T: "
    "uint8|int8|int16|int32|int64, seed: int = 0, seed2: int = 0, aspect_ratio_range: list(float) = [0.75, 1.33], "
    "area_range: list(float) = [0.05, 1], max_attempts: int = 100, use_image_if_no_bounding_boxes: bool = false) -> "
    "(begin: T, size: T, bboxes: float32)",
    {.doc = "A part, chosen at random, of an image of `image_size` [height, width, channels] in which one of "
            "`bounding_boxes` [1, boxes, 4] (y1, x1, y2, x2, from 0 to 1) is seen to `min_object_covered` of its area "
            "at least: where it begins and its size, for Slice, and the same as a box [1, 1, 4]. Its width is "
            "`aspect_ratio_range` times its height, its area `area_range` of the image's. Where `max_attempts` draws "
            "find none it is the whole image. Without boxes the image is the one, if "
            "`use_image_if_no_bounding_boxes`, else that is an error. Seeds: as in RandomUniform.",
     .cpp = "sample_distorted_bounding_box",
     .effects = {effects::random()},
     .shape = distorted_shape,
     .no_gradient = kPlaces,
     .batch = batching::loop});

const Op& kStatelessSampleDistortedBoundingBox = define_op(
    "StatelessSampleDistortedBoundingBox(image_size: T, bounding_boxes: float32, min_object_covered: float32, seed: "
    "Tseed @host; T: uint8|int8|int16|int32|int64, Tseed: index, aspect_ratio_range: list(float) = [0.75, 1.33], "
    "area_range: list(float) = [0.05, 1], max_attempts: int = 100, use_image_if_no_bounding_boxes: bool = false) -> "
    "(begin: T, size: T, bboxes: float32)",
    {.doc = "SampleDistortedBoundingBoxV2 by a seed of two numbers: the same arguments give the same part.",
     .primary = "T",
     .shape = distorted_shape,
     .no_gradient = kPlaces,
     .batch = batching::loop});

}  // namespace panto
