// What a report is made of: text that is safe in HTML, pictures, the table of a profile. Internal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "panto/lib/core/tensor/tensor.h"

namespace panto::summaries {

// Text as HTML shows it: what is markup is escaped, what is no UTF-8 or cannot be seen is shown as \x1b, and the middle
// of what is longer than `longest` bytes is left out.
std::string html(std::string_view text, size_t longest = 200);
// The same, but that lines stay lines.
std::string html_lines(std::string_view text, size_t longest);
// "data:image/png;base64,...", of a type that the bytes say themselves; empty for other bytes than PNG, JPEG and WAV.
std::string data_url(std::string_view bytes);

struct Line {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x ascending
};
// Lines over numbers, as an <svg> element. Points that are not finite are gaps.
std::string lines_svg(const std::vector<Line>& lines, const std::string& x_name);
// Histograms, [buckets, 3] each, one above the other: the latest in front.
std::string histograms_svg(const std::vector<std::pair<int64_t, Tensor>>& by_step);

// The ops of a trace in Chrome's format that took most, as a table. Throws DataLoss for other bytes.
std::string profile_table(std::string_view json);

}  // namespace panto::summaries
