// Checks of options of optimizers, losses and metrics. Internal.
#pragma once

#include <algorithm>
#include <cmath>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/dtype.h"

namespace panto {

// Throws InvalidArgument unless share is in [0, 1), or [0, 1].
inline void expect_share(const char* what, double share, bool one_is_allowed = false) {
  if (share >= 0 && (share < 1 || (share == 1 && one_is_allowed))) return;
  invalid("{}: expected a number in [0, 1{}, got {}", what, one_is_allowed ? "]" : ")", share);
}

// Returns value. Throws InvalidArgument unless it is finite and not negative.
inline double not_negative(const char* what, double value) {
  if (!(value >= 0) || !std::isfinite(value))
    invalid("{}: expected a finite number of at least 0, got {}", what, value);
  return value;
}

// An epsilon that does not round to 0 in the variable's type: the smallest float16 is 2^-24.
inline double epsilon_in(DType type, double epsilon) {
  return type == kFloat16 && epsilon > 0 ? std::max(epsilon, 0x1p-24) : epsilon;
}

// Returns value. Throws InvalidArgument unless it is finite and positive.
inline double positive(const char* what, double value) {
  if (!(value > 0) || !std::isfinite(value)) invalid("{}: expected a positive number, got {}", what, value);
  return value;
}

}  // namespace panto
