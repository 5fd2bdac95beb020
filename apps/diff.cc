// panto diff BEFORE AFTER: shows how two graphs differ.
#include <fmt/core.h>

#include <string>

#include "panto/apps/commands.h"
#include "panto/lib/core/op/library.h"
#include "panto/lib/graph/files/io.h"
#include "panto/lib/graph/show/difference.h"

namespace panto::apps {

bool diff(const DiffOptions& options) {
  for (const std::string& library : options.libraries) load_library(library);
  const GraphDifference difference = graph_difference(read_graph(options.before), read_graph(options.after));
  fmt::print("{}", difference.to_string());
  return !difference.empty();
}

}  // namespace panto::apps
