// Chrome's trace format, for chrome://tracing and ui.perfetto.dev. Internal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace panto {

// Times are nanoseconds.
struct TraceEvent {
  std::string name;
  std::string device;  // a process of the trace
  std::string args;    // the inside of a JSON object
  int thread = 0;
  int64_t start = 0, end = 0;
};

// Writes one process per device. Events that overlap without nesting go to different lines.
std::string chrome_trace(const std::vector<TraceEvent>& events);
// `text` as a JSON string, with quotes.
std::string json_text(std::string_view text);

}  // namespace panto
