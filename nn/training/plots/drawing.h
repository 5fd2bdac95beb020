// The drawing of curves, as lines and labels, and its two file formats. Internal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "panto/nn/training/plot.h"

namespace panto::plots {

// The picture's size; points are in these units, from the top left.
inline constexpr int kWidth = 650, kHeight = 400;

struct Point {
  double x, y;
};

struct Line {
  std::vector<std::vector<Point>> parts;  // each of at least one point
  uint32_t colour = 0;                    // 0xRRGGBB
  double width = 1;
};

enum class Anchor : uint8_t { kStart, kMiddle, kEnd };

struct Label {
  Point at;  // on the baseline of the text
  std::string text;
  Anchor anchor = Anchor::kStart;
  uint32_t colour = 0;
  double size = 12;
};

struct Drawing {
  std::vector<Line> lines;
  std::vector<Label> labels;  // above the lines
};

// Axes, ticks, curves and their names. Throws as plot_text.
Drawing draw(const std::vector<Curve>& curves, const PlotOptions& options);

std::string svg_of(const Drawing& drawing);
std::string png_of(const Drawing& drawing);

}  // namespace panto::plots
