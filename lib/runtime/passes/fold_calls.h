// Loops, conditionals and calls of constants, run while a graph is optimized. Internal.
#pragma once

#include <span>
#include <vector>

#include "panto/lib/graph/graph.h"

namespace panto::passes {

// Nothing ends an optimizer: what calls functions is run as long as it keeps to all of this, which does not depend on
// the machine.
struct FoldingBudget {
  int rounds = 256;
  int calls = 10'000;                 // of nodes, of all rounds
  int64_t operations = 100'000'000;   // of all rounds
  int64_t bytes = int64_t{10} << 20;  // of one value
};

// What a node that calls functions gives; empty where it would go beyond the budget, or one cannot say: a function runs
// a loop, is known by its name only, or makes what has no known size. Throws what the functions throw.
std::vector<Tensor> fold_call(const Node& node, std::span<const Tensor* const> inputs,
                              const FoldingBudget& budget = {});

}  // namespace panto::passes
