// Where the elements of a convolution's tensors lie, as oneDNN is told of it.
#pragma once

#include <dnnl.h>

#include <cstdint>

#include "panto/device/cpu/conv/conv_sizes.h"

namespace panto::cpu {

// The numbers of each side, in order.
struct WindowNumbers {
  dnnl_dims_t strides, dilations, before, after;
};
// `before`, `after`: padding of the first side.
WindowNumbers window_numbers(const PlannedConvolution& c, int64_t before, int64_t after);

// The filter in our layout, [depth,] height, width, channels, output channels, or in that which oneDNN chooses; with
// groups as its first dimension where there are several.
dnnl_memory_desc_t filter_desc(const PlannedConvolution& c, bool ours);
// Of a tile's input or output: `count` images, `rows` positions of their first side.
struct TileSize {
  bool input;
  int64_t count, rows;
};
// In our layout, in images that have `of` positions there.
dnnl_memory_desc_t tile_desc(const PlannedConvolution& c, const TileSize& tile, int64_t of);
// In that which oneDNN chooses.
dnnl_memory_desc_t chosen_tile_desc(const PlannedConvolution& c, const TileSize& tile);

}  // namespace panto::cpu
