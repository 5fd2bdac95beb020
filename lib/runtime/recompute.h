// Computing values again, rather than keeping them, where memory is short.
//
//   Graph g = recompute_within(graph, int64_t{1} << 30);   // no more than 1 GiB at a time
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "panto/lib/base/export.h"
#include "panto/lib/graph/graph.h"

namespace panto {

// A copy of which a plan needs at most so many bytes, as GraphCosts::peak_bytes counts them (`peak`: how many). What is
// computed again, as often as need be, are values of elementwise ops and reductions that are needed much later than
// they are made, of values that are there then: the results are the same to the bit. The new nodes wait for what comes
// before their readers, and say so by an internal attribute, which passes respect. Functions stay as they are.
// `shapes`: more than the graph says of its Placeholders. Throws ResourceExhausted where the limit cannot be kept,
// saying what could be; InvalidArgument where shapes are not known.
PANTO_EXPORT Graph recompute_within(const Graph& graph, int64_t bytes,
                                    std::span<const std::pair<NodeOutput, PartialShape>> shapes = {},
                                    int64_t* peak = nullptr);

}  // namespace panto
