// What one run of a node computes and moves, as far as shapes say it. Internal.
#pragma once

#include "panto/lib/core/call/call.h"
#include "panto/lib/graph/graph.h"

namespace panto {

struct NodeWork {
  double operations = 0;
  double bytes = 0;    // read and written
  bool known = false;  // all shapes are; a dimension that is not counts as 1
};
// Of the node itself: not of the functions that it calls.
NodeWork work_of(const Graph& graph, const Node& node);
// Of a call that has its outputs.
NodeWork work_of(const Call& call);

}  // namespace panto
