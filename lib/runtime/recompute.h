// Rematerialization: recomputes values instead of keeping them, to save memory.
//
//   Graph g = recompute_within(graph, int64_t{1} << 30);   // no more than 1 GiB at a time
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "panto/lib/base/export.h"
#include "panto/lib/graph/graph.h"

namespace panto {

// Returns a copy whose plan needs at most `bytes`, counted as GraphCosts::peak_bytes (`peak`, if not null, gets the
// number). Recomputed, as often as needed, are outputs of elementwise ops and reductions that are used much later than
// they are computed and whose inputs are still available then; results are the same to the bit. The new nodes have
// control edges that make them run just before their readers, and an internal attribute that tells passes to keep these
// edges. Functions stay unchanged. `shapes`: shapes of Placeholders, more precise than the graph's. Throws
// ResourceExhausted if the limit cannot be met, naming the least that could be; InvalidArgument if shapes are not
// known.
PANTO_EXPORT Graph recompute_within(const Graph& graph, int64_t bytes,
                                    std::span<const std::pair<NodeOutput, PartialShape>> shapes = {},
                                    int64_t* peak = nullptr);

}  // namespace panto
