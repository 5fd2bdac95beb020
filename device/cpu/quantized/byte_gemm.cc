// A tile of the product stays in registers over all of k. With VNNI, one instruction multiplies four pairs of bytes and
// adds them to a 32-bit sum. Without it, packing widens the bytes to 16 bits, and x86 has an instruction for two pairs.
// (AVX2's instruction for four pairs of bytes saturates, so its sums are not exact.)
#include "panto/device/cpu/quantized/byte_gemm.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/cpu/quantized/byte_rows.h"
#include "panto/lib/base/checked.h"
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace panto::cpu {
namespace {

constexpr int64_t kRowsAtOnce = 96;  // their packed elements stay in the L2 cache while panels stream by

// A tile of kRows x kColumns sums over groups of kDepth elements. A packed group of a has kRows x kDepth elements, one
// of b kColumns x kDepth.
template <class ElementOfA, class ElementOfB, int kDepthOf, int kRowsOf, int kColumnsOf>
struct TileShape {
  using A = ElementOfA;
  using B = ElementOfB;
  static constexpr int kDepth = kDepthOf, kRows = kRowsOf, kColumns = kColumnsOf;
};

// For every machine. The inner loop's length is constant, so that the compiler vectorises it.
struct PortableTile : TileShape<int16_t, int16_t, 2, 4, 16> {
  static void run(int64_t groups, const int16_t* a, const int16_t* b, int32_t* sums) {
    uint32_t acc[kRows][kColumns] = {};
    for (int64_t g = 0; g < groups; ++g, a += kRows * 2, b += kColumns * 2) {
      for (int i = 0; i < kRows; ++i) {
        const int32_t first = a[2 * i], second = a[2 * i + 1];
        for (int j = 0; j < kColumns; ++j) {
          acc[i][j] += static_cast<uint32_t>(first * b[2 * j] + second * b[2 * j + 1]);
        }
      }
    }
    std::memcpy(sums, acc, sizeof(acc));
  }
};

#ifdef __x86_64__
struct Sse2Tile : TileShape<int16_t, int16_t, 2, 3, 16> {
  static void run(int64_t groups, const int16_t* a, const int16_t* b, int32_t* sums) {
    __m128i acc[kRows][4];
#pragma GCC unroll 3
    for (int i = 0; i < kRows; ++i) acc[i][0] = acc[i][1] = acc[i][2] = acc[i][3] = _mm_setzero_si128();
    for (int64_t g = 0; g < groups; ++g, a += kRows * 2, b += kColumns * 2) {
      __m128i right[4];
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) right[j] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b) + j);
#pragma GCC unroll 3
      for (int i = 0; i < kRows; ++i) {
        int32_t pair;
        std::memcpy(&pair, a + 2 * i, 4);
        const __m128i left = _mm_set1_epi32(pair);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) acc[i][j] = _mm_add_epi32(acc[i][j], _mm_madd_epi16(left, right[j]));
      }
    }
#pragma GCC unroll 3
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) _mm_storeu_si128(reinterpret_cast<__m128i*>(sums + i * kColumns) + j, acc[i][j]);
    }
  }
};

struct Avx2Tile : TileShape<int16_t, int16_t, 2, 6, 16> {
  [[PANTO_AVX2]] static void run(int64_t groups, const int16_t* a, const int16_t* b, int32_t* sums) {
    __m256i acc[kRows][2];
#pragma GCC unroll 6
    for (int i = 0; i < kRows; ++i) acc[i][0] = acc[i][1] = _mm256_setzero_si256();
    for (int64_t g = 0; g < groups; ++g, a += kRows * 2, b += kColumns * 2) {
      const __m256i right0 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b));
      const __m256i right1 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b) + 1);
#pragma GCC unroll 6
      for (int i = 0; i < kRows; ++i) {
        int32_t pair;
        std::memcpy(&pair, a + 2 * i, 4);
        const __m256i left = _mm256_set1_epi32(pair);
        acc[i][0] = _mm256_add_epi32(acc[i][0], _mm256_madd_epi16(left, right0));
        acc[i][1] = _mm256_add_epi32(acc[i][1], _mm256_madd_epi16(left, right1));
      }
    }
#pragma GCC unroll 6
    for (int i = 0; i < kRows; ++i) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + i * kColumns), acc[i][0]);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + i * kColumns) + 1, acc[i][1]);
    }
  }
};

