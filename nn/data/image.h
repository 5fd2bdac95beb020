// Images: PNG, JPEG, GIF and BMP files as tensors of bytes, [height, width, channels].
//
//   Tensor x = read_image("cat.jpg", {.channels = 3});           // uint8
//   Tensor input = cast(x, kFloat32) * (1 / 255.f);
//   write_image("cat.png", x);
//
// Graphs decode by ops (decode_jpeg, decode_image of a tensor: panto/ops/image.h), whose numbers are TensorFlow's.
//
// Channels are grey; grey and alpha; red, green, blue; or those and alpha. Values are the file's: colour profiles,
// gamma and the orientation that a camera noted are left alone. PNGs of a palette and of 1, 2, 4 or 16 bits are brought
// to 8; JPEGs may be progressive, not CMYK; frames of a GIF are drawn over one another, on black; BMPs may have 8, 24
// or 32 bits a pixel, not compressed, and those of 8 are the numbers of their palette.
//
// Whatever the bytes are, decoding ends in a tensor or an Error: a part of an image is none.
// Thread-safety: plain functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

struct ImageOptions {
  // 1, 2, 3 or 4, whatever the file has: grey is 0.299 red + 0.587 green + 0.114 blue (ITU-R BT.601), a missing alpha
  // is 255, one that is not asked for is left out. 0: as in the file.
  int64_t channels = 0;
  // Of the decoded image. A file of some kilobytes may ask for gigabytes: more is refused before memory is taken.
  int64_t max_bytes = int64_t{1} << 28;
  // Of a GIF all frames, [frames, height, width, channels]; else the first one. Other files have one.
  bool expand_animations = false;
};

// uint8 [height, width, channels] in host memory. Throw NotFound and as read_file; InvalidArgument for what is none
// of the four; DataLoss for truncated and damaged images; ResourceExhausted for ones that are too large; Unimplemented
// for JPEGs of other colours than grey, YCbCr and RGB and for other BMPs.
PANTO_EXPORT Tensor read_image(const std::string& path, const ImageOptions& options = {});
PANTO_EXPORT Tensor decode_image(std::string_view bytes, const ImageOptions& options = {});
PANTO_EXPORT Tensor decode_image(const std::string& bytes, const ImageOptions& options = {});

struct JpegOptions {
  int quality = 90;  // 1 to 100
};

// An image uint8 [height, width, channels], or [height, width] of grey: 1 to 4 channels in a PNG, which keeps every
// value, 1 or 3 in a JPEG, which does not; 1, 3 or 4 in a BMP; 1 or 3 and at most 256 colours in a GIF. The file
// appears whole or not at all. Throw InvalidArgument for other tensors and options, FailedPrecondition for symbolic
// ones, and as write_file. `write_image` goes by the path's end: .png, .jpg, .jpeg, .bmp, .gif.
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
