#include "panto/nn/summaries/report_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/markup.h"

namespace panto::summaries {
namespace {

constexpr std::array<std::string_view, 8> kColours = {"#1f77b4", "#d62728", "#2ca02c", "#ff7f0e",
                                                      "#9467bd", "#8c564b", "#e377c2", "#17becf"};
constexpr double kWidth = 420, kHeight = 220, kLeft = 60, kTop = 12, kRight = 12, kBelow = 34;
constexpr double kPlotWidth = kWidth - kLeft - kRight, kPlotHeight = kHeight - kTop - kBelow;

std::string base64(std::string_view bytes) {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t k = 0; k < 3; ++k) three = three << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) {
      text += i + k > bytes.size() ? '=' : kDigits[three >> (18 - 6 * k) & 63];
    }
  }
  return text;
}

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  void add(double v) {
    if (!std::isfinite(v)) return;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  bool any() const { return low <= high; }
  // In [0, 1]. Computed in halves so that no difference overflows.
  double share(double v) const { return high > low ? (v / 2 - low / 2) / (high / 2 - low / 2) : 0.5; }
  double at(double share) const { return low * (1 - share) + high * share; }
};

std::string opened() {
  return fmt::format("<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\">\n", kWidth, kHeight);
}

std::string axes(const Range& x, const Range& y, const std::string& x_name) {
  std::string svg;
  constexpr int kTicks = 4;
  for (int t = 0; t <= kTicks; ++t) {
    const double share = static_cast<double>(t) / kTicks, at = kTop + (1 - share) * kPlotHeight;
    svg += fmt::format(
        "<path d=\"M{} {:.1f}h{}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{:.4g}"
        "</text>\n",
        kLeft, at, kPlotWidth, kLeft - 6, at + 4, y.at(share));
  }
  svg +=
      fmt::format("<path d=\"M{} {}v{}h{}\" fill=\"none\" stroke=\"#333\"/>\n", kLeft, kTop, kPlotHeight, kPlotWidth);
  const double below = kTop + kPlotHeight + 14;
  svg += fmt::format("<text x=\"{}\" y=\"{}\">{:.6g}</text><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{:.6g}</text>\n",
                     kLeft, below, x.low, kLeft + kPlotWidth, below, x.high);
  svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" fill=\"#777\">{}</text>\n", kLeft + kPlotWidth / 2,
                     below, html(x_name));
  return svg;
}

// Thins out points: of each group of neighbours keeps the one farthest from the last kept value.
std::vector<std::pair<double, double>> thinned(const std::vector<std::pair<double, double>>& points) {
  constexpr size_t kMost = 800;
  if (points.size() <= kMost) return points;
  std::vector<std::pair<double, double>> kept;
  for (size_t i = 0; i < kMost; ++i) {
    const size_t first = i * points.size() / kMost, end = (i + 1) * points.size() / kMost;
    size_t best = first;
    const double before = kept.empty() ? points[0].second : kept.back().second;
    for (size_t k = first; k < end; ++k) {
      if (std::fabs(points[k].second - before) > std::fabs(points[best].second - before)) best = k;
    }
    kept.push_back(points[best]);
  }
  return kept;
}

}  // namespace

std::string html(std::string_view text, size_t longest) { return escaped_markup(printable(text, longest)); }

