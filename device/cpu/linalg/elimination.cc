#include "panto/device/cpu/linalg/elimination.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <vector>

#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/linalg/elimination_panel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/cpu/vector.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/core/step/cancel.h"

namespace panto::cpu {
namespace {

// For what is inlined into lambdas that are compiled for each instruction set.
#define PANTO_INLINE [[gnu::always_inline]] inline

constexpr int64_t kDepth = 256;     // of products: so many rows of a panel of the right factor stay in the first cache,
constexpr int64_t kHeight = 192;    // and so many rows of the left factor in the second
constexpr int64_t kShared = 32;     // threads get multiples of so many columns
constexpr int64_t kAtOnce = 128;    // columns of an inverse that are computed together
constexpr int64_t kFewColumns = 8;  // fewer right-hand sides are solved by inner products

// Rows of a group of the left factor: their sums fit the registers and hide the latency of additions.
template <int kBytes>
constexpr int kGroup = kBytes == 64 ? 12 : 6;

template <class T, int kBytes>
constexpr int64_t kLanes = kBytes / static_cast<int64_t>(sizeof(T));

// Subtracts the product of kCount rows of `a` and a panel of `b`, kVectors wide, from `width` columns of c.
template <class T, int kBytes, int kVectors, int kCount>
PANTO_INLINE void subtract_rows(int64_t depth, const T* a, int64_t a_row, const T* b, int64_t b_row, T* c,
                                int64_t c_row, int64_t width) {
  using V = typename Vector<T, kBytes>::type;
  constexpr int64_t kWide = kLanes<T, kBytes>;
  V sum[kCount][kVectors] = {};
#pragma GCC unroll 12
  for (int r = 0; r < kCount; ++r) __builtin_prefetch(c + r * c_row, 1);
  for (int64_t p = 0; p < depth; ++p) {
    V right[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) load(b + p * b_row + v * kWide, right[v]);
#pragma GCC unroll 12
    for (int r = 0; r < kCount; ++r) {
      const T left = a[r * a_row + p];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[r][v] += left * right[v];
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < kCount; ++r) {
    T* out = c + r * c_row;
    if (width == kVectors * kWide) {
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) {
        V rest;
        load(out + v * kWide, rest);
        store(rest - sum[r][v], out + v * kWide);
      }
    } else {
      T values[kVectors * kWide];
      std::memcpy(values, sum[r], sizeof(values));
      for (int64_t j = 0; j < width; ++j) out[j] -= values[j];
    }
  }
}

// Subtracts from a panel of c, at most kVectors wide.
template <class T, int kBytes, int kVectors>
PANTO_INLINE void subtract_panel(int64_t m, int64_t depth, const T* a, int64_t a_row, const T* b, int64_t b_row, T* c,
                                 int64_t c_row, int64_t width, T* packed) {
  constexpr int64_t kWidth = kVectors * kLanes<T, kBytes>;
  constexpr int kMost = kGroup<kBytes>;
  if (width < kWidth || m > 2 * kMost) {
    for (int64_t p = 0; p < depth; ++p) {
      if (width == kWidth) {
        std::memcpy(packed + p * kWidth, b + p * b_row, kWidth * sizeof(T));
      } else {
        for (int64_t j = 0; j < kWidth; ++j) packed[p * kWidth + j] = j < width ? b[p * b_row + j] : T{0};
      }
    }
    b = packed;
    b_row = kWidth;
  }
  int64_t i = 0;
  const auto rows = [&]<int kCount>() __attribute__((always_inline)) {
    for (; i + kCount <= m; i += kCount) {
      subtract_rows<T, kBytes, kVectors, kCount>(depth, a + i * a_row, a_row, b, b_row, c + i * c_row, c_row, width);
    }
  };
  rows.template operator()<kMost>();
  if constexpr (kMost > 8) rows.template operator()<8>();
  rows.template operator()<4>();
  rows.template operator()<1>();
}

// c[m, n] -= a[m, k] b[k, n]. Each block of kDepth products is added up in order, then subtracted.
template <class T>
void subtract_product(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row, const T* b, int64_t b_row, T* c,
                      int64_t c_row) {
  if (m == 0 || n == 0) return;
  for (int64_t p = 0; p < k; p += kDepth) {
    for (int64_t i = 0; i < m; i += kHeight) {
      throw_if_cancelled();
      const int64_t depth = std::min(kDepth, k - p), height = std::min(kHeight, m - i);
      with_vectors([&](auto bytes) __attribute__((always_inline)) {
        constexpr int kBytes = decltype(bytes)::value;
        constexpr int64_t kWidth = 2 * kLanes<T, kBytes>;
        alignas(64) T packed[kDepth * kWidth];
        for (int64_t j = 0; j < n; j += kWidth) {
          const int64_t width = std::min(kWidth, n - j);
          const T *left = a + i * a_row + p, *right = b + p * b_row + j;
          T* out = c + i * c_row + j;
          if (width > kWidth / 2) {
            subtract_panel<T, kBytes, 2>(height, depth, left, a_row, right, b_row, out, c_row, width, packed);
          } else {
            subtract_panel<T, kBytes, 1>(height, depth, left, a_row, right, b_row, out, c_row, width, packed);
          }
        }
      });
    }
  }
}

// Solves for one vector of columns: kRows rows of x, of which each is a vector. kUpper: with the upper triangle of `a`,
// else with the lower one, whose diagonal is 1.
template <class T, int kBytes, int kRows, bool kUpper>
PANTO_INLINE void solve_vector(const T* a, int64_t row, T* x, int64_t x_row) {
  using V = typename Vector<T, kBytes>::type;
  V rest[kRows];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) load(x + i * x_row, rest[i]);
#pragma GCC unroll 16
  for (int at = 0; at < kRows; ++at) {
    const int k = kUpper ? kRows - 1 - at : at;
    if constexpr (kUpper) rest[k] /= a[k * row + k];
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      if (kUpper ? i < k : i > k) rest[i] -= a[i * row + k] * rest[k];
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) store(rest[i], x + i * x_row);
}

// So many rows are solved in registers.
template <int kBytes>
constexpr int kSolved = kBytes == 64 ? 16 : 8;

template <class T, int kRows, bool kUpper>
void solve_rows(const T* a, int64_t row, T* x, int64_t columns, int64_t x_row) {
  with_vectors([&](auto bytes) __attribute__((always_inline)) {
    constexpr int kBytes = decltype(bytes)::value;
    if constexpr (kRows <= kSolved<kBytes>) {
      constexpr int64_t kWide = kLanes<T, kBytes>;
      int64_t j = 0;
      for (; j + kWide <= columns; j += kWide) solve_vector<T, kBytes, kRows, kUpper>(a, row, x + j, x_row);
      if (j == columns) return;
      // A part of a vector is padded, so that its bits are those of a whole one.
      alignas(64) T part[kRows * kWide] = {};
      for (int64_t i = 0; i < kRows; ++i) std::copy_n(x + i * x_row + j, columns - j, part + i * kWide);
      solve_vector<T, kBytes, kRows, kUpper>(a, row, part, kWide);
      for (int64_t i = 0; i < kRows; ++i) std::copy_n(part + i * kWide, columns - j, x + i * x_row + j);
    }
  });
}

// Solves with a triangle of `a` in place, by halves.
template <bool kUpper, class T>
void solve_triangle(int64_t n, const T* a, int64_t row, T* x, int64_t columns, int64_t x_row) {
  switch (n) {
    case 0: return;
    case 1: return solve_rows<T, 1, kUpper>(a, row, x, columns, x_row);
    case 2: return solve_rows<T, 2, kUpper>(a, row, x, columns, x_row);
    case 4: return solve_rows<T, 4, kUpper>(a, row, x, columns, x_row);
    case 8: return solve_rows<T, 8, kUpper>(a, row, x, columns, x_row);
    case 16:
      if (isa() >= Isa::kAvx512) return solve_rows<T, 16, kUpper>(a, row, x, columns, x_row);
      break;
    default: break;
  }
  const auto first = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(n - 1)));
  const int64_t second = n - first;
  T* below = x + first * x_row;
  if constexpr (kUpper) {
    solve_triangle<kUpper>(second, a + first * row + first, row, below, columns, x_row);
    subtract_product(first, columns, second, a + first, row, below, x_row, x, x_row);
    solve_triangle<kUpper>(first, a, row, x, columns, x_row);
  } else {
    solve_triangle<kUpper>(first, a, row, x, columns, x_row);
    subtract_product(second, columns, first, a + first * row, row, x, x_row, below, x_row);
    solve_triangle<kUpper>(second, a + first * row + first, row, below, columns, x_row);
  }
}

