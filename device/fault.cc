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
    case Fault::kSegmentOutOfOrder:
      fail(Code::kInvalidArgument, "segment_ids: expected ids of at least 0 in order, got one that is not");
    case Fault::kNotANumber: fail(Code::kInvalidArgument, "values: expected numbers, got NaN");
    case Fault::kRangeOutOfOrder:
      fail(Code::kInvalidArgument, "value_range: expected a lower end below the upper one, got another one");
    case Fault::kParameterOutOfRange:
      fail(Code::kInvalidArgument, "parameters: expected finite ones that the result can hold, got another one");
    case Fault::kBoxOfNoImage:
      fail(Code::kOutOfRange, "box_ind: expected at least 0 and less than the number of images, got another one");
    case Fault::kBoxNotFinite: fail(Code::kInvalidArgument, "boxes: expected finite numbers, got another one");
    case Fault::kScaleOutOfRange: fail(Code::kInvalidArgument, "scale: expected positive numbers, got another one");
    case Fault::kTranslationNotFinite:
      fail(Code::kInvalidArgument, "translation: expected finite numbers, got another one");
    case Fault::kRangeReversed:
      fail(Code::kInvalidArgument, "range: expected a maximum of at least the minimum, got a smaller one");
    case Fault::kBitsOutOfRange:
      fail(Code::kInvalidArgument, "num_bits: expected 1 to 62 (61 with a sign), got another");
    case Fault::kOffsetNotANumber: fail(Code::kInvalidArgument, "offsets: expected numbers, got NaN");
    case Fault::kNotFinite: fail(Code::kInvalidArgument, "tensor: expected finite numbers, got others");
    case Fault::kNone: break;
  }
  fail(Code::kInternal, "fault: expected one that is known");
}

}  // namespace panto
