// CropAndResize on all devices: which pixels of an image make a pixel of a crop, in TensorFlow's float32 arithmetic.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "panto/device/math/convert.h"
#include "panto/device/math/resize.h"
#include "panto/device/math/rounded.h"
#include "panto/device/math/vocabulary.h"
#include "panto/lib/core/call/call.h"

namespace panto {

// Maps pixels of a crop to places along one dimension of an image.
struct CropAxis {
  int64_t from;  // the image's rows or columns
  int64_t to;    // of the crop
  float begin, end;

  PANTO_FN float last() const { return static_cast<float>(from - 1); }
  PANTO_FN float ratio() const { return to > 1 ? last() / static_cast<float>(to - 1) : 0; }
  PANTO_FN float place(int64_t i) const {
    if (to <= 1) return 0.5F * (begin + end) * last();
    const float scale = (end - begin) * last() / static_cast<float>(to - 1);
    return rounded(begin * last()) + rounded(static_cast<float>(i) * scale);
  }
  // NaN counts as outside.
  PANTO_FN bool has(float place) const { return place >= 0 && place <= last(); }
  // The clamp is needed because float32 may round up by one.
  PANTO_FN int64_t inside(float whole) const { return std::min(static_cast<int64_t>(whole), from - 1); }
  // Derivatives of place(i) with respect to `begin` and `end`.
  PANTO_FN float by_begin(int64_t i) const { return to > 1 ? last() - static_cast<float>(i) * ratio() : 0.5F * last(); }
  PANTO_FN float by_end(int64_t i) const { return to > 1 ? static_cast<float>(i) * ratio() : 0.5F * last(); }
};

// The two rows or columns around a place, and the fraction from the lower to the upper one.
PANTO_FN Between around(const CropAxis& a, float place) {
  return {a.inside(std::floor(place)), a.inside(std::ceil(place)), place - std::floor(place)};
}

// The sizes of a call, its boxes and the images that they are in; the numbers of images are not checked.
struct Crops {
  int64_t images, height, width, channels, boxes, crop_height, crop_width;
  const float* corners;
  const int32_t* numbers;

  // `image` and `crops`: shapes; `first`: the input with the boxes.
  Crops(const KernelContext& c, const Shape& image, const Shape& crops, int first)
      : images(image.dim(0)),
        height(image.dim(1)),
        width(image.dim(2)),
        channels(image.dim(3)),
        boxes(crops.dim(0)),
        crop_height(crops.dim(1)),
        crop_width(crops.dim(2)),
        corners(c.data<float>(first)),
        numbers(c.data<int32_t>(first + 1)) {}

  PANTO_FN CropAxis rows(int64_t box) const { return along(height, crop_height, box, 0); }
  PANTO_FN CropAxis columns(int64_t box) const { return along(width, crop_width, box, 1); }
  PANTO_FN int64_t image_at(int64_t box) const { return numbers[box] * height * width * channels; }
  PANTO_FN int64_t pixel(int64_t y, int64_t x) const { return (y * width + x) * channels; }
  PANTO_FN int64_t crop_at(int64_t box, int64_t y, int64_t x) const {
    return ((box * crop_height + y) * crop_width + x) * channels;
  }
  int64_t work() const { return boxes * crop_height * crop_width * channels * 32; }

 private:
  PANTO_FN CropAxis along(int64_t size, int64_t to, int64_t box, int first) const {
    return {size, to, corners[4 * box + first], corners[4 * box + first + 2]};
  }
};

// The four pixels of an image around a place, and the fractions of the way between them.
template <class T>
struct CropCorners {
  const T *top_left, *top_right, *bottom_left, *bottom_right;
  float down, right;

  // `image` points to the first pixel of the image.
  PANTO_FN CropCorners(const Crops& crops, const T* image, const Between& row, const Between& column)
      : top_left(image + crops.pixel(row.lower, column.lower)),
        top_right(image + crops.pixel(row.lower, column.upper)),
        bottom_left(image + crops.pixel(row.upper, column.lower)),
        bottom_right(image + crops.pixel(row.upper, column.upper)),
        down(row.way),
        right(column.way) {}

  // Returns channel k at the place.
  PANTO_FN float value(int64_t k) const {
    const float above = at(top_left, k) + (at(top_right, k) - at(top_left, k)) * right;
    const float below = at(bottom_left, k) + (at(bottom_right, k) - at(bottom_left, k)) * right;
    return above + (below - above) * down;
  }
  // Return the derivatives of value(k) along the height and the width.
  PANTO_FN float by_y(int64_t k) const {
    return (1 - right) * (at(bottom_left, k) - at(top_left, k)) + right * (at(bottom_right, k) - at(top_right, k));
  }
  PANTO_FN float by_x(int64_t k) const {
    return (1 - down) * (at(top_right, k) - at(top_left, k)) + down * (at(bottom_right, k) - at(bottom_left, k));
  }

 private:
  PANTO_FN static float at(const T* pixel, int64_t k) { return convert<float>(pixel[k]); }
};

}  // namespace panto
