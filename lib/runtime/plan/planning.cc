#include "panto/lib/runtime/plan/planning.h"

#include <utility>

#include "panto/lib/core/step/step.h"
#include "panto/lib/runtime/executable.h"

namespace panto {

std::shared_ptr<const Planning> planning_of(const ExecutableOptions& options) {
  Planning planning{.passes = options.passes,
                    .placement = options.placement,
                    .costs = options.costs,
                    .narrow_transfers = options.narrow_transfers};
  return planning == Planning() ? nullptr : std::make_shared<const Planning>(std::move(planning));
}

bool same_planning(const std::shared_ptr<const Planning>& a, const std::shared_ptr<const Planning>& b) noexcept {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

ExecutableOptions function_options(const Step& step, const Planning* planning, std::string name) {
  ExecutableOptions options;
  options.soft_placement = step.soft_placement;
  options.log_device_placement = step.log_device_placement;
  options.log_scope = std::move(name);
  if (planning == nullptr) return options;
  options.passes = planning->passes;
  options.placement = planning->placement;
  options.costs = planning->costs;
  options.narrow_transfers = planning->narrow_transfers;
  return options;
}

}  // namespace panto
