// Encoded images and sound as tensors and back, one file for each format. Internal: users have panto/nn/data/image.h,
// graphs the ops of lib/ops/image/codecs.cc.
//
// libpng and libjpeg report errors by longjmp, which runs no destructors. Each of the two files has one function that
// calls setjmp; below it only library calls run, and no object with a destructor lives.
//
// For any bytes, decoding returns a tensor or throws an Error: InvalidArgument for other formats and invalid options,
// DataLoss for truncated and damaged images, ResourceExhausted for images beyond max_bytes, before memory is allocated.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "panto/lib/core/tensor/tensor.h"

namespace panto::images {

// Limit for an image that an op decodes, as in TensorFlow.
inline constexpr int64_t kMostBytes = int64_t{1} << 29;

enum class Format { kUnknown, kPng, kJpeg, kGif, kBmp };
// Detects the format by the first bytes.
Format format_of(std::string_view bytes);
std::string_view name_of(Format format);  // "PNG"

// uint8 [height, width, channels] with all channels of the file.
Tensor decode_png(std::string_view bytes, int64_t max_bytes);
Tensor decode_jpeg(std::string_view bytes, int64_t max_bytes);

// PNG decoding as in TensorFlow: `channels` 0 means those of the file, without a transparent colour. 16-bit samples are
// cut to their upper 8 bits for uint8; 8-bit samples are doubled (the same byte twice) for uint16.
struct PngForm {
  int64_t channels = 0;  // 0, 1, 3 or 4
  DType type = kUint8;   // or uint16
};
Tensor decode_png(std::string_view bytes, int64_t max_bytes, const PngForm& form);

// JPEG decoding as in TensorFlow. Data that libjpeg only warns about is decoded; CMYK is converted to RGB.
struct JpegForm {
  int64_t channels = 0;                // 0, 1 or 3
  int64_t ratio = 1;                   // 1, 2, 4 or 8: divides the image's height and width
  bool fancy_upscaling = true;         // smooth upsampling of the chroma channels
  bool try_recover_truncated = false;  // missing parts become grey
  float acceptable_fraction = 1;       // of the rows that must be there; missing rows are black
  bool accurate = false;               // the slower and more accurate cosine transform
  std::optional<std::array<int64_t, 4>> window = std::nullopt;  // y, x, height, width of the part to decode
};
Tensor decode_jpeg(std::string_view bytes, int64_t max_bytes, const JpegForm& form);
// Height, width and channels, without decoding.
std::array<int64_t, 3> jpeg_shape(std::string_view bytes);

// uint8 [frames, height, width, 3], or only the first frame as [height, width, 3]. As in TensorFlow, frames are drawn
// over each other on black, and the file's disposal methods are ignored.
Tensor decode_gif(std::string_view bytes, int64_t max_bytes, bool all_frames);
// uint8 [height, width, channels] with 1 channel (palette indices, as in TensorFlow), 3 or 4; 0: as in the file.
// Supports only uncompressed images of 8, 24 or 32 bits a pixel.
Tensor decode_bmp(std::string_view bytes, int64_t max_bytes, int64_t channels);

// An image to encode: checked, in host memory.
struct Pixels {
  const unsigned char* data;  // 16-bit samples are in the machine's byte order
  int64_t height, width, channels;
  int64_t bits = 8;  // or 16, in a PNG
};
// `compression`: 0 to 9, or -1 for zlib's default.
std::string encode_png(const Pixels& pixels, int compression = -1);
struct JpegWay {
  int quality = 90;  // 0 to 100
  bool progressive = false;
  bool optimize_size = false;
  bool chroma_downsampling = true;
  bool centimetres = false;  // the unit of the densities; else inches
  int x_density = 0;         // 0: not said
  int y_density = 0;
  std::string_view xmp_metadata = {};
};
std::string encode_jpeg(const Pixels& pixels, const JpegWay& way);
// 1 channel (with a grey palette), 3 or 4; not compressed.
std::string encode_bmp(const Pixels& pixels);
// One frame, of 1 or 3 channels. Throws InvalidArgument for more than 256 colours.
std::string encode_gif(const Pixels& pixels);

// Throws ResourceExhausted if a decoded image of this shape would be larger than max_bytes.
void expect_small(const Shape& shape, int64_t max_bytes, DType type = kUint8);
// Allocates an image after the same check.
Tensor allocate_image(const Shape& shape, int64_t max_bytes, DType type = kUint8);

}  // namespace panto::images

namespace panto {
// A WAV file (lib/core/media/wav.h): samples are interleaved by channel.
std::string wav_bytes(std::span<const float> samples, int64_t channels, int64_t sample_rate);
}  // namespace panto
