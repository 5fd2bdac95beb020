#include "panto/nn/training/plots/drawing.h"

#include <array>
#include <optional>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/markup.h"
#include "panto/lib/base/text/quote.h"
#include "panto/nn/training/plots/scale.h"

namespace panto {
namespace plots {
namespace {

constexpr double kLeft = 70, kTop = 30, kPlotWidth = 560, kPlotHeight = 320, kMiddle = kLeft + kPlotWidth / 2;
constexpr std::array<uint32_t, kMaxCurves> kColours = {0x1f77b4, 0xd62728, 0x2ca02c, 0xff7f0e,
                                                       0x9467bd, 0x8c564b, 0x17becf, 0x7f7f7f};
constexpr uint32_t kGrid = 0xdddddd, kNote = 0x777777;
constexpr size_t kMostPoints = 4000;  // per curve; longer curves keep the lowest and highest of each group

std::vector<std::vector<Point>> points_of(const Curve& curve, const Scale& scale) {
  std::vector<std::vector<Point>> parts;
  bool drawing = false;
  const auto add = [&](size_t i) {
    const std::optional<double> y = scale.y(curve.values[i]);
    if (y) {
      if (!drawing) parts.emplace_back();
      parts.back().push_back({kLeft + scale.x(i) * kPlotWidth, kTop + (1 - *y) * kPlotHeight});
    }
    drawing = y.has_value();
  };
  const size_t n = curve.values.size();
  if (n <= kMostPoints) {
    for (size_t i = 0; i < n; ++i) add(i);
    return parts;
  }
  constexpr size_t kGroups = kMostPoints / 2;
  for (size_t g = 0; g < kGroups; ++g) {
    const size_t first = n / kGroups * g + std::min(g, n % kGroups);
    const size_t end = first + n / kGroups + (g < n % kGroups ? 1 : 0);
    std::optional<size_t> low, high;
    for (size_t i = first; i < end; ++i) {
      if (!scale.y(curve.values[i])) continue;
      if (!low || curve.values[i] < curve.values[*low]) low = i;
      if (!high || curve.values[i] > curve.values[*high]) high = i;
    }
    add(low ? std::min(*low, *high) : first);
    if (low != high) add(std::max(*low, *high));
  }
  return parts;
}

}  // namespace

Drawing draw(const std::vector<Curve>& curves, const PlotOptions& options) {
  check(curves, options);
  const Scale scale(curves, options.log_y);
  Drawing drawing;
  const auto label = [&](Point at, std::string text, Anchor anchor, uint32_t colour = 0, double size = 12) {
    drawing.labels.push_back({at, std::move(text), anchor, colour, size});
  };
  if (!options.title.empty()) label({350, 18}, printable(options.title), Anchor::kMiddle, 0, 14);
  if (!scale.any()) {
    label({350, 190}, scale.gaps() == 0 ? "no values" : gaps_text(scale, options.log_y), Anchor::kMiddle);
    return drawing;
  }
  constexpr int kTicks = 4;
  for (int t = 0; t <= kTicks; ++t) {
    const double share = static_cast<double>(t) / kTicks;
    const double y = kTop + (1 - share) * kPlotHeight;
    drawing.lines.push_back({{{{kLeft, y}, {kLeft + kPlotWidth, y}}}, kGrid});
    label({kLeft - 6, y + 4}, scale.label(share), Anchor::kEnd);
  }
  drawing.lines.push_back(
      {{{{kLeft, kTop}, {kLeft, kTop + kPlotHeight}, {kLeft + kPlotWidth, kTop + kPlotHeight}}}, 0});
  const double below = kTop + kPlotHeight + 18;
  if (scale.last_x() == 0) {
    label({kMiddle, below}, "0", Anchor::kMiddle);
  } else {
    label({kLeft, below}, "0", Anchor::kStart);
    label({kLeft + kPlotWidth, below}, std::to_string(scale.last_x()), Anchor::kEnd);
  }
  double legend = kLeft + 80;
  for (size_t i = 0; i < curves.size(); ++i) {
    drawing.lines.push_back({points_of(curves[i], scale), kColours[i], 1.5});
    if (curves.size() == 1 && curves[i].name.empty()) continue;
    const std::string name = curves[i].name.empty() ? std::to_string(i) : printable(curves[i].name, 40);
    label({legend, below + 20}, name, Anchor::kStart, kColours[i]);
    legend += 20 + 7.5 * static_cast<double>(name.size());
  }
  if (scale.gaps() > 0) {
    label({kLeft + kPlotWidth, below + 20}, gaps_text(scale, options.log_y), Anchor::kEnd, kNote);
  }
  return drawing;
}

std::string svg_of(const Drawing& drawing) {
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      kWidth, kHeight);
  for (const Line& line : drawing.lines) {
    std::string path;
    for (const std::vector<Point>& part : line.parts) {
      path += fmt::format("{}M{:.1f} {:.1f}", path.empty() ? "" : " ", part[0].x, part[0].y);
      path += "h0";  // a single point becomes a line with round ends
      for (size_t i = 1; i < part.size(); ++i) path += fmt::format(" L{:.1f} {:.1f}", part[i].x, part[i].y);
    }
    svg += fmt::format(
        "<path d=\"{}\" fill=\"none\" stroke=\"#{:06x}\" stroke-width=\"{}\" stroke-linecap=\"round\" "
        "stroke-linejoin=\"round\"/>\n",
        path, line.colour, line.width);
  }
  static constexpr std::array<std::string_view, 3> kAnchors = {"start", "middle", "end"};
  for (const Label& label : drawing.labels) {
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" font-size=\"{}\" fill=\"#{:06x}\">{}</text>\n",
                       label.at.x, label.at.y, kAnchors[static_cast<size_t>(label.anchor)], label.size, label.colour,
                       escaped_markup(label.text));
  }
  return svg + "</svg>\n";
}

}  // namespace plots

std::string plot_svg(const std::vector<Curve>& curves, const PlotOptions& options) {
  return plots::svg_of(plots::draw(curves, options));
}

std::string plot_png(const std::vector<Curve>& curves, const PlotOptions& options) {
  return plots::png_of(plots::draw(curves, options));
}

}  // namespace panto
