// The inner loops of products of 8-bit integers, for each kind of processor. A tile of the product stays in registers
// over all of k. With VNNI, one instruction multiplies four pairs of bytes and adds them to a 32-bit sum. Without it,
// packing widens the bytes to 16 bits, and x86 has an instruction for two pairs. (AVX2's instruction for four pairs of
// bytes saturates, so its sums are not exact.) Internal to byte_gemm.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "panto/device/cpu/isa.h"
#ifdef __x86_64__
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace panto::cpu {

// A tile of kRows x kColumns sums over groups of kDepth elements. A packed group of b has kColumns x kDepth elements;
// there are a multiple of kGroups groups, the last ones zero. A packed group of a has kRows x kDepth elements, or, with
// kPlainRows, a's rows are read as they are (as uint8, in whole groups).
template <class ElementOfA, class ElementOfB, int kDepthOf, int kRowsOf, int kColumnsOf, int kGroupsOf = 1>
struct TileShape {
  using A = ElementOfA;
  using B = ElementOfB;
  static constexpr int kDepth = kDepthOf, kRows = kRowsOf, kColumns = kColumnsOf, kGroups = kGroupsOf;
  static constexpr bool kPlainRows = sizeof(A) == 1;
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

#define PANTO_VNNI gnu::target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")

// What the tiles of bytes share.
struct ByteTile {
  // Packs `groups` groups of 64 columns of b, whose rows are `row` bytes apart, with the bits of `flip` inverted. Adds
  // the columns' sums to `sums`.
  [[PANTO_VNNI]] static void pack(const uint8_t* b, int64_t row, int64_t groups, uint8_t flip, int8_t* to,
                                  uint32_t* sums) {
    constexpr __mmask16 kAll = 0xffff;  // intrinsics without a mask: g++ 12 warns that they read undefined values
    const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip)), ones = _mm512_set1_epi8(1);
    __m512i of_columns[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) of_columns[j] = _mm512_loadu_si512(sums + 16 * j);
    for (int64_t g = 0; g < groups; ++g, b += 4 * row, to += 256) {
      __m512i rows[4];
#pragma GCC unroll 4
      for (int d = 0; d < 4; ++d) rows[d] = _mm512_xor_si512(_mm512_loadu_si512(b + d * row), flips);
      // In each quarter of a vector: four columns of four bytes each.
      const __m512i low01 = _mm512_unpacklo_epi8(rows[0], rows[1]), high01 = _mm512_unpackhi_epi8(rows[0], rows[1]);
      const __m512i low23 = _mm512_unpacklo_epi8(rows[2], rows[3]), high23 = _mm512_unpackhi_epi8(rows[2], rows[3]);
      const __m512i v0 = _mm512_unpacklo_epi16(low01, low23), v1 = _mm512_unpackhi_epi16(low01, low23);
      const __m512i v2 = _mm512_unpacklo_epi16(high01, high23), v3 = _mm512_unpackhi_epi16(high01, high23);
      // Vector j of the result has quarter j of each.
      const __m512i a01 = _mm512_maskz_shuffle_i32x4(kAll, v0, v1, 0x44);
      const __m512i b01 = _mm512_maskz_shuffle_i32x4(kAll, v0, v1, 0xee);
      const __m512i a23 = _mm512_maskz_shuffle_i32x4(kAll, v2, v3, 0x44);
      const __m512i b23 = _mm512_maskz_shuffle_i32x4(kAll, v2, v3, 0xee);
      const __m512i packed[4] = {
          _mm512_maskz_shuffle_i32x4(kAll, a01, a23, 0x88), _mm512_maskz_shuffle_i32x4(kAll, a01, a23, 0xdd),
          _mm512_maskz_shuffle_i32x4(kAll, b01, b23, 0x88), _mm512_maskz_shuffle_i32x4(kAll, b01, b23, 0xdd)};
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        _mm512_storeu_si512(to + 64 * j, packed[j]);
        of_columns[j] = _mm512_dpbusd_epi32(of_columns[j], ones, packed[j]);
      }
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) _mm512_storeu_si512(sums + 16 * j, of_columns[j]);
  }
};

