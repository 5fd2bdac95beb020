// panto train: runs the programs of apps/programs.
#include <fmt/core.h>

#include <algorithm>

#include "panto/apps/commands.h"
#include "panto/apps/programs/programs.h"
#include "panto/lib/base/text/format.h"

namespace panto::apps {

void train(const TrainOptions& options) {
  if (options.list) {
    for (const Program& p : programs()) fmt::print("{:<24} {}\n", p.name, p.summary);
    return;
  }
  const auto found = std::ranges::find(programs(), std::string_view(options.name), &Program::name);
  if (found == programs().end()) {
    failf(Code::kNotFound, "program '{}': expected one that `panto train --list` names, got none", options.name);
  }
  Run run(options.run);
  found->run(run);
  run.finish();
}

}  // namespace panto::apps
