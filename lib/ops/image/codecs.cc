// Decodes and encodes images.
#include <string>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/batching.h"
#include "panto/lib/ops/image/image_shapes.h"
#include "panto/ops/image.h"

namespace panto {
namespace {

constexpr const char* kStrings = "bytes are not differentiable";

int64_t channels_of(const ShapeContext& c) {
  const int64_t channels = c.integer("channels");
  if (channels != 0 && channels != 1 && channels != 3 && channels != 4) {
    invalid("channels: expected 0, 1, 3 or 4, got {}", channels);
  }
  return channels == 0 ? kUnknownDim : channels;
}

void image_shape(ShapeContext& c) {
  c.expect_scalar(0);
  c.output({kUnknownDim, kUnknownDim, channels_of(c)});
}

void expect_jpeg_attributes(const ShapeContext& c) {
  const int64_t ratio = c.integer("ratio");
  if (ratio != 1 && ratio != 2 && ratio != 4 && ratio != 8) invalid("ratio: expected 1, 2, 4 or 8, got {}", ratio);
  const std::string_view method = c.text("dct_method");
  if (!method.empty() && method != "INTEGER_FAST" && method != "INTEGER_ACCURATE") {
    invalid("dct_method: expected INTEGER_FAST, INTEGER_ACCURATE or none, got '{}'", printable(method));
  }
}

void jpeg_shape(ShapeContext& c) {
  expect_jpeg_attributes(c);
  image_shape(c);
}

void cropped_jpeg_shape(ShapeContext& c) {
  expect_jpeg_attributes(c);
  c.expect_scalar(0);
  const int64_t count = c.vector(1);
  if (count >= 0 && count != 4) invalid("crop_window: expected y, x, height and width, got {} numbers", count);
  const KnownIntegers window(c, 1, 4);
  int64_t size[2] = {};
  for (int k = 0; k < 2; ++k) {
    size[k] = window.get(k + 2).value_or(kUnknownDim);
    if (window.get(k + 2) && size[k] <= 0) {
      invalid("crop_window[{}]: expected at least 1, got {}", k + 2, size[k]);
    }
  }
  c.output({size[0], size[1], channels_of(c)});
}

void any_image_shape(ShapeContext& c) {
  c.expect_scalar(0);
  const int64_t channels = channels_of(c);
  if (c.flag("expand_animations")) {
    c.output(PartialShape{});  // of rank 4 for animations
  } else {
    c.output({kUnknownDim, kUnknownDim, channels});
  }
}

// The input is [..., height, width, channels], the output [...].
void png_bytes_shape(ShapeContext& c) {
  c.expect_rank_at_least(0, 3);
  const int64_t compression = c.integer("compression");
  if (compression < -1 || compression > 9) invalid("compression: expected -1 to 9, got {}", compression);
  const PartialShape& image = c.shape(0);
  if (!image.known_rank()) return c.output(PartialShape{});
  const int64_t channels = c.dim(0, -1);
  if (channels == 0 || channels > 4) invalid("channels of image: expected 1 to 4, got {}", channels);
  std::vector<int64_t> batch;
  for (int k = 0; k < image.rank() - 3; ++k) batch.push_back(image.dim(k));
  c.output(PartialShape(batch));
}

void expect_jpeg_image(const ShapeContext& c) {
  c.expect_rank(0, 3);
  const int64_t channels = c.dim(0, 2);
  if (channels != kUnknownDim && channels != 1 && channels != 3) {
    invalid("channels of image: expected 1 or 3, got {}", channels);
  }
}

void jpeg_bytes_shape(ShapeContext& c) {
  expect_jpeg_image(c);
  const int64_t quality = c.integer("quality");
  if (quality < 0 || quality > 100) invalid("quality: expected 0 to 100, got {}", quality);
  const std::string_view format = c.text("format");
  if (!format.empty() && c.dim(0, 2) != kUnknownDim) {
    c.expect_equal(format == "rgb" ? 3 : 1, c.dim(0, 2), "channels of image, by format");
  }
  for (const char* name : {"x_density", "y_density"}) {
    const int64_t density = name[0] == 'x' ? c.integer("x_density") : c.integer("y_density");
    if (density < 0 || density > UINT16_MAX) invalid("{}: expected 0 to {}, got {}", name, UINT16_MAX, density);
  }
  c.output(Shape{});
}

}  // namespace

const Op& kDecodePng = define_op(
    "DecodePng(contents: string; channels: int = 0, dtype: uint8|uint16 = uint8) -> (image: dtype)",
    {.doc =
         "The image [height, width, channels] in the bytes of a PNG, a JPEG or a GIF of one frame. `channels`: 0 for "
         "those of the file, 1 (grey), 3 (red, green, blue) or 4 (and alpha), which JPEGs and GIFs cannot be asked "
         "for. uint16 keeps all 16 bits of a PNG that has them; uint8 its upper 8. Throws DataLoss for damaged and "
         "truncated images, InvalidArgument for other formats, ResourceExhausted beyond 512 MiB.",
     .traits = {Trait::kSelfAllocating},
     .shape = image_shape,
     .no_gradient = kStrings,
     .batch = batching::loop});

const Op& kDecodeJpeg = define_op(
    "DecodeJpeg(contents: string; channels: int = 0, ratio: int = 1, fancy_upscaling: bool = true,"
    " try_recover_truncated: bool = false, acceptable_fraction: float = 1, dct_method: string = \"\")"
    " -> (image: uint8)",
    {.doc = "The image [height, width, channels] in the bytes of a JPEG, a PNG or a GIF of one frame; the other "
            "attributes are of JPEGs. `ratio`: 1, 2, 4 or 8, by which height and width are divided. "
            "`fancy_upscaling`: smooth colours where the file has fewer pixels of them. `try_recover_truncated`: what "
            "is missing at the end is grey; else it is black, if at least `acceptable_fraction` of the rows are there. "
            "`dct_method`: INTEGER_FAST, INTEGER_ACCURATE; none is the fast one, as in TensorFlow. Errors as "
            "DecodePng's.",
     .traits = {Trait::kSelfAllocating},
     .shape = jpeg_shape,
     .no_gradient = kStrings,
     .batch = batching::loop});

const Op& kDecodeAndCropJpeg = define_op(
    "DecodeAndCropJpeg(contents: string, crop_window: int32 @host; channels: int = 0, ratio: int = 1,"
    " fancy_upscaling: bool = true, try_recover_truncated: bool = false, acceptable_fraction: float = 1,"
    " dct_method: string = \"\") -> (image: uint8)",
    {.doc = "The part of DecodeJpeg's image that `crop_window` (y, x, height, width) says, of a JPEG only. The rest "
            "takes no memory.",
     .traits = {Trait::kSelfAllocating},
     .shape = cropped_jpeg_shape,
     .no_gradient = kStrings,
     .batch = batching::loop});

const Op& kExtractJpegShape = define_op(
    "ExtractJpegShape(contents: string; output_type: index = int32) -> (image_shape: output_type)",
    {.doc = "Height, width and channels of the image in the bytes of a JPEG, of which only the beginning is read.",
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(0);
           c.output({3});
         },
     .no_gradient = kStrings,
     .batch = batching::loop});

