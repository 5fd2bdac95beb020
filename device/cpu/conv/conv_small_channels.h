// Gradients of convolutions by images of few channels, as photographs are.
//
// oneDNN's vectors are of channels: with three of them thirteen of sixteen lanes compute what nobody needs. Here they
// are of pixels that lie side by side, for which the rows of the output's gradient are turned, channel after channel.
// 3x3, four images of 256x256x3 to 8 channels, on two Zen 4 cores: 3.5 ms by oneDNN, 1.5 here. Columns of padding are
// zeros, which weights are multiplied by.
#pragma once

#include "panto/lib/ops/nn/window.h"

namespace panto::cpu {

// Whether that pays: few channels without groups, in NHWC, and windows without steps.
bool has_few_channels(const Convolution& c);
// `input` becomes the gradient. Every element is added up in an order of its own, whatever the number of threads.
void gradient_by_few_channels(const Convolution& c, float* input, const float* filter, const float* output);

}  // namespace panto::cpu
