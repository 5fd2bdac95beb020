// A parallel loop over records that throws the same error as a sequential loop.
#pragma once

#include <cstdint>

#include "panto/device/cpu/parallel.h"

namespace panto::cpu {

// Calls body(i) for each of n records, which have `bytes` bytes together. If calls throw, rethrows the error of the
// first failing record; body(i) may be called twice for that.
template <class Body>
void for_each_record(int64_t n, int64_t bytes, const Body& body) {
  try {
    parallel_ranges(
        n, bytes,
        [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) body(i);
        },
        1);
  } catch (...) {
    throw_if_cancelled();
    for (int64_t i = 0; i < n; ++i) body(i);
    throw;
  }
}

}  // namespace panto::cpu
