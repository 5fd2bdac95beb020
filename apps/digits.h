// Handwritten digits as text.
#pragma once

#include <string>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"

namespace panto::apps {

// Draws images [n, rows, columns] (float32 in [0, 1], host memory) side by side, two rows of pixels a line of text,
// with `captions` (one each) below. Shades are block characters.
std::string draw_digits(const Tensor& images, const std::vector<std::string>& captions);

}  // namespace panto::apps
