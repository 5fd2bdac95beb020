// Shared code of shape functions of image ops: [batch, height, width, channels]. Internal.
#pragma once

#include <cstdint>
#include <optional>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/array/values.h"

namespace panto::images {

inline int64_t dim_of(const PartialShape& shape, int k) { return shape.known_rank() ? shape.dim(k) : kUnknownDim; }

// The height and width that input i holds. Throws InvalidArgument if one is below `least`.
struct Size {
  int64_t height = kUnknownDim, width = kUnknownDim;
};
inline Size size_from(const ShapeContext& c, int i, const char* name, int64_t least = 1) {
  const int64_t count = c.vector(i);
  if (count >= 0 && count != 2) invalid("{}: expected a height and a width, got {} numbers", name, count);
  const KnownIntegers values(c, i, 2);
  Size size;
  for (int k = 0; k < 2; ++k) {
    const std::optional<int64_t> value = values.get(k);
    if (value && *value < least) invalid("{}[{}]: expected at least {}, got {}", name, k, least, *value);
    (k == 0 ? size.height : size.width) = value.value_or(kUnknownDim);
  }
  return size;
}

// Throws InvalidArgument unless input i holds images of at least one pixel.
inline void expect_pixels(const ShapeContext& c, int i, const char* name) {
  c.expect_rank(i, 4);
  for (const int k : {1, 2}) {
    if (dim_of(c.shape(i), k) == 0) {
      invalid("{}: expected a height and width of at least 1, got shape {}", name, c.shape(i).to_string());
    }
  }
}

inline PartialShape resized(const PartialShape& images, const Size& size) {
  return PartialShape{dim_of(images, 0), size.height, size.width, dim_of(images, 3)};
}

}  // namespace panto::images
