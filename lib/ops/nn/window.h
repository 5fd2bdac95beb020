// Windows that slide over the height and width of images: parameters of convolutions and pools, read once from a call's
// attributes for shape functions and kernels. Internal. What is constexpr may be called on a GPU, too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "panto/lib/base/checked.h"
#include "panto/lib/core/call/call.h"

namespace panto {

// The positions of an image's dimensions, from attribute `data_format`: NHWC or NCHW.
struct ImageAxes {
  int batch, height, width, channels;
  bool operator==(const ImageAxes&) const = default;
};
ImageAxes image_axes(std::string_view data_format);

// One of the dimensions that windows slide along. -1: unknown.
struct WindowAxis {
  int64_t input = -1;
  int64_t size = 1;  // elements of a window, `dilation` apart
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0, after = 0;  // padding; unknown ones are 0
  int64_t output = -1;

  bool operator==(const WindowAxis&) const = default;
  // The distance from a window's first element to its last, plus 1; -1 if unknown.
  int64_t extent() const { return size < 0 ? -1 : (size - 1) * dilation + 1; }
  // The elements [first, last) of the window at `position` that are not padding; there may be none.
  constexpr int64_t first(int64_t position) const {
    const int64_t at = begin(position);
    return at >= 0 ? 0 : ceil_div(-at, dilation);
  }
  constexpr int64_t last(int64_t position) const {
    const int64_t room = input - begin(position);
    return room <= 0 ? 0 : std::min(size, ceil_div(room, dilation));
  }
  // The input position at which the window at `position` begins; may be negative.
  constexpr int64_t begin(int64_t position) const { return position * stride - before; }
  // The input position of element i of the window at `position`; -1 for padding.
  constexpr int64_t place(int64_t position, int64_t i) const {
    const int64_t at = begin(position) + i * dilation;
    return at < input ? std::max<int64_t>(-1, at) : -1;
  }
};

struct Windows {
  ImageAxes axes;
  WindowAxis height, width;
  bool operator==(const Windows&) const = default;
};

// A convolution or one of its gradients, with the attributes of Conv2D.
struct Convolution : Windows {
  int64_t batch = -1;
  int64_t in_channels = -1, out_channels = -1;  // of all groups together
  int64_t groups = 1;

  bool operator==(const Convolution&) const = default;
  PartialShape input() const;
  PartialShape output() const;
  PartialShape filter() const;  // height, width, in_channels / groups, out_channels
  bool channels_first() const { return axes.channels == 1; }

 private:
  PartialShape image(int64_t h, int64_t w, int64_t channels) const;
};

// kOfGroups: each output channel reads a group of input channels; their number is the filter's third dimension.
// kDepthwise: each output channel reads one input channel; the filter is [height, width, channels, multiplier], and
// output channels are in the order of its last two dimensions.
enum class FilterKind : uint8_t { kOfGroups, kDepthwise };

// Reads a convolution's parameters, for an input and filter of these shapes (rank 4, or unknown). Throws
// InvalidArgument for invalid attributes and sizes, OutOfRange if products of sizes overflow.
PANTO_EXPORT Convolution convolution_of(const CallView& call, const PartialShape& input, const PartialShape& filter,
                                        FilterKind kind = FilterKind::kOfGroups);

// The number of multiplications and additions, saturated: each output element is a sum over the filter elements of one
// output channel.
int64_t convolution_flops(int64_t outputs, int64_t filter_elements, int64_t out_channels);
// The same of a depthwise one, by a filter of this height and width.
int64_t depthwise_flops(int64_t outputs, int64_t height, int64_t width);

// Reads a pool's parameters, for an input of this shape (rank 4, or unknown): attributes `ksize`, `strides`, `padding`
// and, if the op has it, `explicit_paddings`. Throws as above, and Unimplemented for windows over batch or channels.
PANTO_EXPORT Windows pool_of(const CallView& call, const PartialShape& input);
// The shape of the pool's result.
PartialShape pooled_shape(const Windows& windows, const PartialShape& input);

// ---- Volumes --------------------------------------------------------------------------------------------------------

// The positions of a volume's dimensions, from attribute `data_format`: NDHWC or NCDHW.
struct VolumeAxes {
  int batch, depth, height, width, channels;
};
VolumeAxes volume_axes(std::string_view data_format);

struct VolumeWindows {
  VolumeAxes axes;
  WindowAxis depth, height, width;
};

// Conv3D or one of its gradients.
struct VolumeConvolution : VolumeWindows {
  int64_t batch = -1, in_channels = -1, out_channels = -1;
  PartialShape input() const;
  PartialShape output() const;
  bool channels_first() const { return axes.channels == 1; }
};

// Like convolution_of and pool_of, for rank 5.
PANTO_EXPORT VolumeConvolution volume_convolution_of(const CallView& call, const PartialShape& input,
                                                     const PartialShape& filter);
PANTO_EXPORT VolumeWindows volume_pool_of(const CallView& call, const PartialShape& input);
PartialShape pooled_shape(const VolumeWindows& windows, const PartialShape& input);

// ---- Patches -------------------------------------------------------------------------------------------------------

// For ExtractImagePatches, over images [batch, height, width, channels]: attributes `ksizes`, `strides`, `rates` and
// `padding`.
PANTO_EXPORT Windows image_patches_of(const CallView& call, const PartialShape& input);
// For ExtractVolumePatches, over volumes [batch, depth, height, width, channels], without `rates`.
PANTO_EXPORT VolumeWindows volume_patches_of(const CallView& call, const PartialShape& input);
// For Dilation2D, over images as above: windows have the size of the filter [height, width, channels].
PANTO_EXPORT Windows dilation_of(const CallView& call, const PartialShape& input, const PartialShape& filter);

}  // namespace panto
