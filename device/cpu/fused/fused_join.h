// Instructions of a fused program that are done in one pass over a tile: `erf(x * s) + t` instead of three passes that
// each read a tile from the first-level cache and write one. Where the operands between them are single numbers, as
// factors and offsets in formulas are, and for squares, of which the sums of squares of differences and of products are
// made: every other case would need loops of its own.
//
// What is rounded is rounded as before: the bits are those of the separate loops.
#pragma once

#include <cstdint>

#include "panto/device/cpu/elementwise/kernel_loop.h"
#include "panto/lib/base/export.h"
#include "panto/lib/core/call/call.h"

namespace panto::cpu {

// `second` after `first`, whose result is its operand. At most kMaxInnerLoopInputs operands.
struct Joined {
  InnerLoopFn run = nullptr;  // operands: those of `first`, then the other ones of `second`
  uint32_t numbers = 0;       // a bit for each operand that has to be a single number
  bool one_operand = false;   // operand 0 of `second` has to be operand 0 of `first`, and is not there twice
};

// For the inner loops of two float32 ops, or of what was joined before; `place`: which operand of `second` it is, of
// how many. No loop: these are not joined.
PANTO_EXPORT Joined join(InnerLoopFn first, InnerLoopFn second, int place, int operands);
// Whether the loop's two operands may change places.
PANTO_EXPORT bool commutes(InnerLoopFn loop);

}  // namespace panto::cpu
