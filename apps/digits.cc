#include "panto/apps/digits.h"

#include <fmt/core.h>

#include <algorithm>

namespace panto::apps {

std::string draw_digits(const Tensor& images, const std::vector<std::string>& captions) {
  static constexpr const char* kShades[] = {" ", "\u2591", "\u2592", "\u2593", "\u2588"};
  const auto pixels = images.data<float>();
  const int64_t rows = images.dim(1);
  const int64_t columns = images.dim(2);
  std::string text;
  // A character is about twice as high as wide, so it shows two pixels, one above the other.
  for (int64_t r = 0; r + 1 < rows; r += 2) {
    for (int64_t i = 0; i < images.dim(0); ++i) {
      const auto at = [&](int64_t row, int64_t column) {
        return pixels[static_cast<size_t>((i * rows + row) * columns + column)];
      };
      for (int64_t c = 0; c < columns; ++c) {
        const float mean = (at(r, c) + at(r + 1, c)) / 2;
        text += kShades[std::clamp(static_cast<int>(mean * 4.999f), 0, 4)];
      }
      text += ' ';
    }
    text += '\n';
  }
  for (const std::string& caption : captions) text += fmt::format("{:^{}} ", caption, columns);
  return text + "\n";
}

}  // namespace panto::apps
