// Sharing a loop between threads, when it is long enough to pay for waking them.
#pragma once

#include <cstdint>

#include "panto/lib/base/export.h"
#include "panto/lib/core/step/cancel.h"

namespace panto::cpu {

// Loops that move or compute fewer bytes than this stay on the calling thread: waking the others takes some
// microseconds, in which one core moves about that much.
inline constexpr int64_t kParallelBytes = int64_t{256} * 1024;

using RangeFn = void (*)(const void* body, int64_t begin, int64_t end);
// The slow half of parallel_ranges; with `work` 0 a thread's range is not cut.
PANTO_EXPORT void run_ranges(int64_t n, int64_t multiple, int64_t work, RangeFn run, const void* body);
template <class Body>
void run_body(const void* body, int64_t begin, int64_t end) {
  (*static_cast<const Body*>(body))(begin, end);
}

// Calls body(begin, end) for ranges that together cover [0, n), on several threads where `work` (bytes moved, or what
// takes as long) is enough and no other thread's loop is shared at the moment, else without an OpenMP region. Ranges
// begin at multiples of `multiple`. An exception thrown by a body reaches the caller. The result must not depend on how
// [0, n) is divided (design decision 13). A range is about a millisecond's work or one multiple, whichever is more:
// where cancellation was requested, no other begins, and Cancelled is thrown.
template <class Body>
inline void parallel_ranges(int64_t n, int64_t work, const Body& body, int64_t multiple = 64) {
  if (work < kParallelBytes) [[likely]] {
    body(int64_t{0}, n);
    return;
  }
  run_ranges(n, multiple, work, run_body<Body>, &body);
}

// The same with one range for each thread: for bodies to which short ranges cost more, which heed requests to stop
// themselves, or which change what the user keeps and must not leave it half changed.
template <class Body>
inline void parallel_for(int64_t n, int64_t work, const Body& body, int64_t multiple = 64) {
  if (work < kParallelBytes) [[likely]] {
    body(int64_t{0}, n);
    return;
  }
  run_ranges(n, multiple, 0, run_body<Body>, &body);
}

// In how many tiles work is cut so that every processor has one, where larger ones are faster. The processors are the
// machine's, not those of the process: what is computed in tiles must not depend on its number of threads. A power of
// two, since tiles are halved; where processors are none, there are several for each.
int64_t tiles_for_processors();

// Calls body(begin, end) for pieces of [0, n) in order and throws Cancelled between two of them where that was
// requested: for long loops of one thread.
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
