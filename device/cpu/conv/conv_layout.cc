#include "panto/device/cpu/conv/conv_layout.h"

#include <algorithm>

#include "panto/device/cpu/conv/onednn.h"

namespace panto::cpu {
namespace {

// A stride beyond the end of the padded input is never taken; set it to the smallest value that is not taken either.
int64_t stride_of(const WindowAxis& a) { return std::min(a.stride, a.input + a.before + padding_after(a) + 1); }
// oneDNN's dilation counts the elements that are skipped.
int64_t dilation_of(const WindowAxis& a) { return a.size > 1 ? a.dilation - 1 : 0; }

// The spatial dimensions, outermost first.
struct Sides {
  int count;
  const WindowAxis* axes[3];
};
Sides sides_of(const PlannedConvolution& c) {
  if (c.volumes) return {3, {&c.depth, &c.height, &c.width}};
  return {2, {&c.height, &c.width, nullptr}};
}

dnnl_memory_desc_t any_layout(int rank, const dnnl_dims_t dims, DType type) {
  dnnl_memory_desc_t desc;
  check_dnnl(dnnl_memory_desc_init_by_tag(&desc, rank, dims, dnnl_type(type), dnnl_format_tag_any), "layout");
  return desc;
}

void set_tile_dims(const PlannedConvolution& c, const TileSize& tile, dnnl_dims_t dims) {
  const Sides sides = sides_of(c);
  dims[0] = tile.count;
  dims[1] = tile.input ? c.in_channels : c.out_channels;
  for (int i = 0; i < sides.count; ++i) dims[2 + i] = tile.input ? sides.axes[i]->input : sides.axes[i]->output;
  dims[2] = tile.rows;
}

}  // namespace

WindowNumbers window_numbers(const PlannedConvolution& c, int64_t before, int64_t after) {
  WindowNumbers n{};
  const Sides sides = sides_of(c);
  for (int i = 0; i < sides.count; ++i) {
    const WindowAxis& a = *sides.axes[i];
    n.strides[i] = stride_of(a);
    n.dilations[i] = dilation_of(a);
    n.before[i] = i == 0 ? before : a.before;
    n.after[i] = i == 0 ? after : padding_after(a);
  }
  return n;
}

dnnl_memory_desc_t filter_desc(const PlannedConvolution& c, DType type, bool ours) {
  const Sides sides = sides_of(c);
  const int64_t in = c.in_channels / c.groups, out = c.out_channels, each = out / c.groups;
  const int groups = c.groups > 1 ? 1 : 0;
  const int rank = groups + 2 + sides.count;
  dnnl_dims_t dims = {}, strides = {};
  if (groups > 0) {
    dims[0] = c.groups;
    strides[0] = each;
  }
  dims[groups] = each;
  strides[groups] = 1;
  dims[groups + 1] = in;
  strides[groups + 1] = out;
  int64_t step = in * out;
  for (int i = sides.count - 1; i >= 0; --i) {
    dims[groups + 2 + i] = sides.axes[i]->size;
    strides[groups + 2 + i] = step;
    step *= sides.axes[i]->size;
  }
  if (!ours) return any_layout(rank, dims, type);
  dnnl_memory_desc_t desc;
  check_dnnl(dnnl_memory_desc_init_by_strides(&desc, rank, dims, dnnl_type(type), strides), "filter");
  return desc;
}

dnnl_memory_desc_t tile_desc(const PlannedConvolution& c, DType type, const TileSize& tile, int64_t of) {
  dnnl_dims_t dims = {}, strides = {};
  set_tile_dims(c, tile, dims);
  const int rank = 2 + sides_of(c).count;
  const int64_t plane = of * (tile.input ? c.in_pixels() : c.out_pixels());
  strides[0] = plane * dims[1];
  strides[1] = c.channels_first() ? plane : 1;
  int64_t step = c.channels_first() ? 1 : dims[1];
  for (int i = rank - 1; i >= 2; --i) {
    strides[i] = step;
    step *= dims[i];
  }
  dnnl_memory_desc_t desc;
  check_dnnl(dnnl_memory_desc_init_by_strides(&desc, rank, dims, dnnl_type(type), strides), "images");
  return desc;
}

dnnl_memory_desc_t chosen_tile_desc(const PlannedConvolution& c, DType type, const TileSize& tile) {
  dnnl_dims_t dims = {};
  set_tile_dims(c, tile, dims);
  return any_layout(2 + sides_of(c).count, dims, type);
}

}  // namespace panto::cpu
