// Evaluates loops, conditionals and calls on constants while a graph is optimized. Internal.
#pragma once

#include <span>
#include <vector>

#include "panto/lib/graph/graph.h"

namespace panto::passes {

// Limits on such an evaluation, which nothing else would end. They do not depend on the machine, so neither does the
// result.
struct FoldingBudget {
  int rounds = 256;
  int calls = 10'000;                 // of nodes, of all rounds
  int64_t operations = 100'000'000;   // of all rounds
  int64_t bytes = int64_t{10} << 20;  // of one value
};

// Returns the outputs of a node that calls functions. Empty if the evaluation exceeds the budget, or if its cost cannot
// be predicted: a function runs a loop, is known by name only, or makes values of unknown size. Throws what the
// functions throw.
std::vector<Tensor> fold_call(const Node& node, std::span<const Tensor* const> inputs,
                              const FoldingBudget& budget = {});

}  // namespace panto::passes
