// A training run as one HTML file, to be looked at anywhere: what event files hold, without TensorBoard.
//
//   write_report("runs/1", "report.html");            // $ panto report runs/1 --out report.html
//
// Curves of scalars, one picture for each tag with all runs in it; histograms over time; the latest images, audio and
// text of each tag; precision-recall curves; hyper-parameters; the graph, by ops; and, of a Profiler's file, the ops
// that took most. Runs are the folders with event files in or below the one given. The page refers to nothing outside
// of it, has no scripts, and forbids them: whatever files hold is shown as text or as a picture. Thread-safety: plain
// functions.
#pragma once

#include <string>

#include "panto/lib/base/export.h"

namespace panto {

struct ReportOptions {
  std::string title = "";    // none: the folder's name
  std::string profile = "";  // a file that a Profiler, or `panto run --profile`, wrote
};

// Throws NotFound where there are no event files, and as read_file. Of files that are damaged, or still written to, it
// shows what can be read, and says so.
PANTO_EXPORT std::string report_html(const std::string& folder, const ReportOptions& options);
PANTO_EXPORT std::string report_html(const std::string& folder);
// To a file, whole or not at all.
PANTO_EXPORT void write_report(const std::string& folder, const std::string& path, const ReportOptions& options);
PANTO_EXPORT void write_report(const std::string& folder, const std::string& path);

}  // namespace panto
