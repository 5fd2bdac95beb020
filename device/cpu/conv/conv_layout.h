// oneDNN's descriptions of a convolution's tensors.
#pragma once

#include <dnnl.h>

#include <cstdint>

#include "panto/device/cpu/conv/conv_sizes.h"
#include "panto/lib/core/tensor/dtype.h"

namespace panto::cpu {

// Window parameters, one number per spatial dimension.
struct WindowNumbers {
  dnnl_dims_t strides, dilations, before, after;
};
// `before`, `after`: the padding of the first spatial dimension.
WindowNumbers window_numbers(const PlannedConvolution& c, int64_t before, int64_t after);

// The filter in our layout ([depth,] height, width, channels, output channels) or in one that oneDNN chooses. Several
// groups are an additional first dimension. `type`: of the elements, here and below.
dnnl_memory_desc_t filter_desc(const PlannedConvolution& c, DType type, bool ours);
// A tile's input or output: `count` images, `rows` positions of the first spatial dimension.
struct TileSize {
  bool input;
  int64_t count, rows;
};
// In our layout, as part of images whose first spatial dimension has size `of`.
dnnl_memory_desc_t tile_desc(const PlannedConvolution& c, DType type, const TileSize& tile, int64_t of);
// In a layout that oneDNN chooses.
dnnl_memory_desc_t chosen_tile_desc(const PlannedConvolution& c, DType type, const TileSize& tile);

}  // namespace panto::cpu
