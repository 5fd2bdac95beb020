// BMP: a header, then rows of pixels, bottom row first or top row first, each padded to a multiple of four bytes.
// The header's values are checked before use: the file's size follows from them.
#include <cstring>
#include <string>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/media/codecs.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::images {
namespace {

// Sizes of the file header and of BITMAPINFOHEADER, the oldest bitmap header, which the encoder writes.
constexpr int64_t kFileHeader = 14, kInfoHeader = 40;
constexpr size_t kLeastBytes = 32;

uint32_t number_at(std::string_view bytes, size_t at, size_t size = 4) {
  uint32_t n = 0;
  for (size_t i = size; i-- > 0;) n = n << 8 | static_cast<unsigned char>(bytes[at + i]);
  return n;
}

void append(std::string& to, int64_t n, int size) {
  for (int i = 0; i < size; ++i) to += static_cast<char>(n >> (8 * i));
}

constexpr int64_t row_bytes(int64_t width, int64_t channels) { return (width * channels + 3) / 4 * 4; }

}  // namespace

Tensor decode_bmp(std::string_view bytes, int64_t max_bytes, int64_t channels) {
  if (bytes.size() < kLeastBytes) {
    failf(Code::kDataLoss, "bmp: expected a header of at least {} bytes, got {}", kLeastBytes, bytes.size());
  }
  const int64_t header = number_at(bytes, 10);
  const int64_t width = static_cast<int32_t>(number_at(bytes, 18));
  const int64_t signed_height = static_cast<int32_t>(number_at(bytes, 22)), height = std::abs(signed_height);
  const int64_t bits = number_at(bytes, 28, 2), from_channels = bits / 8;
  if (bits != 8 && bits != 24 && bits != 32) {
    failf(Code::kUnimplemented, "bmp: expected 8, 24 or 32 bits a pixel, got {}", bits);
  }
  // The compression field, which older headers lack. Value 3 means bit masks for the colours; for 32 bits these mostly
  // state the default layout.
  constexpr size_t kPacking = 30;
  constexpr uint32_t kBitFields = 3;
  const uint32_t packing = number_at(bytes, 14) >= 20 && bytes.size() >= kPacking + 4 ? number_at(bytes, kPacking) : 0;
  if (packing != 0 && packing != kBitFields) {
    failf(Code::kUnimplemented, "bmp: expected pixels that are not compressed, got compression {}", packing);
  }
  if (width <= 0 || height == 0) {
    failf(Code::kDataLoss, "bmp: expected a width and a height, got {} x {}", width, signed_height);
  }
  // All factors are below 2^31, so the products fit int64.
  const int64_t stride = row_bytes(width, from_channels);
  const int64_t expected = checked_add(header, checked_mul(stride, height, "bytes of a BMP"), "bytes of a BMP");
  if (static_cast<int64_t>(bytes.size()) != expected) {
    failf(Code::kDataLoss, "bmp: expected {} bytes for {} x {} pixels of {} bits, got {}", expected, width, height,
          bits, bytes.size());
  }
  if (channels == 0) channels = from_channels;
  const Tensor image = allocate_image(Shape{height, width, channels}, max_bytes);
  auto* to = mutable_data<uint8_t>(image);
  for (int64_t r = 0; r < height; ++r) {
    const int64_t row = signed_height > 0 ? height - 1 - r : r;
    const auto* from = reinterpret_cast<const unsigned char*>(bytes.data()) + header + row * stride;
    for (int64_t x = 0; x < width; ++x, from += from_channels, to += channels) {
      if (from_channels == 1) {
        for (int64_t c = 0; c < channels && c < 3; ++c) to[c] = from[0];
      } else {
        for (int64_t c = 0; c < channels && c < 3; ++c) to[c] = from[2 - c];
      }
      if (channels == 4) to[3] = from_channels == 4 ? from[3] : 255;
    }
  }
  return image;
}

std::string encode_bmp(const Pixels& pixels) {
  const int64_t channels = pixels.channels, stride = row_bytes(pixels.width, channels);
  const int64_t palette = channels == 1 ? int64_t{4} * 256 : 0;
  const int64_t header = kFileHeader + kInfoHeader + palette;
  const int64_t size = checked_add(header, checked_mul(stride, pixels.height, "bytes of a BMP"), "bytes of a BMP");
  if (size > INT32_MAX) invalid("bmp: expected less than 2 GiB, got {} bytes", size);
  std::string bytes = "BM";
  bytes.reserve(static_cast<size_t>(size));
  append(bytes, size, 4);
  append(bytes, 0, 4);
  append(bytes, header, 4);
  append(bytes, kInfoHeader, 4);
  append(bytes, pixels.width, 4);
  append(bytes, pixels.height, 4);
  append(bytes, 1, 2);  // planes
  append(bytes, 8 * channels, 2);
  append(bytes, 0, 4);  // not compressed
  append(bytes, size - header, 4);
  constexpr int64_t kPixelsPerMetre = 2835;  // 72 to an inch
  append(bytes, kPixelsPerMetre, 4);
  append(bytes, kPixelsPerMetre, 4);
  append(bytes, 0, 4);  // colours of the palette: all
  append(bytes, 0, 4);
  for (int64_t i = 0; i < palette / 4; ++i) append(bytes, i * 0x010101, 4);
  for (int64_t r = pixels.height; r-- > 0;) {
    const unsigned char* from = pixels.data + r * pixels.width * channels;
    for (int64_t x = 0; x < pixels.width; ++x, from += channels) {
      if (channels == 1) {
        bytes += static_cast<char>(from[0]);
        continue;
      }
      for (int c = 2; c >= 0; --c) bytes += static_cast<char>(from[c]);
      if (channels == 4) bytes += static_cast<char>(from[3]);
    }
    bytes.append(static_cast<size_t>(stride - pixels.width * channels), '\0');
  }
  return bytes;
}

}  // namespace panto::images