// In the units of parallel_for. The threads are woken where one alone would take a fifth of a millisecond: an
// elimination waits for them at every step, which costs more than a single product where a processor is busy elsewhere.
int64_t work_of(int64_t m, int64_t n, int64_t k) { return m * n * k / 64; }

template <class T>
void swap_rows(int64_t n, const int32_t* pivots, T* x, int64_t columns, int64_t x_row) {
  for (int64_t i = 0; i < n; ++i) {
    if (pivots[i] != i) std::swap_ranges(x + i * x_row, x + i * x_row + columns, x + pivots[i] * x_row);
  }
}

// Factors the first n columns of m >= n rows.
template <class T>
void factor(int64_t m, int64_t n, T* a, int64_t row, int32_t* pivots, T* scratch) {
  if (n <= kPanel) {
    throw_if_cancelled();
    return factor_panel(m, n, a, row, pivots, scratch);
  }
  const int64_t first = ceil_div(ceil_div(n, 2), kPanel) * kPanel;
  const int64_t rest = n - first;
  factor(m, first, a, row, pivots, scratch);
  parallel_for(
      rest, work_of(m, rest, first),
      [&](int64_t begin, int64_t end) {
        T* right = a + first + begin;
        swap_rows(first, pivots, right, end - begin, row);
        solve_triangle<false>(first, a, row, right, end - begin, row);
        subtract_product(m - first, end - begin, first, a + first * row, row, right, row, right + first * row, row);
      },
      kShared);
  factor(m - first, rest, a + first * row + first, row, pivots + first, scratch);
  swap_rows(rest, pivots + first, a + first * row, first, row);
  for (int64_t i = first; i < n; ++i) pivots[i] += static_cast<int32_t>(first);
}

