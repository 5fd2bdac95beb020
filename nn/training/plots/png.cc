// Renders a drawing as pixels, two per unit: lines with soft edges, and letters of a small font.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "panto/lib/core/media/codecs.h"
#include "panto/nn/training/plots/drawing.h"
#include "panto/nn/training/plots/glyphs.h"

namespace panto::plots {
namespace {

constexpr int kPixels = 2;  // per unit
constexpr int kColumns = kWidth * kPixels, kRows = kHeight * kPixels;

class Canvas {
 public:
  Canvas() : bytes_(static_cast<size_t>(kColumns * kRows * 3), 255), covered_(static_cast<size_t>(kColumns * kRows)) {}

  void draw(const Line& line) {
    std::ranges::fill(covered_, 0.F);
    const double half = line.width * kPixels / 2;
    for (const std::vector<Point>& part : line.parts) {
      for (size_t i = 0; i + 1 < std::max<size_t>(part.size(), 2); ++i) {
        cover(scaled(part[i]), scaled(part[std::min(i + 1, part.size() - 1)]), half);
      }
    }
    for (int y = 0; y < kRows; ++y) {
      for (int x = 0; x < kColumns; ++x) blend(x, y, line.colour, covered_[static_cast<size_t>(y * kColumns + x)]);
    }
  }

  void draw(const Label& label) {
    const std::vector<const Glyph*> letters = glyphs_of(label.text);
    constexpr int kDot = kPixels;  // the size of a dot of the font
    const int advance = (kGlyphWidth + 1) * kDot;
    const int width = static_cast<int>(letters.size()) * advance - kDot;
    const Point at = scaled(label.at);
    int left = static_cast<int>(std::lround(at.x));
    if (label.anchor == Anchor::kMiddle) left -= width / 2;
    if (label.anchor == Anchor::kEnd) left -= width;
    const int top = static_cast<int>(std::lround(at.y)) - kGlyphHeight * kDot;
    for (const Glyph* letter : letters) {
      for (int column = 0; column < kGlyphWidth; ++column) {
        for (int row = 0; row < kGlyphHeight; ++row) {
          if (((*letter)[static_cast<size_t>(column)] >> row & 1) == 0) continue;
          for (int k = 0; k < kDot * kDot; ++k) {
            blend(left + column * kDot + k % kDot, top + row * kDot + k / kDot, label.colour, 1);
          }
        }
      }
      left += advance;
    }
  }

  std::string png() const { return images::encode_png({bytes_.data(), kRows, kColumns, 3}); }

 private:
  static Point scaled(Point p) { return {p.x * kPixels, p.y * kPixels}; }

  // Covers pixels by their distance from the line between the points.
  void cover(Point from, Point to, double half) {
    const double dx = to.x - from.x, dy = to.y - from.y, squared = dx * dx + dy * dy;
    const auto first = [&](double a, double b) { return static_cast<int>(std::floor(std::min(a, b) - half - 1)); };
    const auto last = [&](double a, double b) { return static_cast<int>(std::ceil(std::max(a, b) + half + 1)); };
    for (int y = std::max(first(from.y, to.y), 0); y <= std::min(last(from.y, to.y), kRows - 1); ++y) {
      for (int x = std::max(first(from.x, to.x), 0); x <= std::min(last(from.x, to.x), kColumns - 1); ++x) {
        const double px = x + 0.5 - from.x, py = y + 0.5 - from.y;
        const double share = squared > 0 ? std::clamp((px * dx + py * dy) / squared, 0.0, 1.0) : 0;
        const double distance = std::hypot(px - share * dx, py - share * dy);
        float& covered = covered_[static_cast<size_t>(y * kColumns + x)];
        covered = std::max(covered, static_cast<float>(std::clamp(half + 0.5 - distance, 0.0, 1.0)));
      }
    }
  }

  void blend(int x, int y, uint32_t colour, float share) {
    if (share <= 0 || x < 0 || y < 0 || x >= kColumns || y >= kRows) return;
    unsigned char* pixel = bytes_.data() + static_cast<ptrdiff_t>(y * kColumns + x) * 3;
    for (int k = 0; k < 3; ++k) {
      const auto wanted = static_cast<float>(colour >> (16 - 8 * k) & 0xff), there = static_cast<float>(pixel[k]);
      pixel[k] = static_cast<unsigned char>(std::lround(there + (wanted - there) * share));
    }
  }

  std::vector<unsigned char> bytes_;
  std::vector<float> covered_;  // by the current line
};

}  // namespace

std::string png_of(const Drawing& drawing) {
  Canvas canvas;
  for (const Line& line : drawing.lines) canvas.draw(line);
  for (const Label& label : drawing.labels) canvas.draw(label);
  return canvas.png();
}

}  // namespace panto::plots
