#include "panto/device/cpu/small_gemm.h"

#include <algorithm>
#include <cstring>

namespace panto::cpu {
namespace {

// Everything below is inlined into entrances that are compiled for one instruction set each.
#define PANTO_INLINE [[gnu::always_inline]] inline

template <class T, int kBytes>
struct Vector {
  typedef T type __attribute__((vector_size(kBytes)));                                  // NOLINT(modernize-use-using)
  typedef T loose __attribute__((vector_size(kBytes), aligned(sizeof(T)), may_alias));  // NOLINT(modernize-use-using)
};

constexpr int64_t kDepth = 256;       // rows of b that are used before the next elements of c
constexpr int64_t kPackedBytes = 64;  // of one of them, at most

// kCount rows of a panel of c that is kVectors wide; b has rows of `b_row` elements. Adds to what is in c unless
// `first`.
template <class T, int kBytes, int kVectors, int kCount>
PANTO_INLINE void rows(int64_t k, const T* a, int64_t a_row, int64_t a_column, const T* b, int64_t b_row, T* c,
                       int64_t c_row, int64_t width, bool first) {
  using V = typename Vector<T, kBytes>::type;
  using Loose = typename Vector<T, kBytes>::loose;
  constexpr int64_t kLanes = kBytes / static_cast<int64_t>(sizeof(T));
  V sum[kCount][kVectors] = {};
  for (int64_t p = 0; p < k; ++p) {
    V right[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) right[v] = *reinterpret_cast<const Loose*>(b + p * b_row + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kCount; ++r) {
      const T left = a[r * a_row + p * a_column];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[r][v] += left * right[v];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kCount; ++r) {
    T* out = c + r * c_row;
    if (width == kVectors * kLanes) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        if (!first) sum[r][v] += *reinterpret_cast<const Loose*>(out + v * kLanes);
        *reinterpret_cast<Loose*>(out + v * kLanes) = sum[r][v];
      }
    } else {
      T values[kVectors * kLanes];
      std::memcpy(values, sum[r], sizeof(values));
      for (int64_t j = 0; j < width; ++j) out[j] = first ? values[j] : out[j] + values[j];
    }
  }
}

// The first `width` columns of `depth` rows of b, padded with zeros to `padded` columns.
template <class T>
PANTO_INLINE void pack(MatrixRef<T> b, int64_t depth, int64_t width, int64_t padded, T* packed) {
  if (width < padded) std::memset(packed, 0, static_cast<size_t>(depth * padded) * sizeof(T));
  for (int64_t p = 0; p < depth; ++p) {
    for (int64_t l = 0; l < width; ++l) packed[p * padded + l] = b.data[p * b.row + l * b.column];
  }
}

// `width` columns of c, at most kVectors wide.
template <class T, int kBytes, int kVectors>
PANTO_INLINE void panel(int64_t m, int64_t depth, MatrixRef<T> a, MatrixRef<T> b, T* c, int64_t c_row, int64_t width,
                        bool first, T* packed) {
  constexpr int64_t kWidth = kVectors * kBytes / static_cast<int64_t>(sizeof(T));
  constexpr int kRows = kVectors == 1 ? 8 : 4;  // the accumulators fit the registers and hide the adds' latency
  // A panel that is not made of full rows is copied; so is one whose rows are far apart, if it is read often.
  if (width < kWidth || b.column != 1 || (m > 4 * kRows && b.row > kWidth)) {
    pack(b, depth, width, kWidth, packed);
    b = {packed, kWidth, 1};
  }
  int64_t i = 0;
  const auto block = [&]<int kCount>() __attribute__((always_inline)) {
    rows<T, kBytes, kVectors, kCount>(depth, a.data + i * a.row, a.row, a.column, b.data, b.row, c + i * c_row, c_row,
                                      width, first);
    i += kCount;
  };
  while (i + kRows <= m) block.template operator()<kRows>();
  if (kRows > 4 && i + 4 <= m) block.template operator()<4>();
  if (i + 2 <= m) block.template operator()<2>();
  if (i < m) block.template operator()<1>();
}

template <class T, int kBytes>
PANTO_INLINE void gemm(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, MatrixRef<T> b, T* c) {
  constexpr int64_t kLanes = kBytes / static_cast<int64_t>(sizeof(T));
  alignas(64) T packed[kDepth * kPackedBytes / static_cast<int64_t>(sizeof(T))];
  for (int64_t p = 0; p == 0 || p < k; p += kDepth) {
    const int64_t depth = std::min(kDepth, k - p);
    const MatrixRef<T> left{a.data + p * a.column, a.row, a.column};
    int64_t j = 0;
    while (j < n) {
      const MatrixRef<T> right{b.data + p * b.row + j * b.column, b.row, b.column};
      if (n - j >= 2 * kLanes) {
        panel<T, kBytes, 2>(m, depth, left, right, c + j, n, 2 * kLanes, p == 0, packed);
        j += 2 * kLanes;
      } else {
        const int64_t width = std::min(kLanes, n - j);
        panel<T, kBytes, 1>(m, depth, left, right, c + j, n, width, p == 0, packed);
        j += width;
      }
    }
  }
}

template <class T>
using GemmFn = void (*)(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, MatrixRef<T> b, T* c);

template <class T>
void portable(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, MatrixRef<T> b, T* c) {
  gemm<T, 16>(m, n, k, a, b, c);
}

#ifdef __x86_64__
template <class T>
[[gnu::target("avx2,fma")]] void with_avx2(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, MatrixRef<T> b, T* c) {
  gemm<T, 32>(m, n, k, a, b, c);
}
#endif

template <class T>
GemmFn<T> choose() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return with_avx2<T>;
#endif
  return portable<T>;
}

}  // namespace

template <class T>
void small_gemm(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, MatrixRef<T> b, T* c) {
  static const GemmFn<T> run = choose<T>();
  run(m, n, k, a, b, c);
}

template void small_gemm(int64_t, int64_t, int64_t, MatrixRef<float>, MatrixRef<float>, float*);
template void small_gemm(int64_t, int64_t, int64_t, MatrixRef<double>, MatrixRef<double>, double*);
template void small_gemm(int64_t, int64_t, int64_t, MatrixRef<uint32_t>, MatrixRef<uint32_t>, uint32_t*);
template void small_gemm(int64_t, int64_t, int64_t, MatrixRef<uint64_t>, MatrixRef<uint64_t>, uint64_t*);

}  // namespace panto::cpu
