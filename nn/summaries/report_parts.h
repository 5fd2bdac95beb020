// Building blocks of a report: safe HTML text, pictures, the table of a profile. Internal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"

namespace panto::summaries {

// Escapes text for HTML: markup is escaped, invalid UTF-8 and invisible characters become \x1b, and texts longer than
// `longest` bytes lose their middle.
std::string html(std::string_view text, size_t longest = 200);
// The same, but keeps line breaks.
std::string html_lines(std::string_view text, size_t longest);
// "data:image/png;base64,...", with the type that the bytes themselves state; empty for bytes that are not PNG, JPEG or
// WAV.
std::string data_url(std::string_view bytes);

struct Line {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x ascending
};
// Line plots, as an <svg> element. Points that are not finite are gaps.
std::string lines_svg(const std::vector<Line>& lines, const std::string& x_name);
// Histograms, [buckets, 3] each, stacked behind one another: the latest in front.
std::string histograms_svg(const std::vector<std::pair<int64_t, Tensor>>& by_step);

// The table of the ops that took most time, from a trace in Chrome's format. Throws DataLoss for other bytes.
std::string profile_table(std::string_view json);

}  // namespace panto::summaries
