// Encoded images and sound as tensors and back, one file for each format. Internal: users have panto/nn/data/image.h,
// graphs the ops of lib/ops/image/codecs.cc.
//
// libpng and libjpeg report errors by longjmp, which runs no destructors. Each of the two files has one function that
// calls setjmp; what runs under it are calls of the library and nothing that has a destructor.
//
// Whatever the bytes are, decoding ends in a tensor or an Error: InvalidArgument for other formats and what the caller
// may not ask for, DataLoss for truncated and damaged images, ResourceExhausted beyond max_bytes, of which nothing was
// allocated yet.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "panto/lib/core/tensor/tensor.h"

namespace panto::images {

// What an image may take that an op decodes: TensorFlow's limit.
inline constexpr int64_t kMostBytes = int64_t{1} << 29;

enum class Format { kUnknown, kPng, kJpeg, kGif, kBmp };
// By the first bytes.
Format format_of(std::string_view bytes);
std::string_view name_of(Format format);  // "PNG"

// uint8 [height, width, channels] with the file's channels: nothing of it is left out.
Tensor decode_png(std::string_view bytes, int64_t max_bytes);
Tensor decode_jpeg(std::string_view bytes, int64_t max_bytes);

// As TensorFlow decodes PNGs: 0 channels are those of the file, without a colour that is transparent; of 16 bits the
// upper 8, or of 8 bits the same twice.
struct PngForm {
  int64_t channels = 0;  // 0, 1, 3 or 4
  DType type = kUint8;   // or uint16
};
Tensor decode_png(std::string_view bytes, int64_t max_bytes, const PngForm& form);

// As TensorFlow decodes JPEGs. What libjpeg only warns of is decoded; four inks become red, green and blue.
struct JpegForm {
  int64_t channels = 0;                // 0, 1 or 3
  int64_t ratio = 1;                   // 1, 2, 4 or 8: of the file's height and width to those of the image
  bool fancy_upscaling = true;         // of colours that were written with fewer pixels
  bool try_recover_truncated = false;  // what is missing is grey
  float acceptable_fraction = 1;       // of rows; the missing ones are black
  bool accurate = false;               // the slower and more accurate cosine transform
  std::optional<std::array<int64_t, 4>> window = std::nullopt;  // y, x, height, width of what is wanted
};
Tensor decode_jpeg(std::string_view bytes, int64_t max_bytes, const JpegForm& form);
// Height, width and channels, without decoding.
std::array<int64_t, 3> jpeg_shape(std::string_view bytes);

// uint8 [frames, height, width, 3], or of the first frame only [height, width, 3]. As in TensorFlow, frames are drawn
// over one another, whatever the file says of taking them away, on black.
Tensor decode_gif(std::string_view bytes, int64_t max_bytes, bool all_frames);
// uint8 [height, width, channels] of 1 channel (numbers of a palette, as in TensorFlow), 3 or 4; 0: as in the file.
// Neither compressed ones nor other than 8, 24 and 32 bits a pixel.
Tensor decode_bmp(std::string_view bytes, int64_t max_bytes, int64_t channels);

// An image to be written: checked, in host memory.
struct Pixels {
  const unsigned char* data;  // of 16 bits: in the order of this machine
  int64_t height, width, channels;
  int64_t bits = 8;  // or 16, in a PNG
};
// `compression`: 0 to 9, or -1 for zlib's own choice.
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
// 1 channel (with a palette of greys), 3 or 4, not compressed.
std::string encode_bmp(const Pixels& pixels);
// One frame, of 1 or 3 channels. Throws InvalidArgument for more than 256 colours.
std::string encode_gif(const Pixels& pixels);

// Throws ResourceExhausted where a decoded image would be larger than max_bytes.
void expect_small(const Shape& shape, int64_t max_bytes, DType type = kUint8);
// Memory for one that is small.
Tensor allocate_image(const Shape& shape, int64_t max_bytes, DType type = kUint8);

}  // namespace panto::images

namespace panto {
// A WAV (lib/core/media/wav.h): samples of all channels at a time, one time after the other.
std::string wav_bytes(std::span<const float> samples, int64_t channels, int64_t sample_rate);
}  // namespace panto
