// Sharing a loop between threads if it is long enough to pay for waking them.
#pragma once

#include <cstdint>

#include "panto/lib/base/export.h"
#include "panto/lib/core/step/cancel.h"

namespace panto::cpu {

// Loops that move or compute fewer bytes stay on the calling thread: waking the other threads takes some microseconds,
// in which one core moves about this much.
inline constexpr int64_t kParallelBytes = int64_t{256} * 1024;

using RangeFn = void (*)(const void* body, int64_t begin, int64_t end);
// The slow path of parallel_ranges. If `work` is 0, each thread gets one range.
PANTO_EXPORT void run_ranges(int64_t n, int64_t multiple, int64_t work, RangeFn run, const void* body);
template <class Body>
void run_body(const void* body, int64_t begin, int64_t end) {
  (*static_cast<const Body*>(body))(begin, end);
}

// Calls body(begin, end) for ranges that together cover [0, n). Several threads run them if `work` (bytes moved, or
// computation that takes as long) is large enough and no other thread's loop is shared at the moment; else there is no
// OpenMP region. Ranges begin at multiples of `multiple`. An exception thrown by a body reaches the caller. The result
// must not depend on how [0, n) is divided (design decision 13). A range is about a millisecond's work or one multiple,
// whichever is more: after a request for cancellation no further range begins, and Cancelled is thrown.
template <class Body>
inline void parallel_ranges(int64_t n, int64_t work, const Body& body, int64_t multiple = 64) {
  if (work < kParallelBytes) [[likely]] {
    body(int64_t{0}, n);
    return;
  }
  run_ranges(n, multiple, work, run_body<Body>, &body);
}

// The same with one range per thread. For bodies that are slower on short ranges, that check for cancellation
// themselves, or that change user data and must not leave it half changed.
template <class Body>
inline void parallel_for(int64_t n, int64_t work, const Body& body, int64_t multiple = 64) {
  if (work < kParallelBytes) [[likely]] {
    body(int64_t{0}, n);
    return;
  }
  run_ranges(n, multiple, 0, run_body<Body>, &body);
}

// The number of tiles into which work is cut so that every processor has one, for work that is faster in large tiles.
// It counts the machine's processors, not the process's threads: results computed in tiles must not depend on the
// number of threads. A power of two, since tiles are halved; if the number of processors is not a power of two, there
// are several tiles per processor.
int64_t tiles_for_processors();

// Calls body(begin, end) for pieces of [0, n) in order, and throws Cancelled between two pieces if cancellation was
// requested. For long loops on one thread.
template <class Body>
[[gnu::always_inline]] inline void in_pieces(int64_t n, int64_t piece, const Body& body) {
  int64_t begin = 0;
  for (; n - begin > piece; begin += piece) {
    body(begin, begin + piece);
    throw_if_cancelled();
  }
  body(begin, n);
}

}  // namespace panto::cpu
