#include "panto/lib/runtime/placement/measurements.h"

namespace panto {

namespace {
constexpr int kMeasuredRuns = 8;  // several, as memory and caches are cold in the first ones
}

std::unique_ptr<MeasuredRun> Measurements::begin() {
  if (begun_.load(std::memory_order_relaxed) >= kMeasuredRuns || begun_.fetch_add(1) >= kMeasuredRuns) return nullptr;
  return std::make_unique<MeasuredRun>(plan_);
}

void Measurements::end(std::unique_ptr<MeasuredRun> run) {
  const double seconds = run->seconds();
  const std::lock_guard lock(mutex_);
  if (shortest() == 0 || seconds < shortest()) shortest_.store(seconds, std::memory_order_relaxed);
  for (size_t p = 0; p < plan_.parts.size(); ++p) {
    for (size_t s = 0; s < plan_.parts[p].steps.size(); ++s) {
      const PlanStep& step = plan_.parts[p].steps[s];
      if (step.kind != PlanStep::Kind::kCall) continue;
      costs_->note(plan_.graph, plan_.graph.at(step.node), step.prepared->device().kind(), run->seconds_of(p, s));
    }
  }
}

}  // namespace panto
