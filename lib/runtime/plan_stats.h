// PlanStats: what planning made of a graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace panto {

struct PlanStats {
  int steps = 0;
  int dynamic_steps = 0;            // of them, those whose outputs are allocated at each run
  int64_t planned_bytes = 0;        // of the arenas, with reuse: the peak of what the planned values take
  int64_t unshared_bytes = 0;       // the same without reuse
  int64_t packed_bytes = 0;         // of constants as kernels like to read them
  std::vector<std::string> passes;  // that ran, in order
  int passes_undone = 0;            // of them, those that failed: a fault of the pass, or of the graph

  // What the plan keeps between its runs.
  int64_t kept_bytes() const { return planned_bytes + packed_bytes; }
};

}  // namespace panto
