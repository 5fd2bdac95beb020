// Operations and bytes of one run of a node, as far as shapes tell. Internal.
#pragma once

#include "panto/lib/core/call/call.h"
#include "panto/lib/graph/graph.h"

namespace panto {

struct NodeWork {
  double operations = 0;
  double bytes = 0;    // read and written
  bool known = false;  // all shapes are known; an unknown dimension counts as 1
};
// The work of the node itself, without functions that it calls.
NodeWork work_of(const Graph& graph, const Node& node);
// The work of an eager call whose outputs are set.
NodeWork work_of(const Call& call);

}  // namespace panto
