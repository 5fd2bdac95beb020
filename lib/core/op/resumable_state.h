// State that a node keeps between runs and that can be saved in a checkpoint.
#pragma once

#include <string>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/lib/core/op/kernel.h"

namespace panto {

// Thread-safe; derived classes must be so, too.
struct PANTO_EXPORT ResumableState : KernelState {
  // The position as bytes; empty at the beginning. Throws FailedPrecondition if the position cannot be saved.
  virtual std::string position() const = 0;
  // Goes to a position that `position` returned; empty: to the beginning. Throws DataLoss for invalid bytes.
  virtual void go_to(std::string_view position) = 0;
};

}  // namespace panto
