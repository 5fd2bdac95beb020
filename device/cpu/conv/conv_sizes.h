// The sizes of a convolution of images or volumes, and which sizes oneDNN can compute.
#pragma once

#include <cstdint>

#include "panto/lib/ops/nn/window.h"

namespace panto::cpu {

// A convolution of images or of volumes. For volumes, `axes` tells only where the channels are. A convolution may be
// cut into bands along its first side: the height of images, the depth of volumes.
struct PlannedConvolution : Convolution {
  PlannedConvolution(const Convolution& c) : Convolution(c) {}  // NOLINT(google-explicit-constructor): one kind of it
  // If windows are one plane deep, this becomes a convolution of images: the planes.
  PlannedConvolution(const VolumeConvolution& c);  // NOLINT(google-explicit-constructor): the other kind

  bool volumes = false;
  bool bfloat16 = false;  // what is read; what is written is float32
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

// Windows of all images: output pixels.
inline int64_t windows_of(const Convolution& c) { return c.batch * c.height.output * c.width.output; }
// Saturated.
int64_t filter_elements(const PlannedConvolution& c);
// Multiplications, saturated.
int64_t work_of(const PlannedConvolution& c);

inline constexpr int64_t kLargestTile = 1 << 28;  // in elements: offsets fit 32 bits also in bytes
// Whether oneDNN is used for these sizes: an image has fewer than kLargestTile elements, and no window covers padding
// only.
bool fits_onednn(const PlannedConvolution& c);

// How many positions behind the last element the windows cover, at least 0: the padding that oneDNN accepts.
int64_t padding_after(const WindowAxis& a);

}  // namespace panto::cpu
