// Pooling on all devices: sizes and the comparison of maxima.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "panto/device/math/vocabulary.h"
#include "panto/lib/ops/nn/window.h"

namespace panto {

// The sizes of a pooling of images, or of volumes (images have depth 1). Channels-last input has one lane per channel.
// Channels-first input counts each channel as an image of its own with one lane.
struct PoolShape {
  WindowAxis depth{.input = 1, .output = 1}, height, width;
  int64_t images, lanes;

  PoolShape(const CallView& call, const PartialShape& input) {
    if (input.rank() == 5) {
      const VolumeWindows w = volume_pool_of(call, input);
      depth = w.depth;
      take(w, input);
    } else {
      take(pool_of(call, input), input);
    }
  }

  int64_t in_image() const { return depth.input * height.input * width.input * lanes; }
  int64_t out_image() const { return depth.output * height.output * width.output * lanes; }
  // Throws InvalidArgument if the type of MaxPoolWithArgmax's second result, int32 or int64, cannot hold the positions.
  void expect_positions_fit(const KernelContext& c) const {
    const int64_t last = (c.flag("include_batch_in_index") ? images : 1) * in_image() - 1;
    if (c.out(1).dtype() == kInt32 && last > std::numeric_limits<int32_t>::max()) {
      fail(Code::kInvalidArgument,
           "Targmax: expected int64 for positions up to " + std::to_string(last) + ", got int32");
    }
  }

 private:
  template <class W>
  void take(const W& w, const PartialShape& input) {
    height = w.height;
    width = w.width;
    const int64_t channels = input.dim(w.axes.channels);
    const bool first = w.axes.channels == 1;
    images = input.dim(w.axes.batch) * (first ? channels : 1);
    lanes = first ? 1 : channels;
  }
};

// The maximum of a window that covers padding only.
template <class T>
PANTO_FN constexpr T lowest() {
  return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
}

// Whether `v` replaces the maximum `best`. The first of equal values stays; a NaN replaces a number and is never
// replaced.
template <class T>
PANTO_FN bool beats(T v, T best) {
  return (v > best) | ((v != v) & (best == best));
}

}  // namespace panto
