// An image in the terminal, or in a PNG or SVG file.
//
//   image(x(0));                                   // [height, width] or [height, width, channels]
//   image(weights, {.path = "w.png"});             // or .svg: larger, for pages
//
// In a terminal each character is two pixels, in colours; elsewhere, and with `ascii`, characters that are darker or
// lighter. Curves: plot.h. Thread-safety: plain functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

struct ImageTextOptions {
  int64_t width = 64;           // of the text at most, in characters: 1 to 1000; larger images are made smaller
  std::optional<bool> ascii{};  // none: whether standard output is no terminal
  std::string path = "";        // "x.png", "x.svg": a file instead of text
};

// uint8, bool, or floating from 0 to 1 (others become the nearer of these); 1 to 4 channels: grey; grey and alpha; red,
// green, blue; or those and alpha, which lies on black. Writes to standard output, or to the file, whole or not at all.
// Throw InvalidArgument for other tensors and options, FailedPrecondition for symbolic ones, and as write_file.
PANTO_EXPORT void image(const Tensor& x, const ImageTextOptions& options);
PANTO_EXPORT void image(const Tensor& x);
// `ascii`: none is false.
PANTO_EXPORT std::string image_text(const Tensor& x, const ImageTextOptions& options);
// The pixels as they are, each as a square: so large that the longer side has at least 256 units.
PANTO_EXPORT std::string image_svg(const Tensor& x);

}  // namespace panto
