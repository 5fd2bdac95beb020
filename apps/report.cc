// panto report RUN: writes a training run as one HTML page.
#include "panto/nn/summaries/report.h"

#include <fmt/core.h>

#include "panto/apps/commands.h"

namespace panto::apps {

void report(const ReportOptions& options) {
  write_report(options.folder, options.out, {.title = options.title, .profile = options.profile});
  fmt::print("{}\n", options.out);
}

}  // namespace panto::apps