std::string html_lines(std::string_view text, size_t longest) {
  std::string out;
  const std::string cut = shortened(text, longest);
  for (std::string_view rest = cut; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    out += escaped_markup(escaped(rest.substr(0, end)));
    if (end < rest.size()) out += '\n';
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

std::string data_url(std::string_view bytes) {
  std::string_view type;
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) {
    type = "image/png";
  } else if (bytes.starts_with("\xff\xd8\xff")) {
    type = "image/jpeg";
  } else if (bytes.starts_with("RIFF") && bytes.size() > 12 && bytes.substr(8, 4) == "WAVE") {
    type = "audio/wav";
  } else {
    return "";
  }
  return fmt::format("data:{};base64,{}", type, base64(bytes));
}

std::string lines_svg(const std::vector<Line>& lines, const std::string& x_name) {
  Range x, y;
  for (const Line& line : lines) {
    for (const auto& [at, value] : line.points) {
      x.add(at);
      if (std::isfinite(at)) y.add(value);
    }
  }
  std::string svg = opened();
  if (!x.any() || !y.any()) {
    return svg + fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">no finite values</text>\n</svg>\n",
                             kWidth / 2, kHeight / 2);
  }
  svg += axes(x, y, x_name);
  double legend = kLeft;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string_view colour = kColours[i % kColours.size()];
    std::string path;
    bool pen = false;
    for (const auto& [at, value] : thinned(lines[i].points)) {
      if (!std::isfinite(at) || !std::isfinite(value)) {
        pen = false;
        continue;
      }
      path += fmt::format("{}{:.1f} {:.1f}", pen ? 'L' : 'M', kLeft + x.share(at) * kPlotWidth,
                          kTop + (1 - y.share(value)) * kPlotHeight);
      if (!pen) path += "h.1";  // a single point is visible, too
      pen = true;
    }
    svg += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\" stroke-linecap=\"round\"/>\n",
                       path, colour);
    if (lines.size() > 1 && i < kColours.size()) {
      const std::string name = printable(lines[i].name, 24);
      svg += fmt::format("<text x=\"{:.0f}\" y=\"{}\" fill=\"{}\">{}</text>\n", legend, kHeight - 4, colour,
                         escaped_markup(name));
      legend += 14 + 6.5 * static_cast<double>(name.size());
    }
  }
  return svg + "</svg>\n";
}

std::string histograms_svg(const std::vector<std::pair<int64_t, Tensor>>& by_step) {
  constexpr size_t kShown = 12;
  const size_t stride = (by_step.size() + kShown - 1) / std::max<size_t>(kShown, 1);
  std::vector<const std::pair<int64_t, Tensor>*> shown;
  for (size_t i = by_step.size(); i-- > 0;) {
    if ((by_step.size() - 1 - i) % std::max<size_t>(stride, 1) == 0) shown.insert(shown.begin(), &by_step[i]);
  }
  Range x;
  double most = 0;
  // Compare densities, since buckets differ in width.
  const auto density = [](const double* bucket) {
    const double width = bucket[1] - bucket[0];
    return width > 0 && std::isfinite(bucket[2] / width) ? bucket[2] / width : 0.0;
  };
  for (const auto* one : shown) {
    const auto values = one->second.data<double>();
    for (size_t b = 0; b + 2 < values.size(); b += 3) {
      if (values[b + 2] <= 0) continue;
      x.add(values[b]);
      x.add(values[b + 1]);
      most = std::max(most, density(&values[b]));
    }
  }
  std::string svg = opened();
  if (!x.any() || !(most > 0)) {
    return svg + fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">no values</text>\n</svg>\n", kWidth / 2,
                             kHeight / 2);
  }
  const double room = kPlotHeight * 0.4,
               between = shown.size() > 1 ? (kPlotHeight - room) / static_cast<double>(shown.size() - 1) : 0;
  for (size_t i = 0; i < shown.size(); ++i) {
    const double base = kTop + room + between * static_cast<double>(i);
    std::string path = fmt::format("M{} {:.1f}", kLeft, base);
    const auto values = shown[i]->second.data<double>();
    constexpr size_t kMostBuckets = 400;
    for (size_t b = 0; b + 2 < std::min(values.size(), 3 * kMostBuckets); b += 3) {
      if (!std::isfinite(values[b]) || !std::isfinite(values[b + 1])) continue;
      const double height = std::clamp(density(&values[b]) / most, 0.0, 1.0) * room;
      const auto at = [&](double v) { return kLeft + std::clamp(x.share(v), 0.0, 1.0) * kPlotWidth; };
      path += fmt::format("L{0:.1f} {1:.1f}L{2:.1f} {1:.1f}", at(values[b]), base - height, at(values[b + 1]));
    }
    path += fmt::format("L{} {:.1f}Z", kLeft + kPlotWidth, base);
    svg +=
        fmt::format("<path d=\"{}\" fill=\"#1f77b4\" fill-opacity=\"{:.2f}\" stroke=\"#fff\" stroke-width=\".7\"/>\n",
                    path, 0.35 + 0.55 * static_cast<double>(i + 1) / static_cast<double>(shown.size()));
    svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 6, base, shown[i]->first);
  }
  const double below = kTop + kPlotHeight + 14;
  svg += fmt::format("<text x=\"{}\" y=\"{}\">{:.4g}</text><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{:.4g}</text>\n",
                     kLeft, below, x.low, kLeft + kPlotWidth, below, x.high);
  return svg + "</svg>\n";
}

}  // namespace panto::summaries
