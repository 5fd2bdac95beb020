#include "panto/lib/runtime/parts/split.h"

#include <algorithm>

#include "panto/lib/core/tensor/device.h"
#include "panto/lib/runtime/parts/lanes.h"
#include "panto/lib/runtime/placement/placer.h"

namespace panto {

double seconds_or_unknown(const Graph& graph, const Node& node, DeviceKind kind, const CostModel& costs) {
  constexpr double kUnknown = 1e-3;
  const Op& op = node.op();
  const bool told = op.flops() != nullptr || op.has(Trait::kElementwise) || op.has(Trait::kDataMovement) ||
                    op.has(Trait::kShapeOnly) || op.has(Trait::kReduction) || op.has(Trait::kContraction) ||
                    op.is(OpKind::kReadVariable);
  const auto known = [](const OutputInfo& info) { return info.shape.fully_known(); };
  if (!told || !std::ranges::all_of(node.outputs(), known)) return kUnknown;
  return costs.seconds(graph, node, kind);
}

std::vector<int> split_by_cost(const WorkGraph& work, int threads, const CostModel& costs) {
  const Graph& graph = work.graph;
  const auto limit = static_cast<size_t>(graph.id_limit());
  std::vector<int> thread_of(limit, 0);
  std::vector<double> done(limit, 0), clock(static_cast<size_t>(threads), 0);
  double on_one = 0;
  for (const int id : graph.topological_order()) {
    const Node& node = graph.at(id);
    const bool is_step = id != work.sink && !node.is(OpKind::kConstant) && !node.is(OpKind::kPlaceholder) &&
                         !node.is(OpKind::kVariableHandle) && !node.is(OpKind::kNoOperation);
    if (!is_step) continue;
    if (&device_of(node) != &cpu_device()) return {};
    const double seconds = node.has(Trait::kIdentity) ? 0 : seconds_or_unknown(graph, node, DeviceKind::kCpu, costs);
    on_one += seconds;
    const auto begins = [&](int thread) {
      double at = clock[static_cast<size_t>(thread)];
      const auto wait_for = [&](int other) {
        const bool elsewhere = thread_of[static_cast<size_t>(other)] != thread;
        at = std::max(at, done[static_cast<size_t>(other)] + (elsewhere ? kSecondsToWait : 0));
      };
      for (const NodeOutput& input : node.inputs()) wait_for(input.node);
      for (const int before : node.control_inputs()) wait_for(before);
      return at;
    };
    int best = 0;
    if (!node.op().has_effects() && !node.is(OpKind::kReadVariable)) {
      for (int thread = 1; thread < threads; ++thread) {
        if (begins(thread) < begins(best)) best = thread;
      }
    }
    thread_of[static_cast<size_t>(id)] = best;
    done[static_cast<size_t>(id)] = clock[static_cast<size_t>(best)] = begins(best) + seconds;
  }
  if (*std::ranges::max_element(clock) + kSecondsToWake >= on_one) return {};
  return thread_of;
}

}  // namespace panto
