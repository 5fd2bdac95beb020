// A tensor seen from its channels.
#pragma once

#include <cstdint>

#include "panto/lib/core/tensor/shape.h"

namespace panto {

// A tensor as [outer, channels, inner]; inner is 1 if channels are the last axis.
struct Channels {
  int64_t outer = 1, channels, inner = 1;

  // `axis`: the channel axis.
  Channels(const Shape& x, int axis) : channels(x[axis]) {
    for (int k = 0; k < axis; ++k) outer *= x[k];
    for (int k = axis + 1; k < x.rank(); ++k) inner *= x[k];
  }
  int64_t numel() const { return outer * channels * inner; }
  int64_t each() const { return outer * inner; }  // elements per channel
};

}  // namespace panto
