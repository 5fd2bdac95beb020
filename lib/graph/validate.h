// Checks whether a graph is valid: done for every graph before placement, and after every pass.
#pragma once

#include <vector>

#include "panto/lib/base/export.h"
#include "panto/lib/graph/graph.h"

namespace panto {

// Throws InvalidArgument, naming the node and the operand, unless the only cycles of the graph are loops with valid
// back edges (lib/graph/flow/flow.h), and every node has the inputs (number, types) and outputs that its op's signature
// and attributes require.
PANTO_EXPORT void validate(const Graph& graph);

}  // namespace panto
