// Writing a large result past the caches.
//
// An ordinary store first reads the cache line that it writes, and evicts lines that are still wanted. For a result
// that does not fit the cache anyway this costs a third more traffic. Measured for 16M floats on two Sapphire Rapids
// cores: add 8.2 -> 6.5 ms.
#pragma once

#include <cstddef>
#include <cstdint>

#include "panto/lib/base/export.h"

namespace panto::cpu {

// True if a result should bypass the caches: if `traffic`, the bytes of the result and of the data read for it, exceeds
// the last-level cache.
PANTO_EXPORT bool should_stream(int64_t traffic) noexcept;

// Whether memory is read faster from several places in turns than from one end to the other. True for Intel's
// processors, which prefetch no more than a page ahead: the sum of 16M floats took 3.2 ms on two Sapphire Rapids cores,
// in turns 2.5. False for AMD's, which prefetch one sequence further: 1.2 ms on two Zen 4 cores, in turns 2.2.
PANTO_EXPORT bool reads_in_turns() noexcept;

// Copies n bytes from memory in the first-level cache to memory that is not read soon. The two must not overlap.
PANTO_EXPORT void stream_copy(std::byte* to, const std::byte* from, size_t n) noexcept;

// The same for `rows` rows of n bytes, `to_row` and `from_row` bytes apart. n and the rows of `to` must be whole cache
// lines (64 bytes).
PANTO_EXPORT void stream_rows(std::byte* to, int64_t to_row, const std::byte* from, int64_t from_row, int64_t rows,
                              size_t n) noexcept;

// Streaming loops read, compute and write in pieces of about this many bytes. Stores are still on their way to memory
// when the next piece is read, and the processor compares only the last twelve bits of addresses: the larger the piece,
// the more of its loads the processor mistakes for loads of what it has just written.
inline constexpr int64_t kStreamPiece = 512;

// Prefetches n elements, which need not be valid memory. `kLevel`: the cache level to prefetch into; use the second if
// the first has no room for them yet. Measured for softmax of 4096x4096 on two Zen 4 cores: 4.8 ms, and 3.9 where the
// first level holds a row and its exponentials, but not also the next row.
template <int kLevel = 1, class T>
[[gnu::always_inline]] inline void prefetch(const T* from, int64_t n) noexcept {
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < n; i += kLine) __builtin_prefetch(from + i, 0, kLevel == 1 ? 3 : 2);
}

// How many bytes ahead loops prefetch while they compute a function of elements: there is time for it, and the
// processor looks ahead only a few vectors' worth of instructions. Measured for 16M floats on two Sapphire Rapids
// cores: exp 6.1 -> 4.7 ms.
inline constexpr int64_t kReadAhead = 4096;

// Call while n elements from `from` are read in order: prefetches the n elements kReadAhead bytes further on.
template <class T>
[[gnu::always_inline]] inline void read_ahead(const T* from, int64_t n) noexcept {
  prefetch(from + kReadAhead / static_cast<int64_t>(sizeof(T)), n);
}

// Makes streamed stores visible. Call before another thread is told that the data is there.
PANTO_EXPORT void stream_fence() noexcept;

}  // namespace panto::cpu
