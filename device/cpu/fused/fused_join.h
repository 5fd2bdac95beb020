// Instructions of a fused program that are joined into one pass over a tile: `erf(x * s) + t` instead of three passes
// that each read and write a tile in the first-level cache. Two cases are joined: the additional operands are scalars,
// like factors and offsets in formulas; and squares, as in sums of squared differences and products. Every other case
// would need inner loops of its own.
//
// Intermediate results are rounded as before, so the bits are those of the separate loops.
#pragma once

#include <cstdint>

#include "panto/device/cpu/elementwise/kernel_loop.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/call/call.h"

namespace panto::cpu {

// The inner loop of `first` followed by `second`, which reads first's result. At most kMaxInnerLoopInputs operands.
struct Joined {
  InnerLoopFn run = nullptr;  // operands: those of `first`, then the other ones of `second`
  uint32_t numbers = 0;       // a bit for each operand that must be a scalar
  bool one_operand = false;   // operand 0 of `second` must be operand 0 of `first`, and is not repeated
};

// Joins the inner loops of two float32 ops, or loops joined before. first's result is operand `place` of second's
// `operands` operands. The result has no loop if the two cannot be joined.
PANTO_EXPORT Joined join(InnerLoopFn first, InnerLoopFn second, int place, int operands);
// Whether the two operands of the loop may be swapped.
PANTO_EXPORT bool commutes(InnerLoopFn loop);

}  // namespace panto::cpu
