// Draws graphs by Graphviz.
#pragma once

#include <string>

#include "panto/lib/graph/show/dot.h"

namespace panto::apps {

// Draws `dot`, in Graphviz's language, as SVG to `path`. Throws Unavailable if Graphviz is missing or fails.
void draw_dot(const std::string& dot, const std::string& path);

}  // namespace panto::apps
