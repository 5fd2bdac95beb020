// Is a graph in order? Asked of every graph before it is placed, and after every pass.
#pragma once

#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/graph/graph.h"

namespace panto {

// Throws InvalidArgument, naming the node and the operand, unless the graph has no cycle but for loops that are closed
// as they may be (lib/graph/flow.h), and every node has the inputs (number, types) and outputs that its op's signature
// and attributes say.
PANTO_EXPORT void validate(const Graph& graph);

}  // namespace panto
