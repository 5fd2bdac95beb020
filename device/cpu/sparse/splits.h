// Where the rows of a ragged tensor begin: row r has what is from splits[r] to before splits[r + 1].
#pragma once

#include <cstdint>

#include "panto/device/cpu/row_numbers.h"
#include "panto/lib/base/text/format.h"

namespace panto::cpu {

// Throws InvalidArgument unless there is a split, none is negative, they do not decrease, and the last is not beyond
// the number of elements that they split.
inline void check_splits_within(const Indices& splits, int64_t elements, const char* what) {
  if (splits.count() == 0) invalid("{}: expected at least one, got none", what);
  if (splits[0] < 0) invalid("{}[0]: expected at least 0, got {}", what, splits[0]);
  for (int64_t i = 1; i < splits.count(); ++i) {
    if (splits[i] < splits[i - 1]) {
      invalid("{}[{}]: expected at least {}, the one before, got {}", what, i, splits[i - 1], splits[i]);
    }
  }
  const int64_t last = splits[splits.count() - 1];
  if (last > elements) invalid("{}: expected at most {}, the number of elements, got {}", what, elements, last);
}

// The same, and the splits go from 0 to the number of elements.
inline void check_splits(const Indices& splits, int64_t elements, const char* what) {
  if (splits.count() > 0 && splits[0] != 0) invalid("{}[0]: expected 0, got {}", what, splits[0]);
  check_splits_within(splits, elements, what);
  const int64_t last = splits[splits.count() - 1];
  if (last != elements) invalid("{}: expected {} at the end, the number of elements, got {}", what, elements, last);
}

}  // namespace panto::cpu
