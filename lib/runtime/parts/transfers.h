// Matching Sends and Recvs within one graph. Internal.
#pragma once

#include "panto/lib/graph/graph.h"

namespace panto {

// Whether the graph has both a Send and the matching Recv: each run then needs its own rendezvous.
bool has_transfers(const Graph& graph);
// Adds a control edge from each Send to its Recv, so that one thread can run both. Several Sends and Recvs with the
// same attributes are paired in order. If a Send needs the value of its own Recv, this makes a cycle.
void order_transfers(Graph& graph);

}  // namespace panto
