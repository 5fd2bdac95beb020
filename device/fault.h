// Bad data that only a kernel can find. The kernel records the fault and goes on with a harmless value. The error is
// thrown after the loop, or, on a GPU, at the next read on the host.
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
  kSegmentOutOfOrder,
  kNotANumber,
  kRangeOutOfOrder,
  kParameterOutOfRange,
  kBoxOfNoImage,
  kBoxNotFinite,
  kScaleOutOfRange,
  kTranslationNotFinite,
  kRangeReversed,
  kBitsOutOfRange,
  kOffsetNotANumber,
  kNotFinite,
};

// Throws InvalidArgument (OutOfRange for kBoxOfNoImage) with the message for this fault.
[[noreturn]] PANTO_EXPORT void throw_fault(Fault fault);

}  // namespace panto
