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

  int transfers = 0;              // values that go from one device to another in a run: one for each destination
  int64_t transferred_bytes = 0;  // of them, those whose shape is known

  // Of a plan that was placed by cost: of one run, in the simulation that chose the devices; the same with everything
  // on the best single device, and which that is; the shortest run so far. `placement_report` says them.
  double predicted_seconds = 0;
  double single_device_seconds = 0;
  std::string single_device;
  double measured_seconds = 0;

  // What the plan keeps between its runs.
  int64_t kept_bytes() const { return planned_bytes + packed_bytes; }
};

}  // namespace panto
