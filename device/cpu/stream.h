// Writing a large result past the caches.
//
// An ordinary store reads the line that it writes to first, and pushes out of the cache what somebody may still want:
// a result that does not fit the cache anyway costs a third more traffic than need be. Measured for 16M floats on two
// Sapphire Rapids cores: add 8.2 -> 6.5 ms.
#pragma once

#include <cstddef>
#include <cstdint>

#include "panto/lib/base/export.h"

namespace panto::cpu {

// True where a result of so many bytes, `traffic` counting what is read for it too, is better not left in the caches.
// So it is where the traffic exceeds the last-level cache.
PANTO_EXPORT bool should_stream(int64_t traffic) noexcept;

// Whether memory is read faster from several places in turns than from one end to the other. It is by Intel's
// processors, which ask for no more than a page ahead: the sum of 16M floats took 3.2 ms on two Sapphire Rapids cores,
// in turns 2.5. Not by AMD's, which follow one place further: 1.2 ms on two Zen 4 cores, in turns 2.2.
PANTO_EXPORT bool reads_in_turns() noexcept;

// Copies n bytes from memory that is in the first-level cache to memory that nobody reads soon; no overlap.
PANTO_EXPORT void stream_copy(std::byte* to, const std::byte* from, size_t n) noexcept;

// The same for `rows` rows of n bytes, which lie `to_row` and `from_row` bytes apart. n and the rows of `to`: whole
// lines of the cache (64 bytes).
PANTO_EXPORT void stream_rows(std::byte* to, int64_t to_row, const std::byte* from, int64_t from_row, int64_t rows,
                              size_t n) noexcept;

// What streams is read, made and written in pieces of so many bytes, or few more: they are still on their way to memory
// when the next are read, and the larger a piece, the more of those a processor takes for what it has just written (it
// compares the last twelve bits of addresses).
inline constexpr int64_t kStreamPiece = 512;

// Tells the processor that these n elements, if they are anything, are read soon. `kLevel`: of the cache that they are
// to be in, the second where the first has no room until they are read. Measured for softmax of 4096x4096 on two Zen 4
// cores: 4.8 ms, and 3.9 where the first level holds a row and its exponentials, but not the next row, too.
template <int kLevel = 1, class T>
[[gnu::always_inline]] inline void prefetch(const T* from, int64_t n) noexcept {
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < n; i += kLine) __builtin_prefetch(from + i, 0, kLevel == 1 ? 3 : 2);
}

// What is read while a function of elements is computed is asked for so many bytes ahead: there is time for it, and the
// processor itself looks ahead no further than a few vectors' worth of instructions. Measured for 16M floats on two
// Sapphire Rapids cores: exp 6.1 -> 4.7 ms.
inline constexpr int64_t kReadAhead = 4096;

// While n elements from `from` are read, one after the other: those that are read so much later.
template <class T>
[[gnu::always_inline]] inline void read_ahead(const T* from, int64_t n) noexcept {
  prefetch(from + kReadAhead / static_cast<int64_t>(sizeof(T)), n);
}

// Before another thread is told that what was copied is there.
PANTO_EXPORT void stream_fence() noexcept;

}  // namespace panto::cpu
