// Replaces arrays of TensorFlow 1 (TensorArrayV3 and related ops) by lists (TensorList...), which are values and have
// gradients. Internal.
#pragma once

#include <span>

#include "panto/lib/graph/graph.h"

namespace panto {

// Call it before loops are raised (lib/graph/flow/raise.h). An array becomes a list, which takes the place of its flow
// value, if its handle is used only to read, write and get the size, and its flow goes nowhere else. Other arrays stay,
// such as those whose gradients are already in the graph. Returns the number of arrays that became lists. `kept`: ids
// of nodes that are read or run from outside the graph.
int raise_arrays(Graph& graph, std::span<const int> kept);

}  // namespace panto
