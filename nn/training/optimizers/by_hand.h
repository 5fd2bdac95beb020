// Whether a graph is being built by hand, in a GraphScope rather than by a trace. Internal.
#pragma once

#include "panto/lib/core/call/recorder.h"

namespace panto {

// If so, nodes run in any order unless they are told: an assignment must wait for the reads of its variable.
// (in_graph_scope() answers another question: whether variables made now belong to the graph. A trace keeps the order
// by itself, also a trace of a branch inside such a graph.)
inline bool is_graph_by_hand() {
  const Recorder* const building = symbolic_recorder();
  return building != nullptr && building->makes_constants();
}

}  // namespace panto
