#include "panto/lib/runtime/parts/lanes.h"

#include <algorithm>
#include <optional>

#include "panto/lib/core/call/thread_state.h"
#include "panto/lib/core/step/threads.h"
#include "panto/lib/runtime/control/depth.h"
#include "panto/lib/runtime/parts/split.h"
#include "panto/lib/runtime/step_stats.h"

namespace panto {

namespace {

// Whether lanes on several threads are expected to finish sooner than one thread.
bool is_worth_it(const Plan& plan, size_t lanes, const CostModel& costs) {
  std::vector<double> now(lanes, 0), sent(plan.edges.size(), 0);
  double on_one = 0;
  for (const PlanSegment& segment : plan.segments) {
    const int lane = plan.lane_of[segment.part];
    double& clock = now[static_cast<size_t>(lane)];
    for (uint32_t s = segment.first; s < segment.end; ++s) {
      const PlanStep& step = plan.parts[segment.part].steps[s];
      if (step.kind == PlanStep::Kind::kSend) {
        sent[step.edge] = clock;
      } else if (step.kind == PlanStep::Kind::kReceive) {
        const bool other = plan.lane_of[static_cast<size_t>(plan.edges[step.edge].from)] != lane;
        if (other) clock = std::max(clock, sent[step.edge] + kSecondsToWait);
      } else if (step.kind == PlanStep::Kind::kCall) {
        const double seconds =
            seconds_or_unknown(plan.graph, plan.graph.at(step.node), step.prepared->device().kind(), costs);
        clock += seconds;
        on_one += seconds;
      }
    }
  }
  return *std::ranges::max_element(now) + kSecondsToWake < on_one;
}

}  // namespace

std::vector<std::vector<size_t>> lanes_of(const Plan& plan, const CostModel* costs) {
  if (plan.parts.size() < 2) return {};
  const int count = *std::ranges::max_element(plan.lane_of) + 1;
  std::vector<std::vector<size_t>> lanes(static_cast<size_t>(count));
  const CostModel estimates;
  if (!is_worth_it(plan, lanes.size(), costs != nullptr ? *costs : estimates)) return {};
  for (size_t s = 0; s < plan.segments.size(); ++s) {
    lanes[static_cast<size_t>(plan.lane_of[plan.segments[s].part])].push_back(s);
  }
  return lanes;
}

namespace {
// Thrown to end a lane that waits for a value of a failed lane.
struct GivenUp {};
}  // namespace

void LanesRun::run(const Step& step, bool shares, const Callable<void(size_t)>& run_segment) {
  const int threads = std::max(1, num_threads() / static_cast<int>(lanes_.size()));
  signals_.begin();
  for (auto& fault : faults_) fault = {};
  run_side_by_side(lanes_.size(), [&, watching = watching_stats, depth = CallDepth::current()](size_t lane) {
    const LentStep lent(step);
    std::optional<ThreadShare> share;
    if (shares) share.emplace(threads);
    const StepStatsScope watched(watching);
    const CallDepth deep(depth);
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
