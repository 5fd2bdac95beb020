// Sends and Recvs of one graph that meet in it. Internal.
#pragma once

#include "panto/lib/graph/graph.h"

namespace panto {

// Whether the graph has a Recv and the Send that it waits for: its runs need a rendezvous of their own.
bool has_transfers(const Graph& graph);
// Makes each Recv wait for its Send, whose value then is there, so that one thread may run both. Of several with the
// same attributes the first go together. A Send that needs what its Recv gives is part of a cycle then.
void order_transfers(Graph& graph);

}  // namespace panto
