// Sharing a loop between threads, when it is long enough to pay for waking them.
#pragma once

#include <cstdint>

#include "panto/lib/base/export.h"

namespace panto::cpu {

// Loops that move or compute fewer bytes than this stay on the calling thread: waking the others takes some
// microseconds, in which one core moves about that much.
inline constexpr int64_t kParallelBytes = int64_t{256} * 1024;

using RangeFn = void (*)(const void* body, int64_t begin, int64_t end);
// The slow half of parallel_ranges.
PANTO_EXPORT void run_ranges(int64_t n, int64_t multiple, RangeFn run, const void* body);

// Calls body(begin, end) for ranges that together cover [0, n), on several threads where `work` (bytes moved, or what
// takes as long) is enough and no other thread's loop is shared at the moment, else once, without an OpenMP region.
// Ranges begin at multiples of `multiple`. An exception thrown by a body reaches the caller. The result must not depend
// on how [0, n) is divided (design decision 13).
template <class Body>
inline void parallel_ranges(int64_t n, int64_t work, const Body& body, int64_t multiple = 64) {
  if (work < kParallelBytes) [[likely]] {
    body(int64_t{0}, n);
    return;
  }
  run_ranges(
      n, multiple, [](const void* b, int64_t begin, int64_t end) { (*static_cast<const Body*>(b))(begin, end); },
      &body);
}

}  // namespace panto::cpu
