// Pictures of graphs, which Graphviz draws.
#pragma once

#include <string>

#include "panto/lib/graph/show/dot.h"

namespace panto::apps {

// Writes what is in Graphviz's language to `path` as SVG. Throws Unavailable where no Graphviz is there that can.
void draw_dot(const std::string& dot, const std::string& path);

}  // namespace panto::apps
