// Whether a graph is being made by hand. Internal.
#pragma once

#include "panto/lib/core/call/recorder.h"

namespace panto {

// If so, nodes run in any order unless they are told: what reads a variable must be waited for before that is assigned
// to. (in_graph_scope() asks another thing: whether variables that are made now are the graph's. A trace, also that of
// a branch inside such a graph, keeps the order by itself.)
inline bool is_graph_by_hand() {
  const Recorder* const building = symbolic_recorder();
  return building != nullptr && building->makes_constants();
}

}  // namespace panto