// The inner products of kCount rows of `a` and x, each of n elements, in an order that depends on the instruction set.
template <class T, int kBytes, int kCount>
PANTO_INLINE void inner_products(int64_t n, const T* a, int64_t row, const T* x, T* sums) {
  using V = typename Vector<T, kBytes>::type;
  constexpr int64_t kWide = kLanes<T, kBytes>;
  V sum[kCount] = {};
  int64_t p = 0;
  for (; p + kWide <= n; p += kWide) {
    V right;
    load(x + p, right);
#pragma GCC unroll 8
    for (int i = 0; i < kCount; ++i) {
      V left;
      load(a + i * row + p, left);
      sum[i] += left * right;
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kCount; ++i) {
    T total = 0;
    for (int64_t l = 0; l < kWide; ++l) total += sum[i][l];
    for (int64_t l = p; l < n; ++l) total += a[i * row + l] * x[l];
    sums[i] = total;
  }
}

// Solves for one column, whose elements are next to each other: several rows of the factors at a time, since each is
// read once.
template <class T>
void solve_column(int64_t n, const T* a, int64_t row, T* x) {
  with_vectors([&](auto bytes) __attribute__((always_inline)) {
    constexpr int kBytes = decltype(bytes)::value;
    constexpr int kCount = 8;
    T sums[kCount];
    // Subtracts what columns [from, from + depth) contribute to rows [at, at + count).
    const auto subtract = [&](int64_t at, int64_t count, int64_t from, int64_t depth) __attribute__((always_inline)) {
      const T* left = a + at * row + from;
      if (count == kCount) {
        inner_products<T, kBytes, kCount>(depth, left, row, x + from, sums);
      } else {
        for (int64_t i = 0; i < count; ++i)
          inner_products<T, kBytes, 1>(depth, left + i * row, row, x + from, sums + i);
      }
      for (int64_t i = 0; i < count; ++i) x[at + i] -= sums[i];
    };
    for (int64_t at = 0; at < n; at += kCount) {
      const int64_t count = std::min<int64_t>(kCount, n - at);
      subtract(at, count, 0, at);
      for (int64_t k = at; k < at + count; ++k) {
        for (int64_t i = k + 1; i < at + count; ++i) x[i] -= a[i * row + k] * x[k];
      }
    }
    for (int64_t end = n; end > 0; end = (end - 1) / kCount * kCount) {
      const int64_t at = (end - 1) / kCount * kCount;
      subtract(at, end - at, end, n - end);
      for (int64_t k = end - 1; k >= at; --k) {
        x[k] /= a[k * row + k];
        for (int64_t i = at; i < k; ++i) x[i] -= a[i * row + k] * x[k];
      }
    }
  });
}

}  // namespace

