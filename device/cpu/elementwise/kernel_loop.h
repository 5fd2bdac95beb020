// The payload of CPU kernels: the inner loop that fused programs use.
#pragma once

#include <cstdint>

#include "panto/lib/core/op/kernel.h"

namespace panto {

// Computes n consecutive elements of an elementwise kernel's output. If bit i of `moves` is set, input i advances with
// the output, else its first element is used for all; if no bit is set, n is 1. The output may be the memory of an
// input. Returns the fault found (device/fault.h) as a number.
using InnerLoopFn = uint32_t (*)(unsigned moves, void* out, int64_t n, const void* const* in);

namespace cpu {

struct KernelLoop {
  InnerLoopFn run;
  int64_t work;  // cost of an element, in bytes that could be moved meanwhile
};

// Returns null if a CPU kernel has no inner loop.
inline const KernelLoop* loop_of(const Kernel& kernel) { return static_cast<const KernelLoop*>(kernel.payload); }

}  // namespace cpu
}  // namespace panto
