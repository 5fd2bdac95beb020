// The executor of plans: runs calls one after the other, or the parts of a plan on several threads at once. Internal.
#pragma once

#include <memory>

#include "panto/lib/runtime/executable.h"
#include "panto/lib/runtime/plan/plan.h"

namespace panto {

// `is_split`: the plan's parts belong to one device (split_by_cost).
std::shared_ptr<Executable> make_straight_line(Plan plan, const ExecutableOptions& options, bool is_split);

}  // namespace panto
