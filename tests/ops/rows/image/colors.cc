// Samples of ops on colours, each against the formulas of hue and saturation in float64.
#include <algorithm>
#include <array>
#include <cmath>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::colors_rows {
namespace {

using Color = std::array<double, 3>;

Color hsv(const Color& c) {
  const double high = std::ranges::max(c), low = std::ranges::min(c), range = high - low;
  if (range <= 0) return {0, 0, high};
  double hue = c[0] == high   ? (c[1] - c[2]) / range
               : c[1] == high ? (c[2] - c[0]) / range + 2
                              : (c[0] - c[1]) / range + 4;
  if (hue < 0) hue += 6;
  return {hue / 6, high > 0 ? range / high : 0, high};
}
// What red, green and blue have of a hue from 0 to 1.
Color parts(double hue) {
  hue = (hue - std::floor(hue)) * 6;
  const double rest = hue - std::floor(hue);
  switch (static_cast<int>(hue)) {
    case 0: return {1, rest, 0};
    case 1: return {1 - rest, 1, 0};
    case 2: return {0, 1, rest};
    case 3: return {0, 1 - rest, 1};
    case 4: return {rest, 0, 1};
    default: return {1, 0, 1 - rest};
  }
}
Color rgb(const Color& c) {
  Color result = parts(c[0]);
  for (double& v : result) v = c[2] * (1 - c[1] + c[1] * v);
  return result;
}

template <class F>
std::vector<Array> each_color(const Given& g, F f) {
  Array y = g.in[0];
  for (size_t i = 0; i + 2 < y.values.size(); i += 3) {
    const Color c = f(Color{y.values[i], y.values[i + 1], y.values[i + 2]});
    std::ranges::copy(c, y.values.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return {y};
}
std::vector<Array> to_hsv(const Given& g) { return each_color(g, hsv); }
std::vector<Array> to_rgb(const Given& g) { return each_color(g, rgb); }
std::vector<Array> hue(const Given& g) {
  return each_color(g, [&](const Color& c) {
    const double low = std::ranges::min(c), range = std::ranges::max(c) - low;
    Color result = parts(hsv(c)[0] + g.in[1].values[0]);
    for (double& v : result) v = low + range * v;
    return result;
  });
}
std::vector<Array> saturation(const Given& g) {
  return each_color(g, [&](const Color& c) {
    Color h = hsv(c);
    h[1] = std::clamp(h[1] * g.in[1].values[0], 0.0, 1.0);
    return rgb(h);
  });
}
std::vector<Array> contrast(const Given& g) {
  const Array& x = g.in[0];
  const auto n = static_cast<int64_t>(x.dims.size());
  const int64_t channels = x.dims.back(),
                pixels = x.dims[static_cast<size_t>(n - 2)] * x.dims[static_cast<size_t>(n - 3)];
  Array y = x;
  for (size_t i = 0; i < y.values.size(); ++i) {
    const auto flat = static_cast<int64_t>(i), image = flat / (pixels * channels);
    double mean = 0;
    for (int64_t p = 0; p < pixels; ++p) {
      mean += x.values[static_cast<size_t>((image * pixels + p) * channels + flat % channels)] /
              static_cast<double>(pixels);
    }
    y.values[i] = (x.values[i] - mean) * g.in[1].values[0] + mean;
  }
  return {y};
}

// Each of the six orders of the three, as bright as they get and darker; no two the same.
const Array kColors = array({2, 3, 3}, {0.75, 0.5, 0.125, 0.5, 0.875, 0.25, 0.125, 0.625, 0.5, 0.25, 0.375, 0.9375,
                                        0.625, 0.1875, 0.6875, 1, 0.0625, 0.3125});
const Array kGrays = array({1, 3, 3}, {0.5, 0.5, 0.5, 0, 0, 0, 0.75, 0.25, 0.75});
const Array kHues = array({2, 3, 3}, {0.0625, 0.5, 0.75, 0.21875, 0.25, 0.5, 0.40625, 1, 0.25, 0.5625, 0.75, 0.625,
                                      0.71875, 0.375, 0.875, 0.90625, 0.625, 0.5});
Array factor(double value) { return scalar(value).as(kFloat32); }

const Family family(
    "image",
    {
        {"RGBToHSV",
         {.samples = {{.in = {kColors}}, {.in = {draw({0, 3})}}},
          .reference = to_hsv,
          .errors = {{.in = {draw({2, 4})}, .text = "num: expected 4, dimension "},
                     {.in = {scalar(1)}, .text = "value: expected a rank of at least 1, got a scalar"}},
          .units = 8}},
        {"RGBToHSV",
         {.samples = {{.in = {kGrays}}}, .reference = to_hsv, .label = "gray", .units = 8, .gradient = false}},
        {"HSVToRGB",
         {.samples = {{.in = {kHues}}, {.in = {draw({0, 2, 3})}}},
          .reference = to_rgb,
          .errors = {{.in = {draw({2, 2})}, .text = "num: expected 2, dimension 1 of value, got 3"}},
          .units = 16}},
        {"AdjustContrastv2",
         {.samples = {{.in = {draw({2, 3, 4}), factor(1.5)}},
                      {.in = {draw({2, 1, 3, 2, 3}), factor(-0.25)}},
                      {.in = {draw({0, 2, 2, 3}), factor(2)}}},
          .reference = contrast,
          .errors = {{.in = {draw({2, 3}), factor(2)}, .text = "reduction_indices: expected one in [-2, 2), got -3"}},
          .units = 16}},
        {"AdjustHue",
         {.samples = {{.in = {kColors, factor(0.25)}}, {.in = {kColors, factor(-0.625)}}},
          .reference = hue,
          .errors = {{.in = {draw({2, 2, 4}), factor(0)}, .text = "num: expected 4, dimension "}},
          .units = 32}},
        {"AdjustHue",
         {.samples = {{.in = {kGrays, factor(0.5)}}},
          .reference = hue,
          .label = "gray",
          .units = 32,
          .gradient = false}},
        {"AdjustSaturation",
         {.samples = {{.in = {kColors, factor(0.5)}}, {.in = {kColors, factor(1.0625)}}, {.in = {kColors, factor(3)}}},
          .reference = saturation,
          .errors = {{.in = {draw({2, 2, 4}), factor(0)}, .text = "num: expected 4, dimension "}},
          .units = 32}},
    });

}  // namespace
}  // namespace panto::test::colors_rows
