// PlanStats: figures of a plan: steps, memory, passes, transfers.
//
//   std::cout << session.plan_stats().planned_bytes;
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace panto {

struct PlanStats {
  int steps = 0;
  int dynamic_steps = 0;            // of these, steps whose outputs are allocated at each run
  int64_t planned_bytes = 0;        // size of the arenas: the peak memory of planned values
  int64_t unshared_bytes = 0;       // the same if no memory were shared
  int64_t packed_bytes = 0;         // of constants repacked for their kernels
  std::vector<std::string> passes;  // passes that ran, in order
  int passes_undone = 0;            // of these, passes that failed, through a fault of the pass or of the graph

  int transfers = 0;              // values sent between devices in a run, counted once per destination
  int64_t transferred_bytes = 0;  // of these, values of known shape

  // For a plan that was placed by cost: the simulated time of a run; the simulated time with everything on the best
  // single device, and that device; the shortest measured run. `placement_report` prints them.
  double predicted_seconds = 0;
  double single_device_seconds = 0;
  std::string single_device;
  double measured_seconds = 0;

  // Memory that the plan keeps between runs.
  int64_t kept_bytes() const { return planned_bytes + packed_bytes; }
};

}  // namespace panto
