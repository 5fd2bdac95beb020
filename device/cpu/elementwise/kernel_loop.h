// What the CPU's kernels carry as their payload: the loop that fused programs take.
#pragma once

#include <cstdint>

#include "panto/lib/core/op/kernel.h"

namespace panto {

// Computes n consecutive elements of the output of an elementwise kernel. Bit i of `moves` tells whether input i moves
// along with the output; the others stay at their first element; if none moves, n is 1. The output may be an input's
// memory. Returns what was wrong with the data: a Fault (device/fault.h), as a number.
using InnerLoopFn = uint32_t (*)(unsigned moves, void* out, int64_t n, const void* const* in);

namespace cpu {

struct KernelLoop {
  InnerLoopFn run;
  int64_t work;  // of an element, in bytes that could be moved meanwhile
};

// Null where a kernel of the CPU has none.
inline const KernelLoop* loop_of(const Kernel& kernel) { return static_cast<const KernelLoop*>(kernel.payload); }

}  // namespace cpu
}  // namespace panto