bool elimination_is_fast() {
#ifdef __x86_64__
  return isa() >= Isa::kAvx2;
#else
  return false;
#endif
}

int64_t elimination_row(int64_t n) { return ceil_div(n, 16) * 16 + 16; }
int64_t elimination_scratch(int64_t n) { return kPanel * panel_stride(n); }

template <class T>
void eliminate(int64_t n, T* a, int64_t row, int32_t* pivots, T* scratch) {
  factor(n, n, a, row, pivots, scratch);
}

template <class T>
void solve_eliminated(int64_t n, const T* factors, int64_t row, const int32_t* pivots, T* x, int64_t columns,
                      int64_t x_row, T* scratch) {
  if (columns < kFewColumns) {
    swap_rows(n, pivots, x, columns, x_row);
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t i = 0; i < n; ++i) scratch[i] = x[i * x_row + j];
      solve_column(n, factors, row, scratch);
      for (int64_t i = 0; i < n; ++i) x[i * x_row + j] = scratch[i];
    }
    return;
  }
  parallel_for(
      columns, work_of(n, n, columns),
      [&](int64_t begin, int64_t end) {
        swap_rows(n, pivots, x + begin, end - begin, x_row);
        solve_triangle<false>(n, factors, row, x + begin, end - begin, x_row);
        solve_triangle<true>(n, factors, row, x + begin, end - begin, x_row);
      },
      kShared);
}

// The inverse is inv(U) inv(L) P. inv(L) is a lower triangle, so each block of its columns begins at the diagonal.
template <class T>
void invert_eliminated(int64_t n, const T* factors, int64_t row, const int32_t* pivots, T* inverse, T* work) {
  const int64_t work_row = elimination_row(n);
  parallel_for(
      ceil_div(n, kAtOnce), work_of(n, n, n),
      [&](int64_t begin, int64_t end) {
        for (int64_t at = begin * kAtOnce; at < std::min(n, end * kAtOnce); at += kAtOnce) {
          const int64_t columns = std::min(kAtOnce, n - at);
          for (int64_t i = 0; i < n; ++i) std::fill_n(work + i * work_row + at, columns, T{0});
          for (int64_t i = at; i < at + columns; ++i) work[i * work_row + i] = 1;
          solve_triangle<false>(n - at, factors + at * row + at, row, work + at * work_row + at, columns, work_row);
          solve_triangle<true>(n, factors, row, work + at, columns, work_row);
        }
      },
      1);
  std::vector<int32_t> rows(static_cast<size_t>(n));
  std::iota(rows.begin(), rows.end(), 0);
  for (int64_t i = 0; i < n; ++i) std::swap(rows[static_cast<size_t>(i)], rows[static_cast<size_t>(pivots[i])]);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) inverse[i * n + rows[static_cast<size_t>(j)]] = work[i * work_row + j];
  }
}

template void eliminate(int64_t, float*, int64_t, int32_t*, float*);
template void solve_eliminated(int64_t, const float*, int64_t, const int32_t*, float*, int64_t, int64_t, float*);
template void invert_eliminated(int64_t, const float*, int64_t, const int32_t*, float*, float*);
template void eliminate(int64_t, double*, int64_t, int32_t*, double*);
template void solve_eliminated(int64_t, const double*, int64_t, const int32_t*, double*, int64_t, int64_t, double*);
template void invert_eliminated(int64_t, const double*, int64_t, const int32_t*, double*, double*);

}  // namespace panto::cpu
