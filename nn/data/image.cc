#include "panto/nn/data/image.h"

#include "panto/lib/base/checked.h"
#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/nn/data/codecs.h"

namespace panto {
namespace {

constexpr std::string_view kPngStart = "\x89PNG\r\n\x1a\n";
constexpr std::string_view kJpegStart = "\xff\xd8\xff";

// The image with as many channels.
Tensor converted(const Tensor& image, int64_t channels, int64_t max_bytes) {
  const int64_t from = image.dim(2);
  if (channels == 0 || channels == from) return image;
  const Tensor made = images::allocate_image(image.dim(0), image.dim(1), channels, max_bytes);
  const auto* p = mutable_data<const uint8_t>(image);
  auto* to = mutable_data<uint8_t>(made);
  const bool colour = from >= 3;
  const bool alpha = from == 2 || from == 4;
  for (int64_t n = image.dim(0) * image.dim(1); n > 0; --n, p += from) {
    if (channels >= 3) {
      for (int c = 0; c < 3; ++c) *to++ = colour ? p[c] : p[0];
    } else {
      // The three factors in units of 2^-16, which add up to one; rounded to nearest.
      *to++ = colour ? static_cast<uint8_t>((p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 32768u) >> 16) : p[0];
    }
    if (channels == 2 || channels == 4) *to++ = alpha ? p[from - 1] : 255;
  }
  return made;
}

// Calls encode(pixels) with a checked image.
template <class Encode>
std::string encoded(const Tensor& image, std::string_view kind, int64_t max_channels, Encode encode) {
  const Tensor host = image.is_meta() || !image.device().host_memory() ? copy_to_device(image, cpu_device()) : image;
  const Shape& shape = host.shape();
  const int rank = shape.rank();
  const int64_t channels = rank == 3 ? shape[2] : 1;
  if (host.dtype() != kUint8 || (rank != 2 && rank != 3) || shape.numel() == 0 || channels > max_channels ||
      (max_channels == 3 && channels == 2)) {
    invalid("{}: expected uint8 [height, width, channels] with {} channels, got {}{}", kind,
            max_channels == 3 ? "1 or 3" : "1 to 4", dtype_name(host.dtype()), shape.to_string());
  }
  return encode(images::Pixels{mutable_data<const unsigned char>(host), shape[0], shape[1], channels});
}

}  // namespace

Tensor images::allocate_image(int64_t height, int64_t width, int64_t channels, int64_t max_bytes) {
  const int64_t bytes = checked_mul(checked_mul(height, width, "image"), channels, "image");
  if (bytes > max_bytes) {
    failf(Code::kResourceExhausted, "image: expected at most {} bytes when decoded (ImageOptions::max_bytes), got {}",
          max_bytes, bytes);
  }
  return allocate_tensor(cpu_device(), kUint8, Shape{height, width, channels});
}

Tensor decode_image(std::string_view bytes, const ImageOptions& options) {
  if (options.channels < 0 || options.channels > 4) {
    invalid("image: expected 1 to 4 channels, or 0 for those of the file, got {}", options.channels);
  }
  Tensor image;
  if (bytes.starts_with(kPngStart)) {
    image = images::decode_png(bytes, options.max_bytes);
  } else if (bytes.starts_with(kJpegStart)) {
    image = images::decode_jpeg(bytes, options.max_bytes);
  } else {
    invalid("image: expected the bytes of a PNG or a JPEG, got others");
  }
  return converted(image, options.channels, options.max_bytes);
}

Tensor read_image(const std::string& path, const ImageOptions& options) {
  const std::string bytes = read_file(path);
  return with_context([&] { return fmt::format("in file '{}'", printable(path)); },
                      [&] { return decode_image(bytes, options); });
}

std::string png_bytes(const Tensor& image) {
  return encoded(image, "png", 4, [](const images::Pixels& pixels) { return images::encode_png(pixels); });
}

std::string jpeg_bytes(const Tensor& image, const JpegOptions& options) {
  if (options.quality < 1 || options.quality > 100) {
    invalid("jpeg: expected a quality of 1 to 100, got {}", options.quality);
  }
  return encoded(image, "jpeg", 3,
                 [&](const images::Pixels& pixels) { return images::encode_jpeg(pixels, options.quality); });
}

void write_png(const std::string& path, const Tensor& image) { write_file(path, png_bytes(image)); }

void write_jpeg(const std::string& path, const Tensor& image, const JpegOptions& options) {
  write_file(path, jpeg_bytes(image, options));
}

}  // namespace panto
