// Kernels that decode and encode images (lib/core/media/codecs.h).
#include <algorithm>
#include <string>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/media/codecs.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

using images::Format;
using images::kMostBytes;

const std::string& contents_of(const KernelContext& c) { return *c.data<std::string>(0); }

// Returns the format of the bytes. Throws InvalidArgument for a BMP unless `bmp`, and for other formats unless
// `others`.
Format expected_format(std::string_view bytes, bool bmp, bool others) {
  const Format format = images::format_of(bytes);
  const bool fits = format == Format::kUnknown ? false : format == Format::kBmp ? bmp : others;
  if (!fits) {
    invalid("contents: expected the bytes of {}, got those of {}",
            !others ? "a BMP"
            : bmp   ? "a PNG, JPEG, GIF or BMP"
                    : "a PNG, JPEG or GIF",
            format == Format::kUnknown ? "none that is known" : images::name_of(format));
  }
  return format;
}

void expect_channels(int64_t channels, Format format) {
  const bool fits = format == Format::kPng || channels == 0 || channels == 3 ||
                    (format == Format::kJpeg && channels == 1) || (format == Format::kBmp && channels == 4);
  if (!fits) {
    invalid("channels: expected {} for a {}, got {}",
            format == Format::kGif    ? "0 or 3"
            : format == Format::kJpeg ? "0, 1 or 3"
                                      : "0, 3 or 4",
            images::name_of(format), channels);
  }
}

// Decodes a GIF of exactly one frame.
Tensor only_frame(const std::string& bytes) {
  const Tensor frames = images::decode_gif(bytes, kMostBytes, true);
  if (frames.dim(0) != 1) {
    invalid("contents: expected a GIF of one frame, got {}: DecodeGif and DecodeImage know animations", frames.dim(0));
  }
  return view_tensor(frames, Shape{frames.dim(1), frames.dim(2), frames.dim(3)});
}

template <class To, class From, class Scale>
Tensor scaled(const Tensor& image, const Scale& scale) {
  images::expect_small(image.shape(), kMostBytes, dtype_of<To>);
  Tensor out = allocate_tensor(cpu_device(), dtype_of<To>, image.shape());
  const auto* from = mutable_data<const From>(image);
  auto* to = mutable_data<To>(out);
  cpu::parallel_ranges(image.numel(), image.numel(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = scale(from[i]);
  });
  return out;
}

// Converts 8-bit pixels to `type`; float32 ranges from 0 to 1.
Tensor converted(const Tensor& image, DType type) {
  if (type == kUint16) {
    return scaled<uint16_t, uint8_t>(image, [](uint8_t v) { return static_cast<uint16_t>(v * 256); });
  }
  if (type == kFloat32) {
    return scaled<float, uint8_t>(image, [](uint8_t v) { return static_cast<float>(v) * (1.0F / 255); });
  }
  return image;
}

Tensor decoded_png(const std::string& bytes, int64_t channels, DType type) {
  Tensor image =
      images::decode_png(bytes, kMostBytes, {.channels = channels, .type = type == kFloat32 ? kUint16 : type});
  if (type != kFloat32) return image;
  return scaled<float, uint16_t>(image, [](uint16_t v) { return static_cast<float>(v) * (1.0F / 65535); });
}

// Shared by DecodePng, DecodeJpeg and DecodeGif: each decodes all three formats.
Tensor decoded(const KernelContext& c, int64_t channels, DType type, const images::JpegForm& jpeg) {
  const std::string& bytes = contents_of(c);
  const Format format = expected_format(bytes, false, true);
  expect_channels(channels, format);
  switch (format) {
    case Format::kPng: return decoded_png(bytes, channels, type);
    case Format::kJpeg: return converted(images::decode_jpeg(bytes, kMostBytes, jpeg), type);
    default: return converted(only_frame(bytes), type);
  }
}

images::JpegForm jpeg_form(const KernelContext& c) {
  return {.channels = c.integer("channels"),
          .ratio = c.integer("ratio"),
          .fancy_upscaling = c.flag("fancy_upscaling"),
          .try_recover_truncated = c.flag("try_recover_truncated"),
          .acceptable_fraction = c.real("acceptable_fraction"),
          .accurate = c.text("dct_method") == "INTEGER_ACCURATE"};
}

void decode_png(KernelContext& c) {
  const int64_t channels = c.integer("channels");
  c.set_out(0, decoded(c, channels, c.type("dtype"), {.channels = channels}));
}

void decode_jpeg(KernelContext& c) { c.set_out(0, decoded(c, c.integer("channels"), kUint8, jpeg_form(c))); }

void decode_and_crop_jpeg(KernelContext& c) {
  const std::string& bytes = contents_of(c);
  if (images::format_of(bytes) != Format::kJpeg) {
    invalid("contents: expected the bytes of a JPEG, got those of {}", images::format_of(bytes) == Format::kUnknown
                                                                           ? "none that is known"
                                                                           : images::name_of(images::format_of(bytes)));
  }
  images::JpegForm form = jpeg_form(c);
  expect_channels(form.channels, Format::kJpeg);
  const auto* window = c.data<int32_t>(1);
  form.window = {window[0], window[1], window[2], window[3]};
  c.set_out(0, images::decode_jpeg(bytes, kMostBytes, form));
}

