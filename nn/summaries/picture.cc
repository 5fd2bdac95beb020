#include "panto/nn/summaries/picture.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/nn/data/image.h"
#include "panto/nn/summaries/encode.h"
#include "panto/nn/summaries/report_parts.h"

namespace panto {
namespace {

// uint8 [height, width, channels] in host memory.
Tensor pixels_of(const Tensor& x) {
  const RecorderPause pause;  // not part of the recorded computation
  const Shape& shape = x.shape();
  const int rank = shape.rank();
  if ((rank != 2 && rank != 3) || shape.numel() == 0 || (rank == 3 && shape[2] > 4)) {
    invalid("image: expected [height, width], or [height, width, channels] with 1 to 4 channels, got {}",
            whole(shape.to_string()));
  }
  Tensor t = x.dtype() == kBool ? x.cast(kFloat32) : x;
  if (t.dtype() != kUint8 && !dtypes::kFloating.contains(t.dtype())) {
    invalid("image: expected uint8, bool or a floating-point dtype, got {}", dtype_name(t.dtype()));
  }
  t = summaries::image_bytes(t).cpu();
  return rank == 3 ? t : view_tensor(t, Shape{shape[0], shape[1], int64_t{1}});
}

using Colour = std::array<int, 3>;

// Scales an image down: each pixel is the mean of the pixels that it replaces.
class Smaller {
 public:
  Smaller(const Tensor& pixels, int64_t width, int64_t height)
      : bytes_(pixels.data<uint8_t>().data()),
        full_height_(pixels.shape()[0]),
        full_width_(pixels.shape()[1]),
        channels_(pixels.shape()[2]),
        width_(width),
        height_(height) {}

  Colour at(int64_t row, int64_t column) const {
    const int64_t top = row * full_height_ / height_, left = column * full_width_ / width_;
    const int64_t bottom = std::max(top + 1, (row + 1) * full_height_ / height_);
    const int64_t right = std::max(left + 1, (column + 1) * full_width_ / width_);
    std::array<int64_t, 3> sums{};
    for (int64_t y = top; y < bottom; ++y) {
      for (int64_t x = left; x < right; ++x) {
        const uint8_t* pixel = bytes_ + (y * full_width_ + x) * channels_;
        const int64_t alpha = channels_ % 2 == 0 ? pixel[channels_ - 1] : 255;
        for (size_t k = 0; k < 3; ++k) sums[k] += pixel[channels_ < 3 ? 0 : k] * alpha;
      }
    }
    const int64_t all = (bottom - top) * (right - left) * 255;
    Colour colour{};
    for (size_t k = 0; k < 3; ++k) colour[k] = static_cast<int>(sums[k] / all);
    return colour;
  }

 private:
  const uint8_t* bytes_;
  int64_t full_height_, full_width_, channels_, width_, height_;
};

// By ITU-R BT.601.
int brightness(const Colour& c) { return (299 * c[0] + 587 * c[1] + 114 * c[2]) / 1000; }

}  // namespace

std::string image_text(const Tensor& x, const ImageTextOptions& options) {
  constexpr int64_t kMostColumns = 1000, kMostRows = 4000;
  if (options.width < 1 || options.width > kMostColumns) {
    invalid("image: expected a width of 1 to {}, got {}", kMostColumns, options.width);
  }
  const Tensor pixels = pixels_of(x);
  const int64_t height = pixels.shape()[0], width = pixels.shape()[1];
  const int64_t columns = std::min(width, options.width);
  // A line shows two rows of pixels, since characters are twice as high as wide. In doubles, which do not overflow.
  const double scaled = static_cast<double>(height) * static_cast<double>(columns) / static_cast<double>(width);
  const auto rows = static_cast<int64_t>(std::clamp(scaled / 2 + 0.5, 1.0, static_cast<double>(kMostRows)));
  std::string text;
  if (options.ascii.value_or(false)) {
    static constexpr std::string_view kShades = " .:-=+*#%@";
    const Smaller image(pixels, columns, rows);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) {
        text += kShades[static_cast<size_t>(brightness(image.at(r, c))) * kShades.size() / 256];
      }
      text += '\n';
    }
    return text;
  }
  const bool one = height == 1;
  const Smaller image(pixels, columns, one ? 1 : 2 * rows);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      const Colour above = image.at(one ? 0 : 2 * r, c), below = one ? Colour{} : image.at(2 * r + 1, c);
      text += fmt::format("\x1b[38;2;{};{};{}m\x1b[48;2;{};{};{}m\u2580", above[0], above[1], above[2], below[0],
                          below[1], below[2]);
    }
    text += "\x1b[0m\n";
  }
  return text;
}

std::string image_svg(const Tensor& x) {
  constexpr int64_t kLeast = 256;
  const Tensor pixels = pixels_of(x);
  const int64_t height = pixels.shape()[0], width = pixels.shape()[1], longer = std::max(height, width);
  const int64_t scale = (kLeast + longer - 1) / longer;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{2}\" height=\"{3}\">\n"
      "<image href=\"{4}\" width=\"{0}\" height=\"{1}\" style=\"image-rendering:pixelated\"/>\n</svg>\n",
      width, height, width * scale, height * scale, whole(summaries::data_url(png_bytes(pixels))));
}

void image(const Tensor& x, const ImageTextOptions& options) {
  if (options.path.ends_with(".png")) return write_png(options.path, pixels_of(x));
  if (options.path.ends_with(".svg")) return write_file(options.path, image_svg(x));
  if (!options.path.empty()) invalid("image: expected a path *.png or *.svg, got '{}'", options.path);
  ImageTextOptions how = options;
  if (!how.ascii) how.ascii = isatty(STDOUT_FILENO) == 0;
  const std::string text = image_text(x, how);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void image(const Tensor& x) { image(x, ImageTextOptions()); }

}  // namespace panto
