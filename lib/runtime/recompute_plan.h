// recompute_within (lib/runtime/recompute.h) for a graph that is being planned. Internal.
#pragma once

#include <cstdint>
#include <functional>

#include "panto/lib/runtime/rewrite.h"

namespace panto {

// Changes the graph until planned_bytes(work) is at most `bytes`; existing values keep their ids. Throws
// ResourceExhausted if that is impossible, InvalidArgument if shapes are not known.
void recompute_in_plan(WorkGraph& work, int64_t bytes, const std::function<int64_t(const WorkGraph&)>& planned_bytes);

}  // namespace panto
