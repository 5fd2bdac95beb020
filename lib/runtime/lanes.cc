#include "panto/lib/runtime/lanes.h"

#include <algorithm>
#include <limits>

#include "panto/lib/core/call/thread_state.h"

namespace panto {

namespace {

constexpr double kWorthAThread = 30e-6;  // seconds: another thread has to wake up, and this one perhaps, too

// What a step takes; of an op that nobody can tell the time of, more than any other.
double seconds_of(const Plan& plan, const PlanStep& step, const CostModel& costs) {
  if (step.kind != PlanStep::Kind::kCall) return 0;
  const Node& node = plan.graph.at(step.node);
  const Op& op = node.op();
  const bool told = op.flops() != nullptr || op.has(Trait::kElementwise) || op.has(Trait::kDataMovement) ||
                    op.has(Trait::kShapeOnly) || op.has(Trait::kReduction) || op.has(Trait::kContraction) ||
                    op.is(OpKind::kReadVariable);
  const auto known = [](const OutputSpec& spec) { return spec.shape.fully_known(); };
  if (!told || !std::ranges::all_of(step.prepared->specs(), known)) return std::numeric_limits<double>::infinity();
  return costs.seconds(plan.graph, node, step.prepared->device().kind());
}

}  // namespace

std::vector<std::vector<size_t>> lanes_of(const Plan& plan, const CostModel* costs) {
  if (plan.parts.size() < 2) return {};
  const int count = *std::ranges::max_element(plan.lane_of) + 1;
  std::vector<std::vector<size_t>> lanes(static_cast<size_t>(count));
  std::vector<double> seconds(static_cast<size_t>(count), 0);
  const CostModel estimates;
  for (size_t s = 0; s < plan.segments.size(); ++s) {
    const PlanSegment& segment = plan.segments[s];
    const auto lane = static_cast<size_t>(plan.lane_of[segment.part]);
    lanes[lane].push_back(s);
    for (uint32_t i = segment.first; i < segment.end; ++i) {
      seconds[lane] += seconds_of(plan, plan.parts[segment.part].steps[i], costs != nullptr ? *costs : estimates);
    }
  }
  std::ranges::sort(seconds);
  double beside = 0;
  for (size_t i = 0; i + 1 < seconds.size(); ++i) beside += seconds[i];
  if (beside < kWorthAThread) return {};
  return lanes;
}

namespace {
// Ends a lane that needs what another one does not make any more.
struct GivenUp {};
}  // namespace

void LanesRun::run(const Step& step, const Callable<void(size_t)>& run_segment) {
  signals_.begin();
  for (auto& fault : faults_) fault = {};
  run_side_by_side(lanes_.size(), [&](size_t lane) {
    const LentStep lent(step);
    run_lane(lane, run_segment);
  });
  const std::pair<std::exception_ptr, size_t>* first = nullptr;
  for (const auto& fault : faults_) {
    if (fault.first && (first == nullptr || fault.second < first->second)) first = &fault;
  }
  if (first != nullptr) std::rethrow_exception(first->first);
}

void LanesRun::run_lane(size_t lane, const Callable<void(size_t)>& run_segment) {
  size_t at = 0;
  try {
    for (const size_t segment : lanes_[lane]) {
      at = segment;
      run_segment(segment);
    }
  } catch (const GivenUp&) {
    give_up(lane);
  } catch (...) {
    faults_[lane] = {std::current_exception(), at};
    give_up(lane);
  }
}

void LanesRun::give_up(size_t lane) noexcept {
  for (size_t e = 0; e < plan_.edges.size(); ++e) {
    if (plan_.lane_of[static_cast<size_t>(plan_.edges[e].from)] == static_cast<int>(lane)) signals_.give_up(e);
  }
}

void LanesRun::wait(size_t edge) {
  if (!signals_.wait(edge)) throw GivenUp();
}

}  // namespace panto
