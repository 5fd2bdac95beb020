#include "panto/nn/training/plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/nn/training/plots/scale.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"

namespace panto {
namespace {

using plots::Scale;

constexpr std::string_view kMarks = "*+ox#@%&";

// A raster of dots, joined by straight lines.
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

// The character for 2 x 4 dots in Unicode's block Braille Patterns.
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

}  // namespace

void plots::check(const std::vector<Curve>& curves, const PlotOptions& options) {
  if (curves.empty() || curves.size() > kMaxCurves) {
    invalid("plot: expected 1 to {} curves, got {}", kMaxCurves, curves.size());
  }
  constexpr int64_t kMaxSize = 1000;
  for (const int64_t size : {options.width, options.height}) {
    if (size < 2 || size > kMaxSize) invalid("plot: expected a width and height of 2 to {}, got {}", kMaxSize, size);
  }
}

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
  plots::check(curves, options);
  const Scale scale(curves, options.log_y);
  std::string text;
  if (!options.title.empty()) text += printable(options.title) + "\n";
  if (!scale.any()) {
    return text +
           (scale.gaps() == 0 ? "(no values)" : "(nothing to draw: " + plots::gaps_text(scale, options.log_y) + ")") +
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
  if (scale.gaps() > 0) text += "(" + plots::gaps_text(scale, options.log_y) + ")\n";
  return text;
}

void plot(const std::vector<Curve>& curves, const PlotOptions& options) {
  if (options.path.empty()) {
    const std::string text = plot_text(curves, options);
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
    return;
  }
  if (options.path.ends_with(".svg")) {
    write_file(options.path, plot_svg(curves, options));
  } else if (options.path.ends_with(".png")) {
    write_file(options.path, plot_png(curves, options));
  } else {
    invalid("plot: expected a path *.svg or *.png, got '{}'", options.path);
  }
}

void plot(const Curve& curve, const PlotOptions& options) { plot(std::vector<Curve>{curve}, options); }
void plot(std::initializer_list<double> values, const PlotOptions& options) {
  plot(Curve(std::vector<double>(values)), options);
}

}  // namespace panto
