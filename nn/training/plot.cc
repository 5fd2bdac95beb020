#include "panto/nn/training/plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

constexpr size_t kMaxCurves = 8;
constexpr int64_t kMaxSize = 1000;
constexpr std::string_view kMarks = "*+ox#@%&";

// What is drawn: where values are on the axes, as shares of their lengths.
class Scale {
 public:
  Scale(const std::vector<Curve>& curves, bool log_y) : log_(log_y) {
    for (const Curve& c : curves) {
      longest_ = std::max(longest_, c.values.size());
      for (const double v : c.values) {
        const std::optional<double> y = height(v);
        if (!y) {
          ++gaps_;
          continue;
        }
        low_ = any_ ? std::min(low_, *y) : *y;
        high_ = any_ ? std::max(high_, *y) : *y;
        any_ = true;
      }
    }
    if (low_ == high_) {  // in the middle, then
      constexpr double kTiny = 1e-300, kMost = std::numeric_limits<double>::max();
      const double room = std::fabs(low_) < kTiny ? 1 : std::fabs(low_) / 2;
      low_ = std::max(low_ - room, -kMost);
      high_ = std::min(high_ + room, kMost);
    }
  }

  bool any() const { return any_; }
  size_t gaps() const { return gaps_; }
  size_t last_x() const { return longest_ > 0 ? longest_ - 1 : 0; }
  double x(size_t i) const { return longest_ > 1 ? static_cast<double>(i) / static_cast<double>(longest_ - 1) : 0.5; }
  // From 0 at the bottom to 1 at the top; none of a gap.
  std::optional<double> y(double value) const {
    const std::optional<double> at = height(value);
    if (!at) return at;
    // In halves where the difference is no double; not elsewhere, since halves of the smallest numbers are zero.
    const double whole = high_ - low_;
    const double share = std::isfinite(whole) ? (*at - low_) / whole : (*at / 2 - low_ / 2) / (high_ / 2 - low_ / 2);
    return std::clamp(share, 0.0, 1.0);
  }
  // The value at such a share.
  double value(double share) const {
    const double at = low_ * (1 - share) + high_ * share;
    return log_ ? std::pow(10, at) : at;
  }
  std::string label(double share) const { return fmt::format("{:.4g}", value(share)); }

 private:
  std::optional<double> height(double value) const {
    if (!std::isfinite(value) || (log_ && !(value > 0))) return std::nullopt;
    return log_ ? std::log10(value) : value;
  }

  bool log_, any_ = false;
  double low_ = 0, high_ = 0;
  size_t longest_ = 0, gaps_ = 0;
};

// Dots in rows and columns, joined by straight lines.
class Raster {
 public:
  Raster(int64_t columns, int64_t rows)
      : columns_(columns), rows_(rows), dots_(static_cast<size_t>(columns * rows), '\0') {}

  char at(int64_t column, int64_t row) const { return dots_[static_cast<size_t>(row * columns_ + column)]; }

  void draw(const Curve& curve, const Scale& scale, char mark) {
    Point last{};
    bool drawing = false;
    for (size_t i = 0; i < curve.values.size(); ++i) {
      const std::optional<double> y = scale.y(curve.values[i]);
      if (!y) {
        drawing = false;
        continue;
      }
      const Point now{std::llround(scale.x(i) * static_cast<double>(columns_ - 1)),
                      std::llround((1 - *y) * static_cast<double>(rows_ - 1))};
      line(drawing ? last : now, now, mark);
      drawing = true;
      last = now;
    }
  }

 private:
  struct Point {
    int64_t column, row;
  };
  void line(Point from, Point to, char mark) {
    const int64_t dx = to.column - from.column, dy = to.row - from.row;
    const int64_t steps = std::max<int64_t>({std::abs(dx), std::abs(dy), 1});
    for (int64_t k = 0; k <= steps; ++k) {
      const double share = static_cast<double>(k) / static_cast<double>(steps);
      const int64_t column = from.column + std::llround(share * static_cast<double>(dx));
      const int64_t row = from.row + std::llround(share * static_cast<double>(dy));
      dots_[static_cast<size_t>(row * columns_ + column)] = mark;
    }
  }

  int64_t columns_, rows_;
  std::string dots_;
};

// The character of Unicode's block Braille Patterns for 2 x 4 dots.
std::string braille(const Raster& raster, int64_t column, int64_t row) {
  static constexpr unsigned kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
  unsigned bits = 0;
  for (int64_t r = 0; r < 4; ++r) {
    for (int64_t c = 0; c < 2; ++c) {
      if (raster.at(2 * column + c, 4 * row + r) != '\0') bits |= kBits[r][c];
    }
  }
  if (bits == 0) return " ";
  const unsigned code = 0x2800 | bits;
  return {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3f)),
          static_cast<char>(0x80 | (code & 0x3f))};
}