struct VnniTile : TileShape<uint8_t, int8_t, 4, 6, 64>, ByteTile {
  // `row`: from one row of a to the next. Only the first `rows` rows are read.
  [[PANTO_VNNI]] static void run(int64_t groups, const uint8_t* a, int64_t row, int64_t rows, const int8_t* b,
                                 int32_t* sums) {
    const uint8_t* left[kRows];
#pragma GCC unroll 6
    for (int i = 0; i < kRows; ++i) left[i] = a + std::min<int64_t>(i, rows - 1) * row;
    __m512i acc[kRows][4];
#pragma GCC unroll 6
    for (int i = 0; i < kRows; ++i) acc[i][0] = acc[i][1] = acc[i][2] = acc[i][3] = _mm512_setzero_si512();
    for (int64_t g = 0; g < groups; ++g, b += kColumns * 4) {
      __m512i right[4];
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) right[j] = _mm512_loadu_si512(b + 64 * j);
#pragma GCC unroll 6
      for (int i = 0; i < kRows; ++i) {
        int32_t four;
        std::memcpy(&four, left[i] + 4 * g, 4);
        const __m512i quadruple = _mm512_set1_epi32(four);
#pragma GCC unroll 4
        for (int j = 0; j < 4; ++j) acc[i][j] = _mm512_dpbusd_epi32(acc[i][j], quadruple, right[j]);
      }
    }
#pragma GCC unroll 6
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) _mm512_storeu_si512(sums + i * kColumns + 16 * j, acc[i][j]);
    }
  }
};

// Matrix registers (AMX): one instruction multiplies 16 x 64 by 64 x 16 bytes. Rows of registers are rows of a, groups
// of b, and rows of the product.
struct AmxTile : TileShape<uint8_t, int8_t, 4, 32, 64, 16>, ByteTile {
  // The registers: 0 to 3 have the sums of two times 16 rows and two times 16 columns, 4 and 5 those rows of a, 6 and 7
  // b. The second 16 rows may be fewer, and the first if there are no others.
  [[gnu::target("avx512f,amx-tile,amx-int8")]] static void run(int64_t groups, const uint8_t* a, int64_t row,
                                                               int64_t rows, const int8_t* b, int32_t* sums) {
    struct alignas(64) Configuration {
      uint8_t palette = 1, start_row = 0, reserved[14] = {};
      uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      uint8_t rows[16] = {};
    } configuration;
    const auto first = static_cast<uint8_t>(std::min<int64_t>(rows, 16));
    const auto second = static_cast<uint8_t>(std::max<int64_t>(rows - 16, 1));
    const uint8_t of_registers[] = {first, first, second, second, first, second, kGroups, kGroups};
    std::copy_n(of_registers, 8, configuration.rows);
    asm volatile("" ::: "memory");  // the intrinsics do not say that they read memory
    _tile_loadconfig(&configuration);
    for (int64_t half = 0; half < kColumns; half += 32) {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
      const int8_t* right = b + 4 * half;
      for (int64_t g = 0; g < groups; g += kGroups, right += kGroups * kColumns * 4) {
        _tile_loadd(4, a + 4 * g, row);
        _tile_loadd(6, right, kColumns * 4);
        _tile_dpbusd(0, 4, 6);
        _tile_loadd(7, right + 64, kColumns * 4);
        _tile_dpbusd(1, 4, 7);
        if (rows > 16) {
          _tile_loadd(5, a + 16 * row + 4 * g, row);
          _tile_dpbusd(2, 5, 6);
          _tile_dpbusd(3, 5, 7);
        }
      }
      _tile_stored(0, sums + half, kColumns * 4);
      _tile_stored(1, sums + half + 16, kColumns * 4);
      if (rows > 16) {
        _tile_stored(2, sums + 16 * kColumns + half, kColumns * 4);
        _tile_stored(3, sums + 16 * kColumns + half + 16, kColumns * 4);
      }
    }
    _tile_release();
  }
};

inline bool has_vnni() {
  static const bool found = isa() == Isa::kAvx512 && __builtin_cpu_supports("avx512vnni");
  return found;
}

// Whether there are matrix registers, which Linux gives to processes that ask
// (https://docs.kernel.org/arch/x86/xstate.html).
inline bool has_amx() {
  constexpr int64_t kRequestPermission = 0x1023, kTileData = 18;
  static const bool found = has_vnni() && __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-int8") &&
                            syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return found;
}
#endif

// Calls f.operator()<Tile>() for this machine's tile.
template <class F>
void with_tile(const F& f) {
#ifdef __x86_64__
  if (has_amx()) return f.template operator()<AmxTile>();
  if (has_vnni()) return f.template operator()<VnniTile>();
  if (isa() >= Isa::kAvx2) return f.template operator()<Avx2Tile>();
  return f.template operator()<Sse2Tile>();
#else
  return f.template operator()<PortableTile>();
#endif
}

}  // namespace panto::cpu