const Op& kDecodeGif = define_op(
    "DecodeGif(contents: string) -> (image: uint8)",
    {.doc = "The frames [frames, height, width, 3] in the bytes of a GIF, drawn over one another, on black; of a PNG "
            "or JPEG its one. Errors as DecodePng's.",
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           c.expect_scalar(0);
           c.output({kUnknownDim, kUnknownDim, kUnknownDim, 3});
         },
     .no_gradient = kStrings,
     .batch = batching::loop});

const Op& kDecodeBmp = define_op(
    "DecodeBmp(contents: string; channels: int = 0) -> (image: uint8)",
    {.doc = "The image [height, width, channels] in the bytes of a BMP of 8, 24 or 32 bits a pixel that is not "
            "compressed. `channels`: 0 for those of the file, 3 or 4. Of 8 bits the numbers themselves are the grey, "
            "whatever the palette says, as in TensorFlow. Errors as DecodePng's.",
     .traits = {Trait::kSelfAllocating},
     .shape =
         [](ShapeContext& c) {
           if (c.integer("channels") == 1) invalid("channels: expected 0, 3 or 4 for a BMP, got 1");
           image_shape(c);
         },
     .no_gradient = kStrings,
     .batch = batching::loop});

const Op& kDecodeImage = define_op(
    "DecodeImage(contents: string; channels: int = 0, dtype: uint8|uint16|float32 = uint8,"
    " expand_animations: bool = true) -> (image: dtype)",
    {.doc = "The image [height, width, channels] in the bytes of a PNG, JPEG, GIF or BMP. Of a GIF all frames [frames, "
            "height, width, 3], or, without `expand_animations`, the first. uint16 is a PNG's own or 256 times the "
            "bytes, float32 from 0 to 1. Errors as DecodePng's.",
     .traits = {Trait::kSelfAllocating},
     .shape = any_image_shape,
     .no_gradient = kStrings,
     .batch = batching::loop});

const Op& kEncodePng = define_op(
    "EncodePng(image: T; compression: int = -1, T: uint8|uint16 = uint8) -> (contents: string)",
    {.doc = "Images [..., height, width, channels] of 1 to 4 channels as PNGs [...]. `compression`: 0 (fast) to 9 "
            "(small); -1: zlib's own.",
     .shape = png_bytes_shape,
     .no_gradient = kStrings,
     .batch = [](BatchContext& c) { c.set_out(0, encode_png(c.in(0), {.compression = c.integer("compression")})); }});

const Op& kEncodeJpeg = define_op(
    "EncodeJpeg(image: uint8; format: {\"\", \"grayscale\", \"rgb\"} = \"\", quality: int = 95,"
    " progressive: bool = false, optimize_size: bool = false, chroma_downsampling: bool = true,"
    " density_unit: {\"in\", \"cm\"} = \"in\", x_density: int = 300, y_density: int = 300,"
    " xmp_metadata: string = \"\") -> (contents: string)",
    {.doc = "The image [height, width, channels] of 1 or 3 channels as a JPEG. `format`: what it must be. `quality`: 0 "
            "to 100. `progressive`: it can be shown before all of it is there. `optimize_size`: smaller, and slower to "
            "make. `chroma_downsampling`: colours have half as many rows and columns. `x_density` and `y_density`: "
            "pixels in a `density_unit`. `xmp_metadata`: written along.",
     .shape = jpeg_bytes_shape,
     .no_gradient = kStrings,
     .batch = batching::loop});

const Op& kEncodeJpegVariableQuality =
    define_op("EncodeJpegVariableQuality(images: uint8, quality: int32) -> (contents: string)",
              {.doc = "EncodeJpeg with a quality that is computed.",
               .shape =
                   [](ShapeContext& c) {
                     expect_jpeg_image(c);
                     c.expect_scalar(1);
                     c.output(Shape{});
                   },
               .no_gradient = kStrings,
               .batch = batching::loop});

}  // namespace panto
