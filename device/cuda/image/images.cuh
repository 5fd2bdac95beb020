// Coordinates of elements of images, and of the elements that read them.
#pragma once

#include <cstdint>

#include "panto/device/cuda/bisect.cuh"

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

// The resized rows or columns [begin, end) that may read the original one at a place.
struct Readers {
  int64_t begin, end;
  // Of n. lowest(i) and highest(i) are the ends of what i reads; neither falls with i.
  template <class Lowest, class Highest>
  __device__ Readers(int64_t n, int64_t at, const Lowest& lowest, const Highest& highest)
      : begin(first_with(n, [&](int64_t i) { return highest(i) >= at; })),
        end(first_with(n, [&](int64_t i) { return lowest(i) > at; })) {}
};

}  // namespace panto::cuda
