#include "panto/device/cpu/stream.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/vendor.h"
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace panto::cpu {
namespace {

#ifdef __x86_64__
constexpr int64_t kUsualCache = int64_t{32} << 20;  // if the system does not tell

// The size of the last-level cache that one processor can use. sysconf is no use: on AMD it reports the sum over the
// socket: 320 MiB, where two processors share 32.
int64_t cache_bytes() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
  int64_t kilobytes = 0;
  char unit = 0;
  return file >> kilobytes >> unit && unit == 'K' && kilobytes > 0 ? kilobytes << 10 : kUsualCache;
}

constexpr size_t kLine = 64;

// Copies rows of whole cache lines; `to` and to_row are line-aligned. Wider stores fill a line's buffer with fewer
// instructions.
using CopyRows = void (*)(std::byte* to, int64_t to_row, const std::byte* from, int64_t from_row, int64_t rows,
                          size_t n);

void copy_portable(std::byte* to, int64_t to_row, const std::byte* from, int64_t from_row, int64_t rows, size_t n) {
  for (; rows > 0; --rows, to += to_row, from += from_row) {
    for (size_t i = 0; i < n; i += sizeof(__m128i)) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
    }
  }
}
[[PANTO_AVX2]] void copy_avx2(std::byte* to, int64_t to_row, const std::byte* from, int64_t from_row, int64_t rows,
                              size_t n) {
  for (; rows > 0; --rows, to += to_row, from += from_row) {
    for (size_t i = 0; i < n; i += sizeof(__m256i)) {
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i),
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i)));
    }
  }
}
[[PANTO_AVX512]] void copy_avx512(std::byte* to, int64_t to_row, const std::byte* from, int64_t from_row, int64_t rows,
                                  size_t n) {
  for (; rows > 0; --rows, to += to_row, from += from_row) {
    for (size_t i = 0; i < n; i += sizeof(__m512i)) {
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), _mm512_loadu_si512(from + i));
    }
  }
}

CopyRows choose() {
  if (isa() >= Isa::kAvx512) return copy_avx512;
  if (isa() >= Isa::kAvx2) return copy_avx2;
  return copy_portable;
}
#endif

}  // namespace

bool should_stream([[maybe_unused]] int64_t traffic) noexcept {
#ifdef __x86_64__
  static const int64_t cache = cache_bytes();
  return traffic > cache;
#else
  return false;
#endif
}

bool reads_in_turns() noexcept { return !is_amd(); }

void stream_copy(std::byte* to, const std::byte* from, size_t n) noexcept {
#ifdef __x86_64__
  const size_t head = std::min(n, (kLine - reinterpret_cast<uintptr_t>(to) % kLine) % kLine);
  const size_t lines = (n - head) / kLine * kLine;
  if (head != 0) std::memcpy(to, from, head);
  stream_rows(to + head, 0, from + head, 0, 1, lines);
  if (const size_t rest = n - head - lines; rest != 0) std::memcpy(to + head + lines, from + head + lines, rest);
#else
  std::memcpy(to, from, n);
#endif
}

void stream_rows(std::byte* to, int64_t to_row, const std::byte* from, int64_t from_row, int64_t rows,
                 size_t n) noexcept {
#ifdef __x86_64__
  static const CopyRows copy_rows = choose();
  copy_rows(to, to_row, from, from_row, rows, n);
#else
  for (; rows > 0; --rows, to += to_row, from += from_row) std::memcpy(to, from, n);
#endif
}

void stream_fence() noexcept {
#ifdef __x86_64__
  _mm_sfence();
#endif
}

}  // namespace panto::cpu