void extract_jpeg_shape(KernelContext& c) {
  const std::string& bytes = contents_of(c);
  if (images::format_of(bytes) != Format::kJpeg) {
    invalid("contents: expected the bytes of a JPEG, got those of {}", images::format_of(bytes) == Format::kUnknown
                                                                           ? "none that is known"
                                                                           : images::name_of(images::format_of(bytes)));
  }
  const auto shape = images::jpeg_shape(bytes);
  if (c.type("output_type") == kInt32) {
    std::ranges::transform(shape, c.out_data<int32_t>(0), [](int64_t n) { return static_cast<int32_t>(n); });
  } else {
    std::ranges::copy(shape, c.out_data<int64_t>(0));
  }
}

void decode_gif(KernelContext& c) {
  const std::string& bytes = contents_of(c);
  if (images::format_of(bytes) == Format::kGif) {
    c.set_out(0, images::decode_gif(bytes, kMostBytes, true));
    return;
  }
  const Tensor image = decoded(c, 3, kUint8, {.channels = 3});
  c.set_out(0, view_tensor(image, Shape{1, image.dim(0), image.dim(1), image.dim(2)}));
}

void decode_bmp(KernelContext& c) {
  expected_format(contents_of(c), true, false);
  c.set_out(0, images::decode_bmp(contents_of(c), kMostBytes, c.integer("channels")));
}

void decode_image(KernelContext& c) {
  const std::string& bytes = contents_of(c);
  const Format format = expected_format(bytes, true, true);
  const int64_t channels = c.integer("channels");
  const DType type = c.type("dtype");
  expect_channels(channels, format);
  switch (format) {
    case Format::kPng: return c.set_out(0, decoded_png(bytes, channels, type));
    case Format::kJpeg:
      return c.set_out(0, converted(images::decode_jpeg(bytes, kMostBytes, {.channels = channels}), type));
    case Format::kBmp: return c.set_out(0, converted(images::decode_bmp(bytes, kMostBytes, channels), type));
    default: return c.set_out(0, converted(images::decode_gif(bytes, kMostBytes, c.flag("expand_animations")), type));
  }
}

// ---- Writing -------------------------------------------------------------------------------------------------------

images::Pixels pixels_of(const KernelContext& c, int64_t bytes, int64_t number = 0) {
  const Shape& shape = c.shape(0);
  const int64_t height = shape[-3], width = shape[-2], channels = shape[-1];
  if (height == 0 || width == 0) {
    invalid("image: expected a height and a width of at least 1, got shape {}", shape.to_string());
  }
  return {static_cast<const unsigned char*>(c.in(0).impl()->data) + number * height * width * channels * bytes, height,
          width, channels, 8 * bytes};
}

void encode_png(KernelContext& c) {
  const auto compression = static_cast<int>(c.integer("compression"));
  const auto bytes = static_cast<int64_t>(dtype_size(c.in(0).dtype()));
  auto* out = c.out_data<std::string>(0);
  cpu::parallel_ranges(
      c.out_numel(0), c.numel(0) * 64,
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out[i] = images::encode_png(pixels_of(c, bytes, i), compression);
      },
      1);
}

void encode_jpeg(KernelContext& c) {
  *c.out_data<std::string>(0) =
      images::encode_jpeg(pixels_of(c, 1), {.quality = static_cast<int>(c.integer("quality")),
                                            .progressive = c.flag("progressive"),
                                            .optimize_size = c.flag("optimize_size"),
                                            .chroma_downsampling = c.flag("chroma_downsampling"),
                                            .centimetres = c.text("density_unit") == "cm",
                                            .x_density = static_cast<int>(c.integer("x_density")),
                                            .y_density = static_cast<int>(c.integer("y_density")),
                                            .xmp_metadata = c.text("xmp_metadata")});
}

void encode_jpeg_variable_quality(KernelContext& c) {
  const int32_t quality = *c.data<int32_t>(1);
  if (quality < 0 || quality > 100) invalid("quality: expected 0 to 100, got {}", quality);
  *c.out_data<std::string>(0) =
      images::encode_jpeg(pixels_of(c, 1), {.quality = quality, .x_density = 300, .y_density = 300});
}

const CpuKernel png_kernel("DecodePng", DTypeSet{kUint8, kUint16}, decode_png);
const CpuKernel jpeg_kernel("DecodeJpeg", decode_jpeg);
const CpuKernel crop_kernel("DecodeAndCropJpeg", decode_and_crop_jpeg);
const CpuKernel shape_kernel("ExtractJpegShape", DTypeSet{kInt32, kInt64}, extract_jpeg_shape);
const CpuKernel gif_kernel("DecodeGif", decode_gif);
const CpuKernel bmp_kernel("DecodeBmp", decode_bmp);
const CpuKernel image_kernel("DecodeImage", DTypeSet{kUint8, kUint16, kFloat32}, decode_image);
const CpuKernel encode_png_kernel("EncodePng", DTypeSet{kUint8, kUint16}, encode_png);
const CpuKernel encode_jpeg_kernel("EncodeJpeg", encode_jpeg);
const CpuKernel variable_kernel("EncodeJpegVariableQuality", encode_jpeg_variable_quality);

}  // namespace
}  // namespace panto
