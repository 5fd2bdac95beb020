// recompute_within (lib/runtime/recompute.h) of a graph that is being planned. Internal.
#pragma once

#include <cstdint>
#include <functional>

#include "panto/lib/runtime/rewrite.h"

namespace panto {

// Changes the graph so that `planned_bytes` of it is at most `bytes`; ids stay those of the same values. Throws
// ResourceExhausted where that cannot be, InvalidArgument where shapes are not known.
void recompute_in_plan(WorkGraph& work, int64_t bytes, const std::function<int64_t(const WorkGraph&)>& planned_bytes);

}  // namespace panto
