#include "panto/device/fault.h"

#include "panto/lib/base/error.h"

namespace panto {

void throw_fault(Fault fault) {
  switch (fault) {
    case Fault::kDivisionByZero: fail(Code::kInvalidArgument, "integer division by zero");
    case Fault::kNegativePower:
      fail(Code::kInvalidArgument, "exponent: expected none below 0 for integers, got a negative one");
    case Fault::kIndexOutOfRange: fail(Code::kInvalidArgument, "indices: expected all in range, got one that is not");
    case Fault::kRepeatedIndex: fail(Code::kInvalidArgument, "permutation: expected every number once, got one twice");
    case Fault::kLabelOutOfRange:
      fail(Code::kInvalidArgument, "labels: expected classes in [0, number of classes), got another one");
    case Fault::kRateOutOfRange:
      fail(Code::kInvalidArgument, "lr, l1, l2: expected more than 0, at least 0 and at least 0, got another one");
    case Fault::kNotFinite: fail(Code::kInvalidArgument, "tensor: expected finite numbers, got others");
    case Fault::kNone: break;
  }
  fail(Code::kInternal, "fault: expected one that is known");
}

}  // namespace panto
