// Arrays of TensorFlow 1 (TensorArrayV3 and its kin) as lists (TensorList...), which are values and have gradients.
// Internal.
#pragma once

#include <span>

#include "panto/lib/graph/graph.h"

namespace panto {

// Before loops are raised (lib/graph/flow/raise.h). An array whose handle is used for nothing but reading, writing and
// asking for its size, and whose flow goes nowhere else, becomes a list that goes where the flow went; others, of which
// the graph has gradients already, stay. How many became lists. `kept`: ids of nodes that are read or run by others.
int raise_arrays(Graph& graph, std::span<const int> kept);

}  // namespace panto
