// The sizes of a convolution of images or volumes, and which of them oneDNN takes.
#pragma once

#include <cstdint>

#include "panto/lib/ops/nn/window.h"

namespace panto::cpu {

// Of images, or of volumes: of these `axes` say only where the channels are. Along its first side, the depth of a
// volume and the height of an image, a convolution may be cut.
struct PlannedConvolution : Convolution {
  PlannedConvolution(const Convolution& c) : Convolution(c) {}  // NOLINT(google-explicit-constructor): one kind of it
  // Where windows are one plane deep, of images: the planes.
  PlannedConvolution(const VolumeConvolution& c);  // NOLINT(google-explicit-constructor): the other kind

  bool volumes = false;
  WindowAxis depth{.input = 1, .output = 1};

  bool operator==(const PlannedConvolution&) const = default;
  const WindowAxis& first_side() const { return volumes ? depth : height; }
  // Pixels at one position of the first side.
  int64_t in_pixels() const { return volumes ? height.input * width.input : width.input; }
  int64_t out_pixels() const { return volumes ? height.output * width.output : width.output; }
  // Elements of an image or a volume.
  int64_t in_elements() const { return first_side().input * in_pixels() * in_channels; }
  int64_t out_elements() const { return first_side().output * out_pixels() * out_channels; }
};

// Saturated.
int64_t filter_elements(const PlannedConvolution& c);
// Multiplications, saturated.
int64_t work_of(const PlannedConvolution& c);

inline constexpr int64_t kLargestTile = 1 << 28;  // elements: their offsets fit 32 bits also in bytes
// Whether its sizes are those that oneDNN takes: one image is no larger, and no window is nothing but padding.
bool fits_onednn(const PlannedConvolution& c);

// Positions after the last element that a window covers, as padding that oneDNN accepts.
int64_t padding_after(const WindowAxis& a);

}  // namespace panto::cpu
