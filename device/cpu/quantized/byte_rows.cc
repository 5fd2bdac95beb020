#include "panto/device/cpu/quantized/byte_rows.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/parallel.h"
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace panto::cpu {

#ifdef __x86_64__

namespace {

constexpr int64_t kDepth = 8;     // rows of b that are read side by side
constexpr int64_t kColumns = 16;  // of b, whose sums stay in registers meanwhile
constexpr int64_t kMostRows = 4;  // of a, likewise

// Elements of a row of a, two in a word, as the instruction multiplies them.
using Pairs = std::vector<uint32_t>;

// Rows [p, p + kDepth) of b times as many columns of `rows` rows of a, added to c in the columns [begin, end).
template <int kRows, bool kSigned>
[[PANTO_AVX2]] void add_rows(const uint8_t* const* b, const uint32_t* const* pairs, int64_t begin, int64_t end,
                             uint32_t* const* c) {
  for (int64_t j = begin; j < end; j += kColumns) {
    __m256i sums[kRows][2];
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      sums[i][0] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(c[i] + j));
      sums[i][1] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(c[i] + j) + 1);
    }
#pragma GCC unroll 4
    for (int64_t p = 0; p < kDepth; p += 2) {
      const __m128i even = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b[p] + j));
      const __m128i odd = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b[p + 1] + j));
      const __m128i low_bytes = _mm_unpacklo_epi8(even, odd), high_bytes = _mm_unpackhi_epi8(even, odd);
      const __m256i low = kSigned ? _mm256_cvtepi8_epi16(low_bytes) : _mm256_cvtepu8_epi16(low_bytes);
      const __m256i high = kSigned ? _mm256_cvtepi8_epi16(high_bytes) : _mm256_cvtepu8_epi16(high_bytes);
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) {
        const __m256i pair = _mm256_set1_epi32(static_cast<int32_t>(pairs[i][p / 2]));
        sums[i][0] = _mm256_add_epi32(sums[i][0], _mm256_madd_epi16(pair, low));
        sums[i][1] = _mm256_add_epi32(sums[i][1], _mm256_madd_epi16(pair, high));
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(c[i] + j), sums[i][0]);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(c[i] + j) + 1, sums[i][1]);
    }
  }
}

using AddRows = void (*)(const uint8_t* const*, const uint32_t* const*, int64_t, int64_t, uint32_t* const*);

template <bool kSigned>
AddRows add_rows_of(int64_t rows) {
  switch (rows) {
    case 1: return add_rows<1, kSigned>;
    case 2: return add_rows<2, kSigned>;
    case 3: return add_rows<3, kSigned>;
    default: return add_rows<4, kSigned>;
  }
}

// Columns [begin, end) of c.
void multiply(int64_t m, int64_t n, int64_t k, const std::vector<Pairs>& pairs, const ByteMatrix& b, int64_t begin,
              int64_t end, uint32_t* c) {
  const int64_t whole = begin + (end - begin) / kColumns * kColumns;
  for (int64_t first = 0; first < m; first += kMostRows) {
    const int64_t rows = std::min(kMostRows, m - first);
    const AddRows add = b.is_signed ? add_rows_of<true>(rows) : add_rows_of<false>(rows);
    uint32_t* to[kMostRows];
    const uint32_t* from[kMostRows];
    for (int64_t i = 0; i < rows; ++i) to[i] = c + (first + i) * n;
    for (int64_t p = 0; p < k; p += kDepth) {
      throw_if_cancelled();
      // Where k ends, the last row again, times zero.
      const uint8_t* right[kDepth];
      for (int64_t d = 0; d < kDepth; ++d) right[d] = b.data + std::min(p + d, k - 1) * b.row;
      for (int64_t i = 0; i < rows; ++i) from[i] = pairs[static_cast<size_t>(first + i)].data() + p / 2;
      add(right, from, begin, whole, to);
      for (int64_t j = whole; j < end; ++j) {
        for (int64_t d = 0; d < kDepth; ++d) {
          const int32_t y = b.is_signed ? static_cast<int8_t>(right[d][j]) : right[d][j];
          for (int64_t i = 0; i < rows; ++i) {
            const auto x = static_cast<int16_t>(from[i][d / 2] >> (d % 2 * 16));
            to[i][j] += static_cast<uint32_t>(x * y);
          }
        }
      }
    }
  }
}

}  // namespace

bool byte_gemm_of_few_rows(int64_t m, int64_t n, int64_t k, const ByteMatrix& a, const ByteMatrix& b, int32_t* c) {
  constexpr int64_t kMostZero = 32000;                         // a - zero has 16 bits
  const int64_t few = isa() == Isa::kAvx512 ? kMostRows : 16;  // with AVX-512 packing b soon pays
  if (isa() < Isa::kAvx2 || m > few || k == 0 || b.column != 1 || a.zero < -kMostZero || a.zero > kMostZero)
    return false;
  std::vector<Pairs> pairs(static_cast<size_t>(m));
  std::vector<uint32_t> of_row(static_cast<size_t>(m));  // what the zero of b adds to each of its elements
  for (int64_t i = 0; i < m; ++i) {
    Pairs& row = pairs[static_cast<size_t>(i)];
    row.resize(static_cast<size_t>((k + kDepth - 1) / kDepth * kDepth / 2));
    uint32_t sum = 0;
    for (int64_t p = 0; p < k; ++p) {
      const uint8_t byte = a.data[i * a.row + p * a.column];
      const auto x = static_cast<int16_t>((a.is_signed ? static_cast<int8_t>(byte) : byte) - a.zero);
      sum += static_cast<uint32_t>(x);
      row[static_cast<size_t>(p / 2)] |= uint32_t{static_cast<uint16_t>(x)} << (p % 2 * 16);
    }
    of_row[static_cast<size_t>(i)] = 0U - static_cast<uint32_t>(b.zero) * sum;
  }
  auto* const sums = reinterpret_cast<uint32_t*>(c);
  for (int64_t i = 0; i < m; ++i) std::fill_n(sums + i * n, n, of_row[static_cast<size_t>(i)]);
  const int64_t blocks = (n + kColumns - 1) / kColumns;
  parallel_ranges(
      blocks, n * k * m,
      [&](int64_t begin, int64_t end) {
        multiply(m, n, k, pairs, b, begin * kColumns, std::min(n, end * kColumns), sums);
      },
      1);
  return true;
}

#else

bool byte_gemm_of_few_rows(int64_t, int64_t, int64_t, const ByteMatrix&, const ByteMatrix&, int32_t*) { return false; }

#endif

}  // namespace panto::cpu
