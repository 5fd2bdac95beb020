// Images: PNG, JPEG, GIF and BMP files as tensors of bytes, [height, width, channels].
//
//   Tensor x = read_image("cat.jpg", {.channels = 3});           // uint8
//   Tensor input = cast(x, kFloat32) * (1 / 255.f);
//   write_image("cat.png", x);
//
// In graphs the ops decode_jpeg and decode_image (panto/ops/image.h) decode, with TensorFlow's numbers.
//
// Channels are grey; grey and alpha; red, green, blue; or red, green, blue and alpha. Values are the file's: colour
// profiles, gamma and the camera's orientation tag are ignored. PNGs with a palette or with 1, 2, 4 or 16 bits become 8
// bits; JPEGs may be progressive, but not CMYK; frames of a GIF are drawn over one another, on black; BMPs may have 8,
// 24 or 32 bits per pixel, uncompressed; an 8-bit BMP gives its palette indices.
//
// For any bytes, decoding gives a whole image or throws an Error; it never returns a part of an image.
// Thread-safety: plain functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

struct ImageOptions {
  // 1, 2, 3 or 4, independent of the file: grey is 0.299 red + 0.587 green + 0.114 blue (ITU-R BT.601), a missing alpha
  // is 255, an alpha that is not asked for is dropped. 0: as in the file.
  int64_t channels = 0;
  // The limit of the decoded image's size. A file of some kilobytes may ask for gigabytes: a larger image is refused
  // before memory is allocated.
  int64_t max_bytes = int64_t{1} << 28;
  // For a GIF read all frames, [frames, height, width, channels], not only the first. Other files have one.
  bool expand_animations = false;
};

// uint8 [height, width, channels] in host memory. Throw NotFound and as read_file; InvalidArgument for another file
// format; DataLoss for truncated and damaged images; ResourceExhausted for images above max_bytes; Unimplemented for
// JPEGs of other colours than grey, YCbCr and RGB and for other BMPs.
PANTO_EXPORT Tensor read_image(const std::string& path, const ImageOptions& options = {});
PANTO_EXPORT Tensor decode_image(std::string_view bytes, const ImageOptions& options = {});
PANTO_EXPORT Tensor decode_image(const std::string& bytes, const ImageOptions& options = {});

struct JpegOptions {
  int quality = 90;  // 1 to 100
};

// An image is uint8 [height, width, channels], or [height, width] for grey: 1 to 4 channels in a PNG (lossless), 1 or 3
// in a JPEG (lossy), 1, 3 or 4 in a BMP, 1 or 3 and at most 256 colours in a GIF. The file appears whole or not at all.
// Throw InvalidArgument for other tensors and options, FailedPrecondition for symbolic ones, and as write_file.
// `write_image` chooses the format by the path's end: .png, .jpg, .jpeg, .bmp, .gif.
PANTO_EXPORT void write_image(const std::string& path, const Tensor& image);
PANTO_EXPORT void write_png(const std::string& path, const Tensor& image);
PANTO_EXPORT void write_jpeg(const std::string& path, const Tensor& image, const JpegOptions& options = {});
PANTO_EXPORT void write_bmp(const std::string& path, const Tensor& image);
PANTO_EXPORT void write_gif(const std::string& path, const Tensor& image);
PANTO_EXPORT std::string png_bytes(const Tensor& image);
PANTO_EXPORT std::string jpeg_bytes(const Tensor& image, const JpegOptions& options = {});
PANTO_EXPORT std::string bmp_bytes(const Tensor& image);
PANTO_EXPORT std::string gif_bytes(const Tensor& image);

}  // namespace panto
