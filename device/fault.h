// Bad data that only a kernel can find. Kernels go on with a harmless value and leave a note; the error is thrown when
// the loop has ended, or, on a device, at the next read on the host.
#pragma once

#include <cstdint>

#include "panto/lib/base/export.h"

namespace panto {

enum class Fault : uint32_t {
  kNone = 0,
  kDivisionByZero,
  kNegativePower,
  kIndexOutOfRange,
  kRepeatedIndex,
  kLabelOutOfRange,
  kRateOutOfRange,
};

// Throws InvalidArgument that says what the fault means to the user.
[[noreturn]] PANTO_EXPORT void throw_fault(Fault fault);

}  // namespace panto
