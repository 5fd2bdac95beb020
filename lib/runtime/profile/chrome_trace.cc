#include "panto/lib/runtime/profile/chrome_trace.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "panto/lib/base/text/format.h"

namespace panto {
namespace {

std::string microseconds(int64_t nanoseconds) {
  return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}

// Assigns a line to each event, so that events of one line are disjoint or nested: waiting events overlap others.
std::vector<int> lines_of(const std::vector<TraceEvent>& events) {
  std::vector<size_t> order(events.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) {
    return std::pair(events[a].start, -events[a].end) < std::pair(events[b].start, -events[b].end);
  });
  std::vector<int> line_of(events.size());
  std::map<std::pair<std::string, int>, std::vector<std::vector<int64_t>>> lines;  // end times of open events, by line
  for (const size_t i : order) {
    const TraceEvent& event = events[i];
    auto& open = lines[{event.device, event.thread}];
    size_t line = 0;
    for (;; ++line) {
      if (line == open.size()) open.emplace_back();
      std::vector<int64_t>& ends = open[line];
      while (!ends.empty() && ends.back() <= event.start) ends.pop_back();
      if (ends.empty() || ends.back() >= event.end) break;
    }
    open[line].push_back(event.end);
    line_of[i] = event.thread * 1000 + static_cast<int>(line);
  }
  return line_of;
}

}  // namespace

std::string json_text(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string chrome_trace(const std::vector<TraceEvent>& events) {
  std::vector<std::string> rows;
  std::map<std::string, size_t> process_of;
  const std::vector<int> lines = lines_of(events);
  for (size_t i = 0; i < events.size(); ++i) {
    const TraceEvent& event = events[i];
    const auto [process, fresh] = process_of.emplace(event.device, process_of.size());
    if (fresh) {
      rows.push_back(fmt::format(R"({{"name":"process_name","ph":"M","pid":{},"args":{{"name":{}}}}})", process->second,
                                 json_text(event.device)));
    }
    rows.push_back(fmt::format(R"({{"name":{},"cat":"op","ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
                               json_text(event.name), process->second, lines[i], microseconds(event.start),
                               microseconds(event.end - event.start), event.args));
  }
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  for (size_t i = 0; i < rows.size(); ++i) text += rows[i] + (i + 1 < rows.size() ? ",\n" : "\n");
  return text + "]}\n";
}

}  // namespace panto
