// Curves: as text in a terminal, or as a picture in an SVG or PNG file.
//
//   plot(losses);                                            // a vector, or a tensor of rank 1
//   plot({{"training", losses}, {"validation", others}}, {.title = "loss", .log_y = true});
//   plot(losses, {.path = "losses.svg"});                    // or .png
//
// A single curve is drawn in Braille dots, eight per character; several curves each get a mark of their own. Values
// that are not finite are gaps, and on a logarithmic axis values that are not positive. Thread-safety: plain functions.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"

namespace panto {

// Values at x = 0, 1, 2, ...
struct PANTO_EXPORT Curve {
  Curve(std::vector<double> values);        // NOLINT(google-explicit-constructor): plot(losses)
  Curve(const std::vector<float>& values);  // NOLINT(google-explicit-constructor)
  // Throws InvalidArgument unless `values` has rank 1 and holds real numbers.
  Curve(const Tensor& values);  // NOLINT(google-explicit-constructor)
  template <class Values>
  Curve(std::string name, const Values& values) : Curve(values) {
    this->name = std::move(name);
  }

  std::string name;
  std::vector<double> values;
};

struct PlotOptions {
  std::string title = "";
  bool log_y = false;
  int64_t width = 64;     // of the text: characters between the axes, 2 to 1000
  int64_t height = 11;    // of the text: lines, 2 to 1000
  bool ascii = false;     // ASCII marks instead of Braille
  std::string path = "";  // "x.svg", "x.png": write a picture there instead of text
};

// Writes plot_text to standard output, or plot_svg or plot_png to options.path, whole or not at all. Throw
// InvalidArgument for sizes out of range, more than 8 curves, and another path's end; and as write_file.
PANTO_EXPORT void plot(const Curve& curve, const PlotOptions& options = {});
PANTO_EXPORT void plot(const std::vector<Curve>& curves, const PlotOptions& options = {});
PANTO_EXPORT void plot(std::initializer_list<double> values, const PlotOptions& options = {});
PANTO_EXPORT std::string plot_text(const std::vector<Curve>& curves, const PlotOptions& options = {});
PANTO_EXPORT std::string plot_svg(const std::vector<Curve>& curves, const PlotOptions& options = {});
// The same picture in 1300 x 800 pixels. It has letters for ASCII; other characters are boxes.
PANTO_EXPORT std::string plot_png(const std::vector<Curve>& curves, const PlotOptions& options = {});

}  // namespace panto
