// Planning: how a plan has the functions planned that its nodes call, branches and what loops run, when they are first
// reached. Internal.
#pragma once

#include <memory>
#include <string>

#include "panto/lib/core/op/resumable_state.h"

namespace panto {

class CostModel;
struct ExecutableOptions;
struct Step;

// As in ExecutableOptions.
struct Planning {
  std::string passes = {};
  std::string placement = {};
  std::shared_ptr<CostModel> costs = nullptr;
  bool narrow_transfers = false;
  bool operator==(const Planning&) const = default;
};

// As `options` have it; null where they ask for nothing.
std::shared_ptr<const Planning> planning_of(const ExecutableOptions& options);
// Where both ask for the same.
bool same_planning(const std::shared_ptr<const Planning>& a, const std::shared_ptr<const Planning>& b) noexcept;
// Of a function called `name` that is planned in `step`; `planning` null: which asks for nothing.
ExecutableOptions function_options(const Step& step, const Planning* planning, std::string name);

// What a node keeps whose kernel plans functions. Plans that want them in different ways share it.
struct FunctionPlanner : ResumableState {
  // The same, and how one plan wants them: what the kernel gets there.
  virtual std::shared_ptr<KernelState> in_plan(std::shared_ptr<const Planning> planning) = 0;
};

}  // namespace panto
