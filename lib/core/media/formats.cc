#include "panto/lib/base/checked.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/media/codecs.h"
#include "panto/lib/core/tensor/tensor_alloc.h"

namespace panto::images {

Format format_of(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return Format::kPng;
  if (bytes.starts_with("\xff\xd8\xff")) return Format::kJpeg;
  if (bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a")) return Format::kGif;
  if (bytes.starts_with("BM")) return Format::kBmp;
  return Format::kUnknown;
}

std::string_view name_of(Format format) {
  switch (format) {
    case Format::kPng: return "PNG";
    case Format::kJpeg: return "JPEG";
    case Format::kGif: return "GIF";
    case Format::kBmp: return "BMP";
    case Format::kUnknown: break;
  }
  return "unknown format";
}

Tensor allocate_image(const Shape& shape, int64_t max_bytes, DType type) {
  expect_small(shape, max_bytes, type);
  return allocate_tensor(cpu_device(), type, shape);
}

void expect_small(const Shape& shape, int64_t max_bytes, DType type) {
  auto bytes = static_cast<int64_t>(dtype_size(type));
  for (const int64_t dim : shape.dims()) bytes = checked_mul(bytes, dim, "image");
  if (bytes > max_bytes) {
    failf(Code::kResourceExhausted, "image: expected at most {} bytes when decoded{}, got {}", max_bytes,
          max_bytes == kMostBytes ? "" : " (ImageOptions::max_bytes)", bytes);
  }
}

}  // namespace panto::images