void check(const std::vector<Curve>& curves, const PlotOptions& options) {
  if (curves.empty() || curves.size() > kMaxCurves) {
    invalid("plot: expected 1 to {} curves, got {}", kMaxCurves, curves.size());
  }
  for (const int64_t size : {options.width, options.height}) {
    if (size < 2 || size > kMaxSize) invalid("plot: expected a width and height of 2 to {}, got {}", kMaxSize, size);
  }
}

std::string gaps_text(const Scale& scale, bool log_y) {
  return fmt::format("{} value{} {} not {}", scale.gaps(), scale.gaps() == 1 ? "" : "s",
                     scale.gaps() == 1 ? "is" : "are", log_y ? "positive and finite" : "finite");
}

// ---- SVG -----------------------------------------------------------------------------------------------------------

constexpr double kLeft = 70, kTop = 30, kPlotWidth = 560, kPlotHeight = 320;
constexpr const char* kColours[kMaxCurves] = {"#1f77b4", "#d62728", "#2ca02c", "#ff7f0e",
                                              "#9467bd", "#8c564b", "#17becf", "#7f7f7f"};
constexpr size_t kMostPoints = 4000;  // of a curve; of more, the lowest and highest of each group

std::string xml(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string path_of(const Curve& curve, const Scale& scale) {
  std::string path;
  bool drawing = false;
  const auto add = [&](size_t i) {
    const std::optional<double> y = scale.y(curve.values[i]);
    if (y) {
      path += fmt::format("{}{}{:.1f} {:.1f}", path.empty() ? "" : " ", drawing ? "L" : "M",
                          kLeft + scale.x(i) * kPlotWidth, kTop + (1 - *y) * kPlotHeight);
      // A point that stands alone is a line too, with round ends.
      if (!drawing) path += "h0";
    }
    drawing = y.has_value();
  };
  const size_t n = curve.values.size();
  if (n <= kMostPoints) {
    for (size_t i = 0; i < n; ++i) add(i);
    return path;
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
  return path;
}

}  // namespace

Curve::Curve(std::vector<double> values) : values(std::move(values)) {}
Curve::Curve(const std::vector<float>& values) : values(values.begin(), values.end()) {}
Curve::Curve(const Tensor& values) {
  const RecorderPause pause;
  if (values.rank() != 1 || !(dtypes::kReal | DTypeSet{kBool}).contains(values.dtype())) {
    invalid("plot: expected real numbers of rank 1, got {}{}", dtype_name(values.dtype()), values.shape().to_string());
  }
  this->values = cast(values, kFloat64).to_vector<double>();
}

std::string plot_text(const std::vector<Curve>& curves, const PlotOptions& options) {
  check(curves, options);
  const Scale scale(curves, options.log_y);
  std::string text;
  if (!options.title.empty()) text += printable(options.title) + "\n";
  if (!scale.any()) {
    return text + (scale.gaps() == 0 ? "(no values)" : "(nothing to draw: " + gaps_text(scale, options.log_y) + ")") +
           "\n";
  }
  const bool dots = curves.size() == 1 && !options.ascii;
  Raster raster(options.width * (dots ? 2 : 1), options.height * (dots ? 4 : 1));
  for (size_t i = 0; i < curves.size(); ++i) raster.draw(curves[i], scale, kMarks[i]);

  const int64_t middle = options.height % 2 == 1 ? options.height / 2 : -1;
  const auto label = [&](int64_t row) {
    return row == 0                    ? scale.label(1)
           : row == options.height - 1 ? scale.label(0)
           : row == middle             ? scale.label(0.5)
                                       : std::string();
  };
  size_t label_width = 0;
  for (int64_t row = 0; row < options.height; ++row) label_width = std::max(label_width, label(row).size());
  const bool plain = options.ascii;
  for (int64_t row = 0; row < options.height; ++row) {
    const std::string left = label(row);
    std::string line;
    for (int64_t column = 0; column < options.width; ++column) {
      if (dots) {
        line += braille(raster, column, row);
      } else {
        line += raster.at(column, row) != '\0' ? raster.at(column, row) : ' ';
      }
    }
    line.erase(line.find_last_not_of(' ') + 1);
    const char* axis = left.empty() ? (plain ? "|" : "\u2502") : (plain ? "+" : "\u2524");
    text += fmt::format("{:>{}} {}{}\n", left, label_width, axis, line);
  }
  text.append(label_width + 1, ' ').append(plain ? "+" : "\u2514");
  for (int64_t column = 0; column < options.width; ++column) text += plain ? "-" : "\u2500";
  const std::string last = std::to_string(scale.last_x());
  text += '\n';
  text.append(label_width + 2, ' ');
  if (scale.last_x() == 0) {
    text.append(static_cast<size_t>((options.width - 1) / 2), ' ').append("0");
  } else {
    const auto room = static_cast<size_t>(options.width);
    text.append("0").append(room > last.size() + 1 ? room - 1 - last.size() : 1, ' ').append(last);
  }
  text += '\n';
  if (curves.size() > 1) {
    std::string legend;
    for (size_t i = 0; i < curves.size(); ++i) {
      const std::string name = curves[i].name.empty() ? std::to_string(i) : printable(curves[i].name, 40);
      legend.append(legend.empty() ? "" : "   ").append(1, kMarks[i]).append(" ").append(name);
    }
    text.append(label_width + 2, ' ').append(legend).append("\n");
  }
  if (scale.gaps() > 0) text += "(" + gaps_text(scale, options.log_y) + ")\n";
  return text;
}

std::string plot_svg(const std::vector<Curve>& curves, const PlotOptions& options) {
  check(curves, options);
  const Scale scale(curves, options.log_y);
  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 650 400\" width=\"650\" height=\"400\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"650\" height=\"400\" fill=\"white\"/>\n";
  if (!options.title.empty()) {
    svg +=
        fmt::format("<text x=\"350\" y=\"18\" text-anchor=\"middle\" font-size=\"14\">{}</text>\n", xml(options.title));
  }
  if (!scale.any()) {
    return svg + fmt::format("<text x=\"350\" y=\"190\" text-anchor=\"middle\">{}</text>\n</svg>\n",
                             scale.gaps() == 0 ? "no values" : gaps_text(scale, options.log_y));
  }
  constexpr int kTicks = 4;
  for (int t = 0; t <= kTicks; ++t) {
    const double share = static_cast<double>(t) / kTicks;
    const double y = kTop + (1 - share) * kPlotHeight;
    svg += fmt::format(
        "<path d=\"M{0} {1}h{2}\" stroke=\"#ddd\"/><text x=\"{3}\" y=\"{4}\" text-anchor=\"end\">{5}</text>\n", kLeft,
        y, kPlotWidth, kLeft - 6, y + 4, scale.label(share));
  }
  svg += fmt::format("<path d=\"M{0} {1}v{2}h{3}\" fill=\"none\" stroke=\"black\"/>\n", kLeft, kTop, kPlotHeight,
                     kPlotWidth);
  const double below = kTop + kPlotHeight + 18;
  if (scale.last_x() == 0) {
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">0</text>\n", kLeft + kPlotWidth / 2, below);
  } else {
    svg += fmt::format("<text x=\"{}\" y=\"{}\">0</text><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", kLeft,
                       below, kLeft + kPlotWidth, below, scale.last_x());
  }
  double legend = kLeft + 80;
  for (size_t i = 0; i < curves.size(); ++i) {
    svg += fmt::format(
        "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" stroke-linecap=\"round\" "
        "stroke-linejoin=\"round\"/>\n",
        path_of(curves[i], scale), kColours[i]);
    if (curves.size() == 1 && curves[i].name.empty()) continue;
    const std::string name = curves[i].name.empty() ? std::to_string(i) : printable(curves[i].name, 40);
    svg += fmt::format("<text x=\"{}\" y=\"{}\" fill=\"{}\">{}</text>\n", legend, below + 20, kColours[i], xml(name));
    legend += 20 + 7.5 * static_cast<double>(name.size());
  }
  if (scale.gaps() > 0) {
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\" fill=\"#777\">{}</text>\n", kLeft + kPlotWidth,
                       below + 20, gaps_text(scale, options.log_y));
  }
  return svg + "</svg>\n";
}

void plot(const std::vector<Curve>& curves, const PlotOptions& options) {
  if (options.path.empty()) {
    const std::string text = plot_text(curves, options);
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
    return;
  }
  if (!options.path.ends_with(".svg")) invalid("plot: expected a path *.svg, got '{}'", options.path);
  write_file(options.path, plot_svg(curves, options));
}

void plot(const Curve& curve, const PlotOptions& options) { plot(std::vector<Curve>{curve}, options); }
void plot(std::initializer_list<double> values, const PlotOptions& options) {
  plot(Curve(std::vector<double>(values)), options);
}

}  // namespace panto
