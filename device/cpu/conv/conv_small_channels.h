// Gradients of convolutions by images with few channels, such as photographs.
//
// oneDNN's vectors hold channels: with three channels thirteen of sixteen lanes compute unused values. Here vectors
// hold neighbouring pixels; for that the rows of the output's gradient are transposed to one row per channel. Padding
// columns are zeros that are multiplied like other columns. 3x3, four images of 256x256x3 to 8 channels, on two Zen 4
// cores: 3.5 ms by oneDNN, 1.5 here.
#pragma once

#include "panto/lib/ops/nn/window.h"

namespace panto::cpu {

// Whether this is faster than oneDNN: few channels without groups, in NHWC, and windows with stride 1.
bool has_few_channels(const Convolution& c);
// Writes the gradient to `input`. Every element is added up in a fixed order, whatever the number of threads.
void gradient_by_few_channels(const Convolution& c, float* input, const float* filter, const float* output);

}  // namespace panto::cpu