struct VnniTile : TileShape<uint8_t, int8_t, 4, 6, 64> {
  [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]] static void run(int64_t groups, const uint8_t* a,
                                                                                   const int8_t* b, int32_t* sums) {
    __m512i acc[kRows][4];
#pragma GCC unroll 6
    for (int i = 0; i < kRows; ++i) acc[i][0] = acc[i][1] = acc[i][2] = acc[i][3] = _mm512_setzero_si512();
    for (int64_t g = 0; g < groups; ++g, a += kRows * 4, b += kColumns * 4) {
      __m512i right[4];
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) right[j] = _mm512_loadu_si512(b + 64 * j);
#pragma GCC unroll 6
      for (int i = 0; i < kRows; ++i) {
        int32_t four;
        std::memcpy(&four, a + 4 * i, 4);
        const __m512i left = _mm512_set1_epi32(four);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) acc[i][j] = _mm512_dpbusd_epi32(acc[i][j], left, right[j]);
      }
    }
#pragma GCC unroll 6
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) _mm512_storeu_si512(sums + i * kColumns + 16 * j, acc[i][j]);
    }
  }
};

bool has_vnni() {
  static const bool found = isa() == Isa::kAvx512 && __builtin_cpu_supports("avx512vnni");
  return found;
}
#endif

// Calls f.operator()<Tile>() for this machine's tile.
template <class F>
void with_tile(const F& f) {
#ifdef __x86_64__
  if (has_vnni()) return f.template operator()<VnniTile>();
  if (isa() >= Isa::kAvx2) return f.template operator()<Avx2Tile>();
  return f.template operator()<Sse2Tile>();
#else
  return f.template operator()<PortableTile>();
#endif
}

// The left factor is packed as uint8, the right one as int8. Adding or subtracting 128 both flip the highest bit.
uint8_t flip(bool flips) { return flips ? 0x80 : 0; }

// Packs rows [first, first + count) of a, and computes the rows' sums.
template <class Tile>
void pack_rows(int64_t k, const ByteMatrix& a, int64_t first, int64_t count, typename Tile::A* to, uint32_t* sums) {
  constexpr int kDepth = Tile::kDepth, kRows = Tile::kRows;
  const uint8_t mask = flip(a.is_signed);
  const int64_t groups = ceil_div(k, kDepth);
  for (int64_t tile = 0; tile < count; tile += kRows) {
    const int64_t rows = std::min<int64_t>(kRows, count - tile);
    typename Tile::A* panel = to + tile * groups * kDepth;
    if (rows < kRows || k % kDepth != 0) std::fill_n(panel, kRows * groups * kDepth, typename Tile::A{0});
    for (int64_t i = 0; i < rows; ++i) {
      const uint8_t* from = a.data + (first + tile + i) * a.row;
      uint32_t sum = 0;
      const auto put = [&](int64_t p, int64_t step) {
        const auto v = static_cast<uint8_t>(from[p * step] ^ mask);
        sum += v;
        panel[(p / kDepth * kRows + i) * kDepth + p % kDepth] = v;
      };
      int64_t p = 0;
      if (a.column == 1) {
        for (; p + kDepth <= k; p += kDepth) {
          typename Tile::A* at = panel + (p * kRows + i * kDepth);
          for (int d = 0; d < kDepth; ++d) at[d] = static_cast<uint8_t>(from[p + d] ^ mask);
        }
        for (int64_t q = 0; q < p; ++q) sum += static_cast<uint8_t>(from[q] ^ mask);
      }
      for (; p < k; ++p) put(p, a.column);
      sums[tile + i] = sum;
    }
  }
}

}  // namespace

int64_t PackedBytes::panels() const {
  int64_t columns = 0;
  with_tile([&]<class Tile>() { columns = Tile::kColumns; });
  return ceil_div(n_, columns);
}

template <class Tile>
void PackedBytes::pack(const ByteMatrix& b) {
  constexpr int kDepth = Tile::kDepth, kColumns = Tile::kColumns;
  const uint8_t mask = flip(!b.is_signed);
  const int64_t groups = ceil_div(k_, kDepth), panel = groups * kDepth * kColumns;
  const auto size = static_cast<size_t>(checked_mul(ceil_div(n_, kColumns), panel, "packed matrix"));
  typename Tile::B* to;
  if constexpr (sizeof(typename Tile::B) == 1) {
    bytes_.resize(size);
    to = bytes_.data();
  } else {
    shorts_.resize(size);
    to = shorts_.data();
  }
  sums_.resize(static_cast<size_t>(n_));
  parallel_ranges(
      ceil_div(n_, kColumns), k_ * n_ * 4,
      [&](int64_t begin, int64_t end) {
        for (int64_t t = begin; t < end; ++t) {
          const int64_t columns = std::min<int64_t>(kColumns, n_ - t * kColumns);
          uint32_t sums[kColumns] = {};
          const uint8_t* first = b.data + t * kColumns * b.column;
          int64_t p = 0;
          // Fast path: whole groups of rows with contiguous elements.
          for (; b.column == 1 && columns == kColumns && p + kDepth <= k_; p += kDepth) {
            typename Tile::B* at = to + t * panel + p * kColumns;
            for (int64_t j = 0; j < kColumns; ++j) {
              for (int d = 0; d < kDepth; ++d) {
                const auto v = static_cast<int8_t>(first[(p + d) * b.row + j] ^ mask);
                at[j * kDepth + d] = v;
                sums[j] += static_cast<uint32_t>(int32_t{v});
              }
            }
          }
          for (; p < k_; ++p) {
            typename Tile::B* at = to + t * panel + p / kDepth * kDepth * kColumns + p % kDepth;
            for (int64_t j = 0; j < columns; ++j) {
              const auto v = static_cast<int8_t>(first[p * b.row + j * b.column] ^ mask);
              at[j * kDepth] = v;
              sums[j] += static_cast<uint32_t>(int32_t{v});
            }
          }
          std::copy_n(sums, columns, sums_.data() + t * kColumns);
        }
      },
      1);
}

