#include "panto/device/cpu/conv/conv_sizes.h"

#include <algorithm>
#include <initializer_list>

namespace panto::cpu {
namespace {

int64_t saturated_product(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (const int64_t f : factors) {
    if (__builtin_mul_overflow(product, f, &product)) return INT64_MAX;
  }
  return product;
}

bool plain_axis(const WindowAxis& a) {
  return a.before < a.extent() && padding_after(a) < a.extent() && std::max(a.extent(), a.input) < (1 << 24);
}

}  // namespace

PlannedConvolution::PlannedConvolution(const VolumeConvolution& c) {
  axes = {.batch = 0, .height = 1, .width = 2, .channels = 3};
  if (c.channels_first()) axes = {.batch = 0, .height = 2, .width = 3, .channels = 1};
  height = c.height;
  width = c.width;
  batch = c.batch;
  in_channels = c.in_channels;
  out_channels = c.out_channels;
  const WindowAxis& d = c.depth;
  if (!c.channels_first() && d.size == 1 && d.stride == 1 && d.before == 0 && d.output == d.input) {
    batch *= d.input;
  } else {
    volumes = true;
    depth = d;
  }
}

int64_t filter_elements(const PlannedConvolution& c) {
  return saturated_product({c.depth.size, c.height.size, c.width.size, c.in_channels / c.groups, c.out_channels});
}
int64_t work_of(const PlannedConvolution& c) {
  return saturated_product({c.batch, c.depth.output, c.height.output, c.width.output, filter_elements(c)});
}

bool fits_onednn(const PlannedConvolution& c) {
  if (!plain_axis(c.depth) || !plain_axis(c.height) || !plain_axis(c.width)) return false;
  return filter_elements(c) < kLargestTile &&
         saturated_product({c.depth.input, c.height.input, c.width.input, c.in_channels}) < kLargestTile &&
         saturated_product({c.depth.output, c.height.output, c.width.output, c.out_channels}) < kLargestTile;
}

int64_t padding_after(const WindowAxis& a) {
  return std::max<int64_t>(0, (a.output - 1) * a.stride + a.extent() - a.input - a.before);
}

}  // namespace panto::cpu
