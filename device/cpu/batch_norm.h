// Batch normalisation of one element by given moments. The kernel of it and the convolutions that do it themselves
// share these, so that both give the same bits.
#pragma once

#include <cmath>

namespace panto::cpu {

// Of a channel.
inline float norm_factor(float scale, float variance, float epsilon) { return scale / std::sqrt(variance + epsilon); }

[[gnu::always_inline]] inline float normalised(float x, float mean, float factor, float offset) {
  return (x - mean) * factor + offset;
}

}  // namespace panto::cpu
