// Writes a training run as one HTML file that can be viewed anywhere: the contents of event files, without TensorBoard.
//
//   write_report("runs/1", "report.html");            // $ panto report runs/1 --out report.html
//
// The page has curves of scalars, one picture per tag with all runs in it; histograms over time; the latest images,
// audio and text of each tag; precision-recall curves; hyper-parameters; the graph, by ops; and, from a Profiler's
// file, the ops that took most time. Runs are the folders with event files in or below the given one. The page refers
// to nothing outside of it, has no scripts, and forbids them: any content of the files is shown as text or as a
// picture. Thread-safety: plain functions.
#pragma once

#include <string>

#include "panto/lib/base/export.h"

namespace panto {

struct ReportOptions {
  std::string title = "";    // empty: the folder's name
  std::string profile = "";  // a file that a Profiler, or `panto run --profile`, wrote
};

// Throws NotFound if there are no event files, and as read_file. For files that are damaged, or still being written, it
// shows what can be read, and says so.
PANTO_EXPORT std::string report_html(const std::string& folder, const ReportOptions& options);
PANTO_EXPORT std::string report_html(const std::string& folder);
// Writes the report to a file, whole or not at all.
PANTO_EXPORT void write_report(const std::string& folder, const std::string& path, const ReportOptions& options);
PANTO_EXPORT void write_report(const std::string& folder, const std::string& path);

}  // namespace panto
