// Handwritten digits as text.
#pragma once

#include <string>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"

namespace panto::apps {

// Draws images [n, rows, columns] (float32 in [0, 1], host memory) side by side, with two rows of pixels per line of
// text and one of `captions` below each image. Shades are block characters.
std::string draw_digits(const Tensor& images, const std::vector<std::string>& captions);

}  // namespace panto::apps
