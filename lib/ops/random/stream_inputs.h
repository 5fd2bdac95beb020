// Inputs of stateless random ops: key, counter and algorithm.
#pragma once

#include <cstdint>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/array/values.h"

namespace panto {

// Checks key, counter and algorithm: inputs 1, 2 and 3.
inline void expect_stream(const ShapeContext& c) {
  c.expect_equal(c.vector(1), 1, "length of key");
  if (const int64_t n = c.vector(2); n >= 0 && n < 2) invalid("length of counter: expected at least 2, got {}", n);
  if (const auto alg = known_scalar(c, 3); alg && *alg != 1 && *alg != 3) {
    if (*alg == 2) fail(Code::kUnimplemented, "alg: expected 1 (Philox) or 3 (automatic), got 2 (ThreeFry)");
    invalid("alg: expected 1 (Philox) or 3 (automatic), got {}", *alg);
  }
}

}  // namespace panto