PackedBytes::PackedBytes(int64_t k, int64_t n, const ByteMatrix& b)
    : k_(k), n_(n), zero_(static_cast<uint32_t>(b.zero - (b.is_signed ? 0 : 128))) {
  with_tile([&]<class Tile>() { pack<Tile>(b); });
}

template <class Tile>
void PackedBytes::multiply_by(int64_t m, const ByteMatrix& a, int32_t* c, int64_t first, int64_t last) const {
  constexpr int kDepth = Tile::kDepth, kRows = Tile::kRows, kColumns = Tile::kColumns;
  const int64_t groups = ceil_div(k_, kDepth), panel = groups * kDepth * kColumns;
  const typename Tile::B* right;
  if constexpr (sizeof(typename Tile::B) == 1) {
    right = bytes_.data();
  } else {
    right = shorts_.data();
  }
  const auto zero = static_cast<uint32_t>(a.zero + (a.is_signed ? 128 : 0));
  const int64_t at_once = std::min(ceil_div(m, kRows) * kRows, kRowsAtOnce);
  std::vector<typename Tile::A> left(static_cast<size_t>(at_once * groups * kDepth));
  uint32_t rows[kRowsAtOnce] = {};
  int32_t sums[kRows * kColumns];
  for (int64_t at = 0; at < m; at += kRowsAtOnce) {
    const int64_t count = std::min(kRowsAtOnce, m - at);
    pack_rows<Tile>(k_, a, at, count, left.data(), rows);
    for (int64_t t = first; t < last; ++t) {
      throw_if_cancelled();
      const int64_t columns = std::min<int64_t>(kColumns, n_ - t * kColumns);
      for (int64_t tile = 0; tile < count; tile += kRows) {
        Tile::run(groups, left.data() + tile * groups * kDepth, right + t * panel, sums);
        for (int64_t i = 0; i < std::min<int64_t>(kRows, count - tile); ++i) {
          // The sum of (a - a0) (b - b0) is the sum of a b minus one term per row and one per column.
          const uint32_t of_row = static_cast<uint32_t>(k_) * zero * zero_ - zero_ * rows[tile + i];
          int32_t* to = c + (at + tile + i) * n_ + t * kColumns;
          const uint32_t* of_columns = sums_.data() + t * kColumns;
          const int32_t* from = sums + i * kColumns;
          for (int64_t j = 0; j < columns; ++j) {
            to[j] = static_cast<int32_t>(static_cast<uint32_t>(from[j]) + of_row - zero * of_columns[j]);
          }
        }
      }
    }
  }
}

void PackedBytes::multiply(int64_t m, const ByteMatrix& a, int32_t* c, int64_t first, int64_t last) const {
  with_tile([&]<class Tile>() { multiply_by<Tile>(m, a, c, first, last); });
}

void byte_gemm(int64_t m, int64_t n, int64_t k, const ByteMatrix& a, const ByteMatrix& b, int32_t* c) {
  if (m == 0 || n == 0 || byte_gemm_of_few_rows(m, n, k, a, b, c)) return;
  const PackedBytes packed(k, n, b);
  // Threads share out the rows, and the columns too if there are few rows.
  const int64_t rows = ceil_div(m, kRowsAtOnce), panels = packed.panels();
  const int64_t parts = std::clamp<int64_t>(tiles_for_processors() / rows, 1, panels);
  parallel_ranges(
      rows * parts, m * n * std::max<int64_t>(1, k / 16),
      [&](int64_t begin, int64_t end) {
        for (int64_t u = begin; u < end; ++u) {
          const int64_t at = u / parts * kRowsAtOnce, part = u % parts;
          ByteMatrix own = a;
          own.data += at * a.row;
          packed.multiply(std::min(kRowsAtOnce, m - at), own, c + at * n, panels * part / parts,
                          panels * (part + 1) / parts);
        }
      },
      1);
}

}  // namespace panto::cpu
