// What a node keeps from run to run and that can be put into a checkpoint.
#pragma once

#include <string>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/lib/core/op/kernel.h"

namespace panto {

// Thread-safe, as what derives from it must be.
struct PANTO_EXPORT ResumableState : KernelState {
  // Where it stands, as bytes; none: at its beginning. Throws FailedPrecondition where it cannot say.
  virtual std::string position() const = 0;
  // What `position` gave, or nothing: to its beginning. Throws DataLoss for other bytes.
  virtual void go_to(std::string_view position) = 0;
};

}  // namespace panto
