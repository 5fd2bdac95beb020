// Planning: how to plan functions that a plan's nodes call (branches, conditions and bodies of loops), which happens
// when they are first reached. Internal.
#pragma once

#include <memory>
#include <string>

#include "panto/lib/core/op/resumable_state.h"

namespace panto {

class CostModel;
struct ExecutableOptions;
struct Step;

// The fields have the meaning they have in ExecutableOptions.
struct Planning {
  std::string passes = {};
  std::string placement = {};
  std::shared_ptr<CostModel> costs = nullptr;
  bool narrow_transfers = false;
  bool operator==(const Planning&) const = default;
};

// Taken from `options`; null if they are the defaults.
std::shared_ptr<const Planning> planning_of(const ExecutableOptions& options);
// Whether both ask for the same; null equals the defaults.
bool same_planning(const std::shared_ptr<const Planning>& a, const std::shared_ptr<const Planning>& b) noexcept;
// Options for a function called `name` that is planned in `step`; `planning` null: the defaults.
ExecutableOptions function_options(const Step& step, const Planning* planning, std::string name);

// State of a node whose kernel plans functions. Shared by plans with different `Planning`.
struct FunctionPlanner : ResumableState {
  // Returns the view of this state for a plan with `planning`; the kernel gets it in that plan.
  virtual std::shared_ptr<KernelState> in_plan(std::shared_ptr<const Planning> planning) = 0;
};

}  // namespace panto
