// Batch normalisation of one element by given moments. The kernels of it and the convolutions that do it themselves
// share these, so that both give the same bits.
#pragma once

#include "panto/device/vocabulary.h"

namespace panto {

// Of a channel.
PANTO_FN float norm_factor(float scale, float variance, float epsilon) { return scale / k::sqrt(variance + epsilon); }

PANTO_FN float normalised(float x, float mean, float factor, float offset) { return (x - mean) * factor + offset; }

}  // namespace panto
