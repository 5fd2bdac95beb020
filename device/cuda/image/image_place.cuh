// Coordinates of elements of images.
#pragma once

#include <cstdint>

namespace panto::cuda {

// The place of element i of images [image, y, x, channel].
struct ImagePlace {
  int64_t image, y, x, channel;
  __device__ ImagePlace(int64_t i, int64_t height, int64_t width, int64_t channels) {
    channel = i % channels;
    i /= channels;
    x = i % width;
    i /= width;
    y = i % height;
    image = i / height;
  }
};

}  // namespace panto::cuda
