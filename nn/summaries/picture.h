// Shows an image in the terminal, or writes it to a PNG or SVG file.
//
//   image(x(0));                                   // [height, width] or [height, width, channels]
//   image(weights, {.path = "w.png"});             // or .svg: larger, for pages
//
// In a terminal each character shows two pixels, in colours; elsewhere, and with `ascii`, darker and lighter
// characters. For curves see plot.h. Thread-safety: plain functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

struct ImageTextOptions {
  int64_t width = 64;           // the most characters per line: 1 to 1000; larger images are scaled down
  std::optional<bool> ascii{};  // none: true unless standard output is a terminal
  std::string path = "";        // "x.png", "x.svg": a file instead of text
};

// x is uint8, bool, or floating, clipped to [0, 1]; 1 to 4 channels: grey; grey and alpha; red, green, blue; or red,
// green, blue and alpha. Alpha is drawn on black. Writes to standard output, or to the file, whole or not at all. Throw
// InvalidArgument for other tensors and options, FailedPrecondition for symbolic ones, and as write_file.
PANTO_EXPORT void image(const Tensor& x, const ImageTextOptions& options);
PANTO_EXPORT void image(const Tensor& x);
// `ascii`: none is false.
PANTO_EXPORT std::string image_text(const Tensor& x, const ImageTextOptions& options);
// Each pixel as a square, so large that the longer side has at least 256 units.
PANTO_EXPORT std::string image_svg(const Tensor& x);

}  // namespace panto
