// One file each for libpng and libjpeg, both of which report errors by longjmp. Internal.
//
// longjmp runs no destructors. Each of the two files has one function that calls setjmp; what runs under it are calls
// of the library and nothing that has a destructor.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "panto/lib/core/tensor/tensor.h"

namespace panto::images {

// uint8 [height, width, channels] with the file's channels. Throw DataLoss, ResourceExhausted beyond max_bytes.
Tensor decode_png(std::string_view bytes, int64_t max_bytes);
Tensor decode_jpeg(std::string_view bytes, int64_t max_bytes);

// An image to be written: checked, in host memory.
struct Pixels {
  const unsigned char* data;
  int64_t height, width, channels;
};
std::string encode_png(const Pixels& pixels);
std::string encode_jpeg(const Pixels& pixels, int quality);

// Memory for a decoded image. Throws ResourceExhausted where it would be larger than max_bytes.
Tensor allocate_image(int64_t height, int64_t width, int64_t channels, int64_t max_bytes);

}  // namespace panto::images
