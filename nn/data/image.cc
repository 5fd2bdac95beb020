#include "panto/nn/data/image.h"

#include <algorithm>
#include <vector>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/media/codecs.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto {
namespace {

// Converts an image, or frames, to `channels` channels.
Tensor converted(const Tensor& image, int64_t channels, int64_t max_bytes) {
  const Shape& shape = image.shape();
  const int64_t from = shape[-1];
  if (channels == 0 || channels == from) return image;
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims.back() = channels;
  const Tensor made = images::allocate_image(Shape(dims), max_bytes);
  const auto* p = mutable_data<const uint8_t>(image);
  auto* to = mutable_data<uint8_t>(made);
  const bool colour = from >= 3;
  const bool alpha = from == 2 || from == 4;
  for (int64_t n = image.numel() / from; n > 0; --n, p += from) {
    if (channels >= 3) {
      for (int c = 0; c < 3; ++c) *to++ = colour ? p[c] : p[0];
    } else {
      // The three factors are in units of 2^-16 and add up to one; the sum is rounded to nearest.
      *to++ = colour ? static_cast<uint8_t>((p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 32768u) >> 16) : p[0];
    }
    if (channels == 2 || channels == 4) *to++ = alpha ? p[from - 1] : 255;
  }
  return made;
}

// Image formats that can be written; `allowed` has a bit for each number of channels.
struct Kind {
  std::string_view name, channels;
  unsigned allowed;
};
constexpr unsigned kGrey = 1 << 1, kGreyAlpha = 1 << 2, kColour = 1 << 3, kColourAlpha = 1 << 4;
constexpr Kind kPng{"png", "1 to 4", kGrey | kGreyAlpha | kColour | kColourAlpha};
constexpr Kind kJpeg{"jpeg", "1 or 3", kGrey | kColour};
constexpr Kind kBmp{"bmp", "1, 3 or 4", kGrey | kColour | kColourAlpha};
constexpr Kind kGif{"gif", "1 or 3", kGrey | kColour};

// Checks the image and calls encode(pixels).
template <class Encode>
std::string encoded(const Tensor& image, const Kind& kind, Encode encode) {
  const Tensor host = image.is_meta() || !image.device().host_memory() ? copy_to_device(image, cpu_device()) : image;
  const Shape& shape = host.shape();
  const int rank = shape.rank();
  const int64_t channels = rank == 3 ? shape[2] : 1;
  if (host.dtype() != kUint8 || (rank != 2 && rank != 3) || shape.numel() == 0 || channels > 4 ||
      (kind.allowed >> channels & 1) == 0) {
    invalid("{}: expected uint8 [height, width, channels] with {} channels, got {}{}", kind.name, kind.channels,
            dtype_name(host.dtype()), shape.to_string());
  }
  return encode(images::Pixels{mutable_data<const unsigned char>(host), shape[0], shape[1], channels});
}

}  // namespace

Tensor decode_image(std::string_view bytes, const ImageOptions& options) {
  if (options.channels < 0 || options.channels > 4) {
    invalid("image: expected 1 to 4 channels, or 0 for those of the file, got {}", options.channels);
  }
  const auto decoded = [&] {
    switch (images::format_of(bytes)) {
      case images::Format::kPng: return images::decode_png(bytes, options.max_bytes);
      case images::Format::kJpeg: return images::decode_jpeg(bytes, options.max_bytes);
      case images::Format::kGif: return images::decode_gif(bytes, options.max_bytes, options.expand_animations);
      case images::Format::kBmp: return images::decode_bmp(bytes, options.max_bytes, 0);
      case images::Format::kUnknown: break;
    }
    invalid("image: expected the bytes of a PNG, JPEG, GIF or BMP, got others");
  };
  return converted(decoded(), options.channels, options.max_bytes);
}

Tensor decode_image(const std::string& bytes, const ImageOptions& options) {
  return decode_image(std::string_view(bytes), options);
}

Tensor read_image(const std::string& path, const ImageOptions& options) {
  const std::string bytes = read_file(path);
  return with_context([&] { return fmt::format("in file '{}'", printable(path)); },
                      [&] { return decode_image(bytes, options); });
}

std::string png_bytes(const Tensor& image) {
  return encoded(image, kPng, [](const images::Pixels& pixels) { return images::encode_png(pixels); });
}

std::string jpeg_bytes(const Tensor& image, const JpegOptions& options) {
  if (options.quality < 1 || options.quality > 100) {
    invalid("jpeg: expected a quality of 1 to 100, got {}", options.quality);
  }
  return encoded(image, kJpeg, [&](const images::Pixels& pixels) {
    return images::encode_jpeg(pixels, {.quality = options.quality});
  });
}

std::string bmp_bytes(const Tensor& image) { return encoded(image, kBmp, images::encode_bmp); }
std::string gif_bytes(const Tensor& image) { return encoded(image, kGif, images::encode_gif); }

void write_png(const std::string& path, const Tensor& image) { write_file(path, png_bytes(image)); }
void write_bmp(const std::string& path, const Tensor& image) { write_file(path, bmp_bytes(image)); }
void write_gif(const std::string& path, const Tensor& image) { write_file(path, gif_bytes(image)); }

void write_jpeg(const std::string& path, const Tensor& image, const JpegOptions& options) {
  write_file(path, jpeg_bytes(image, options));
}

void write_image(const std::string& path, const Tensor& image) {
  std::string end;
  for (const char c : path.substr(std::min(path.rfind('.'), path.size()))) {
    end += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (end == ".png") return write_png(path, image);
  if (end == ".jpg" || end == ".jpeg") return write_jpeg(path, image);
  if (end == ".bmp") return write_bmp(path, image);
  if (end == ".gif") return write_gif(path, image);
  invalid("image: expected a path that ends in .png, .jpg, .jpeg, .bmp or .gif, got '{}'", printable(path));
}

}  // namespace panto
