#include "panto/device/cpu/gemm/tile_gemm.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "panto/device/cpu/conv/onednn.h"
#include "panto/device/cpu/gemm/pack_four.h"
#include "panto/device/cpu/isa.h"
#include "panto/lib/base/checked.h"
#include "panto/lib/core/step/cancel.h"

namespace panto::cpu {
namespace {

// Everything below is inlined into entry functions, each compiled for one instruction set.
#define PANTO_INLINE [[gnu::always_inline]] inline

// The inner dimension is cut into blocks of kDepth: a panel of b, two vectors wide, then stays in the first-level
// cache. Each block is summed up and added to c, so kDepth affects the bits of the result. The other sizes do not.
constexpr int64_t kDepth = 256;
constexpr int64_t kFewRows = 192;          // up to here `a` is read in place, unless rows of b are far apart
constexpr int64_t kPackedRows = 192;       // rows of a packed at a time; with kDepth they fill the second-level cache
constexpr int64_t kPackedColumns = 2048;   // columns of b packed at a time, if more rows than kPackedRows use them;
constexpr int64_t kAskedColumns = 256;     // otherwise so many, and meanwhile the next ones come into the same cache
constexpr int64_t kRowBytes = 32 << 10;    // of b: from this size on a single row is multiplied row by row,
constexpr int64_t kRowsBytes = 512 << 10;  // and from this size on several rows are
// Rows, or columns, of c that are computed in place between two checks for cancellation.
constexpr int64_t kInPlace = 64 * 1024;

// Rows per group, two vectors wide: their sums fit the registers and hide the latency of additions.
template <int kBytes>
constexpr int kRows = kBytes == 64 ? 12 : 6;

template <class T>
constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));  // elements of a cache line

// A column of cache lines in a matrix whose rows are `row` elements apart.
template <class T>
struct Lines {
  const T* data;
  int64_t row;
};

// Computes kCount rows of a panel of c that is kVectors wide. Rows of b are `b_row` elements apart. Adds to c unless
// `first`. Meanwhile prefetches k lines from `asked`, if kAsks.
template <class T, int kBytes, int kVectors, int kCount, bool kAsks = false>
PANTO_INLINE void rows(int64_t k, MatrixRef<T> a, const T* b, int64_t b_row, T* c, int64_t c_row, int64_t width,
                       bool first, Lines<T> asked = {}) {
  using V = typename Vector<T, kBytes>::type;
  using Loose = typename Vector<T, kBytes>::loose;
  constexpr int64_t kLanes = kBytes / static_cast<int64_t>(sizeof(T));
  V sum[kCount][kVectors] = {};
  // Prefetches the elements of c to which the sums are added.
#pragma GCC unroll 16
  for (int r = 0; r < kCount; ++r) __builtin_prefetch(c + r * c_row, 1);
  for (int64_t p = 0; p < k; ++p) {
    if constexpr (kAsks) __builtin_prefetch(asked.data + p * asked.row, 0, 2);
    V right[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) right[v] = *reinterpret_cast<const Loose*>(b + p * b_row + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kCount; ++r) {
      const T left = a.data[r * a.row + p * a.column];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[r][v] += left * right[v];
    }
  }
#pragma GCC unroll 16
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

// Calls body.operator()<kCount>(i) for groups of kCount rows that together are m rows; kCount is kMost as far as
// possible.
template <int kMost, class Body>
PANTO_INLINE void row_groups(int64_t m, const Body& body) {
  int64_t i = 0;
  for (; i + kMost <= m; i += kMost) body.template operator()<kMost>(i);
  if (kMost > 8 && i + 8 <= m) {
    body.template operator()<8>(i);
    i += 8;
  }
  if (kMost > 4 && i + 4 <= m) {
    body.template operator()<4>(i);
    i += 4;
  }
  for (; i + 2 <= m; i += 2) body.template operator()<2>(i);
  if (i < m) body.template operator()<1>(i);
}

// Copies the first `width` columns of `depth` rows of x, padded with zeros to kWidth columns.
template <int64_t kWidth, class T>
PANTO_INLINE void pack(MatrixRef<T> x, int64_t depth, int64_t width, T* packed) {
  if (width == kWidth && x.column == 1) {
    for (int64_t p = 0; p < depth; ++p) std::memcpy(packed + p * kWidth, x.data + p * x.row, kWidth * sizeof(T));
    return;
  }
  if (width < kWidth) std::memset(packed, 0, static_cast<size_t>(depth * kWidth) * sizeof(T));
  int64_t done = 0;
  if (x.row == 1) {
    for (; done + 4 <= width; done += 4) {
      pack_four<T>({x.data + done * x.column, 1, x.column}, depth, kWidth, packed + done);
    }
  }
  if (done == width) return;
  for (int64_t p = 0; p < depth; ++p) {
    for (int64_t l = done; l < width; ++l) packed[p * kWidth + l] = x.data[p * x.row + l * x.column];
  }
}

// Computes `width` columns of c, at most kVectors wide, reading `a` in place.
template <class T, int kBytes, int kVectors>
PANTO_INLINE void panel(int64_t m, int64_t depth, MatrixRef<T> a, MatrixRef<T> b, T* c, int64_t c_row, int64_t width,
                        bool first, T* packed) {
  constexpr int64_t kWidth = kVectors * kBytes / static_cast<int64_t>(sizeof(T));
  constexpr int kMost = kVectors == 1 ? 8 : kRows<kBytes>;
  // A panel that is not made of full rows is copied; so is one with a large row stride if it is read often.
  if (width < kWidth || b.column != 1 || (m > 4 * kMost && b.row > kWidth)) {
    pack<kWidth>(b, depth, width, packed);
    b = {packed, kWidth, 1};
  }
  row_groups<kMost>(m, [&]<int kCount>(int64_t i) __attribute__((always_inline)) {
    rows<T, kBytes, kVectors, kCount>(depth, {a.data + i * a.row, a.row, a.column}, b.data, b.row, c + i * c_row, c_row,
                                      width, first);
  });
}

// Panels are separate functions: in one function for all kinds, what the compiler sets up for all of them would cost a
// sixth of a product of 8x8.
template <class T, int kVectors>
[[gnu::noinline]] void panel_portable(int64_t m, int64_t depth, const MatrixRef<T>& a, const MatrixRef<T>& b, T* c,
                                      int64_t c_row, int64_t width, bool first, T* packed) {
  panel<T, 16, kVectors>(m, depth, a, b, c, c_row, width, first, packed);
}
#ifdef __x86_64__
template <class T, int kVectors>
[[PANTO_AVX2, gnu::noinline]] void panel_avx2(int64_t m, int64_t depth, const MatrixRef<T>& a, const MatrixRef<T>& b,
                                              T* c, int64_t c_row, int64_t width, bool first, T* packed) {
  panel<T, 32, kVectors>(m, depth, a, b, c, c_row, width, first, packed);
}
template <class T, int kVectors>
[[PANTO_AVX512, gnu::noinline]] void panel_avx512(int64_t m, int64_t depth, const MatrixRef<T>& a,
                                                  const MatrixRef<T>& b, T* c, int64_t c_row, int64_t width, bool first,
                                                  T* packed) {
  panel<T, 64, kVectors>(m, depth, a, b, c, c_row, width, first, packed);
}
#endif
template <class T, int kBytes, int kVectors>
constexpr auto panel_function() {
#ifdef __x86_64__
  if constexpr (kBytes == 64) {
    return panel_avx512<T, kVectors>;
  } else if constexpr (kBytes == 32) {
    return panel_avx2<T, kVectors>;
  } else
#endif
  {
    return panel_portable<T, kVectors>;
  }
}

template <class T, int kBytes>
PANTO_INLINE void multiply_in_place(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, MatrixRef<T> b, T* c,
                                    int64_t c_row) {
  constexpr int64_t kLanes = kBytes / static_cast<int64_t>(sizeof(T));
  alignas(64) T packed[kDepth * 2 * kLanes];
  for (int64_t p = 0; p == 0 || p < k; p += kDepth) {
    if (p > 0) throw_if_cancelled();
    const int64_t depth = std::min(kDepth, k - p);
    const MatrixRef<T> left{a.data + p * a.column, a.row, a.column};
    for (int64_t j = 0; j < n;) {
      const MatrixRef<T> right{b.data + p * b.row + j * b.column, b.row, b.column};
      const int64_t width = std::min(2 * kLanes, n - j);
      if (width > kLanes) {
        panel_function<T, kBytes, 2>()(m, depth, left, right, c + j, c_row, width, p == 0, packed);
      } else {
        panel_function<T, kBytes, 1>()(m, depth, left, right, c + j, c_row, width, p == 0, packed);
      }
      j += width;
    }
  }
}

// Adds the product of kCount rows of a and kDeep rows of b to `sums`, whose rows are `sums_row` apart. Meanwhile
// prefetches `ask` rows of b from `ask_row` on: rows end before the processor would read ahead by itself.
template <class T, int kBytes, int kCount, int kDeep>
PANTO_INLINE void add_rows(MatrixRef<T> a, const T* b, int64_t b_row, int64_t width, T* sums, int64_t sums_row,
                           int64_t ask, int64_t ask_row) {
  using V = typename Vector<T, kBytes>::type;
  using Loose = typename Vector<T, kBytes>::loose;
  constexpr int64_t kLanes = kBytes / static_cast<int64_t>(sizeof(T));
  T left[kCount][kDeep];
#pragma GCC unroll 4
  for (int r = 0; r < kCount; ++r) {
#pragma GCC unroll 4
    for (int i = 0; i < kDeep; ++i) left[r][i] = a.data[r * a.row + i * a.column];
  }
  for (int64_t l = 0; l < width; l += kLanes) {
    for (int64_t i = 0; i < ask; ++i) __builtin_prefetch(b + (ask_row + i) * b_row + l);
    V right[kDeep];
#pragma GCC unroll 4
    for (int i = 0; i < kDeep; ++i) right[i] = *reinterpret_cast<const Loose*>(b + i * b_row + l);
#pragma GCC unroll 4
    for (int r = 0; r < kCount; ++r) {
      V* at = reinterpret_cast<V*>(sums + r * sums_row + l);
      V sum = *at;
#pragma GCC unroll 4
      for (int i = 0; i < kDeep; ++i) sum += left[r][i] * right[i];
      *at = sum;
    }
  }
}

// Multiplies a few rows by b. Several rows of b are read at once, each to its end: memory delivers them faster than
// panels. The sums have the same bits as those of panels. n must be a multiple of a vector's elements. Measured on two
// Sapphire Rapids cores, oneDNN beside it: 1 row by 4096x4096 2.0 and 3.2 ms, 4 rows 2.1 and 7.3, 16 rows 4.5 and 11.0;
// 8 rows by 768x3072 0.27 and 0.36 ms.
template <class T, int kBytes>
PANTO_INLINE void multiply_rows(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, const T* b, int64_t b_row, T* c,
                                int64_t c_row) {
  constexpr int64_t kLanes = kBytes / static_cast<int64_t>(sizeof(T));
  constexpr int64_t kSums = (int64_t{16} << 10) / static_cast<int64_t>(sizeof(T));  // elements that fit the cache
  constexpr int kDeep = 4;
  constexpr int kHigh = 4;
  // Rows of sums begin at different cache lines: a whole page apart they would conflict.
  alignas(64) T sums[kSums + kRowsAtOnce * kLanes];
  const int64_t most = std::min(kSums / 4, kSums / m / kLanes * kLanes), sums_row = most + kLanes;
  // All groups of rows of a prefetch equal shares of the next rows of b, so that memory is never idle.
  const int64_t ask = m <= kHigh ? kDeep : m <= 2 * kHigh ? kDeep / 2 : kDeep / 4;
  for (int64_t j = 0; j < n; j += most) {
    const int64_t width = std::min(most, n - j);
    for (int64_t start = 0; start < k; start += kDepth) {
      throw_if_cancelled();
      const int64_t stop = std::min(k, start + kDepth);
      // Zeroed here rather than by a branch below: a compiler that moves products before the branch rounds them before
      // they are added.
      std::fill_n(sums, m * sums_row, T{0});
      const auto add = [&]<int kCount>(int64_t p) __attribute__((always_inline)) {
        row_groups<kHigh>(m, [&]<int kRowCount>(int64_t i) __attribute__((always_inline)) {
          add_rows<T, kBytes, kRowCount, kCount>({a.data + i * a.row + p * a.column, a.row, a.column},
                                                 b + p * b_row + j, b_row, width, sums + i * sums_row, sums_row, ask,
                                                 kDeep + i / kHigh * ask);
        });
      };
      int64_t p = start;
      for (; p + kDeep <= stop; p += kDeep) add.template operator()<kDeep>(p);
      for (; p < stop; ++p) add.template operator()<1>(p);
      for (int64_t i = 0; i < m; ++i) {
        T* out = c + i * c_row + j;
        const T* made = sums + i * sums_row;
        for (int64_t l = 0; l < width; ++l) out[l] = start == 0 ? made[l] : out[l] + made[l];
      }
    }
  }
}

// Elements from one packed panel to the next: a cache line more than it holds, for rows are written across panels, and
// a power of two apart their lines would evict each other.
template <int64_t kWidth, class T>
PANTO_INLINE int64_t panel_elements(int64_t depth) {
  return depth * kWidth + kLine<T>;
}

// Packs `n` columns of b into panels, one after the other. Rows are read to their ends, since each may lie on another
// page.
template <int64_t kWidth, class T>
PANTO_INLINE void pack_panels(MatrixRef<T> b, int64_t depth, int64_t n, T* packed) {
  const int64_t panel = panel_elements<kWidth, T>(depth);
  int64_t j = 0;
  if (b.column == 1) {
    j = n / kWidth * kWidth;
    for (int64_t p = 0; p < depth; ++p) {
      for (int64_t l = 0; l < j; l += kWidth) {
        std::memcpy(packed + l / kWidth * panel + p * kWidth, b.data + p * b.row + l, kWidth * sizeof(T));
      }
    }
  }
  for (; j < n; j += kWidth) {
    pack<kWidth>({b.data + j * b.column, b.row, b.column}, depth, std::min(kWidth, n - j), packed + j / kWidth * panel);
  }
}

// Multiplies with both factors copied to blocks that fit the caches: a in groups of rows, b in panels. If there are few
// rows, copying b takes as long as multiplying by it; so the block of b that is copied next is prefetched meanwhile.
template <class T, int kBytes>
PANTO_INLINE void multiply_packed(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, MatrixRef<T> b, T* c, int64_t c_row,
                                  T* scratch, const TileCallback& done) {
  constexpr int64_t kWidth = 2 * kBytes / static_cast<int64_t>(sizeof(T));
  const bool few = std::is_same_v<T, float> && m <= kPackedRows && b.column == 1;
  const int64_t most = few ? kAskedColumns : kPackedColumns;
  T* packed_a = scratch;
  T* packed_b = scratch + kDepth * kPackedRows;
  for (int64_t p = 0; p == 0 || p < k; p += kDepth) {
    const int64_t depth = std::min(kDepth, k - p);
    for (int64_t j = 0; j < n; j += most) {
      const int64_t columns = std::min(most, n - j);
      const Lines<T> next{b.data + (j + most < n ? p * b.row + j + most : (p + depth) * b.row), b.row};
      const bool asks = few && (j + most < n || p + depth < k);
      pack_panels<kWidth>({b.data + p * b.row + j * b.column, b.row, b.column}, depth, columns, packed_b);
      for (int64_t i = 0; i < m; i += kPackedRows) {
        throw_if_cancelled();  // these blocks take a few milliseconds
        const int64_t height = std::min(kPackedRows, m - i);
        if (j == 0 || m > kPackedRows) {
          const MatrixRef<T> left{a.data + i * a.row + p * a.column, a.row, a.column};
          row_groups<kRows<kBytes>>(height, [&]<int kCount>(int64_t r) __attribute__((always_inline)) {
            pack<kCount>(MatrixRef<T>{left.data + r * left.row, left.column, left.row}, depth, kCount,
                         packed_a + r * depth);
          });
        }
        for (int64_t l = 0; l < columns; l += kWidth) {
          T* out = c + i * c_row + j + l;
          const int64_t width = std::min(kWidth, columns - l);
          row_groups<kRows<kBytes>>(height, [&]<int kCount>(int64_t r) __attribute__((always_inline)) {
            const MatrixRef<T> group{packed_a + r * depth, 1, kCount};
            const T* panel = packed_b + l / kWidth * panel_elements<kWidth, T>(depth);
            // Each group of rows asks for one line of every row of the panel.
            if constexpr (std::is_same_v<T, float> && kCount == kRows<kBytes>) {
              const int64_t line = r / kCount * kLine<T>;
              if (asks && line < kWidth) {
                return rows<T, kBytes, 2, kCount, true>(depth, group, panel, kWidth, out + r * c_row, c_row, width,
                                                        p == 0, {next.data + l + line, next.row});
              }
            }
            rows<T, kBytes, 2, kCount>(depth, group, panel, kWidth, out + r * c_row, c_row, width, p == 0);
          });
        }
        if (p + depth == k) done(i, height, j, columns);
      }
    }
  }
}

template <class T>
using GemmFn = void (*)(int64_t m, int64_t n, int64_t k, const MatrixRef<T>& a, const MatrixRef<T>& b, T* c,
                        int64_t c_row, T* scratch, const TileCallback& done);

template <class T>
PANTO_INLINE bool reads_rows(int64_t m, int64_t elements_of_b) {
  const int64_t bytes = elements_of_b * static_cast<int64_t>(sizeof(T));
  return m == 1 ? bytes > kRowBytes : std::is_floating_point_v<T> && m <= kRowsAtOnce && bytes >= kRowsBytes;
}

// With scratch memory it calls `done` for each block; without, the caller does.
template <class T, int kBytes>
PANTO_INLINE void multiply(int64_t m, int64_t n, int64_t k, MatrixRef<T> a, MatrixRef<T> b, T* c, int64_t c_row,
                           T* scratch, const TileCallback& done) {
  if (b.column == 1 && reads_rows<T>(m, n * k)) {
    constexpr int64_t kLanes = kBytes / static_cast<int64_t>(sizeof(T));
    const int64_t whole = n / kLanes * kLanes;
    multiply_rows<T, kBytes>(m, whole, k, a, b.data, b.row, c, c_row);
    b.data += whole;
    c += whole;
    n -= whole;
  }
  if (scratch == nullptr) {
    multiply_in_place<T, kBytes>(m, n, k, a, b, c, c_row);
  } else {
    multiply_packed<T, kBytes>(m, n, k, a, b, c, c_row, scratch, done);
  }
}

// Products of one panel take a separate path that does not copy the arguments: loading what was just stored costs a
// tenth of a product of 8x8.
template <class T, int kBytes>
PANTO_INLINE bool is_one_panel(int64_t n, int64_t k) {
  return n <= kBytes / static_cast<int64_t>(sizeof(T)) && k <= kDepth;
}
template <class T, int kBytes>
PANTO_INLINE void multiply_one_panel(int64_t m, int64_t n, int64_t k, const MatrixRef<T>& a, const MatrixRef<T>& b,
                                     T* c, int64_t c_row) {
  alignas(64) T packed[kDepth * kBytes / static_cast<int64_t>(sizeof(T))];
  panel_function<T, kBytes, 1>()(m, k, a, b, c, c_row, n, true, packed);
}

template <class T>
void portable(int64_t m, int64_t n, int64_t k, const MatrixRef<T>& a, const MatrixRef<T>& b, T* c, int64_t c_row,
              T* scratch, const TileCallback& done) {
  multiply<T, 16>(m, n, k, a, b, c, c_row, scratch, done);
}

#ifdef __x86_64__
template <class T>
[[PANTO_AVX2]] void with_avx2(int64_t m, int64_t n, int64_t k, const MatrixRef<T>& a, const MatrixRef<T>& b, T* c,
                              int64_t c_row, T* scratch, const TileCallback& done) {
  if (is_one_panel<T, 32>(n, k)) return multiply_one_panel<T, 32>(m, n, k, a, b, c, c_row);
  multiply<T, 32>(m, n, k, a, b, c, c_row, scratch, done);
}
template <class T>
[[PANTO_AVX512]] void with_avx512(int64_t m, int64_t n, int64_t k, const MatrixRef<T>& a, const MatrixRef<T>& b, T* c,
                                  int64_t c_row, T* scratch, const TileCallback& done) {
  if (is_one_panel<T, 32>(n, k)) return multiply_one_panel<T, 32>(m, n, k, a, b, c, c_row);
  // tile_gemm passes no scratch memory for so few columns.
  if (n * static_cast<int64_t>(sizeof(T)) <= 32) return multiply<T, 32>(m, n, k, a, b, c, c_row, nullptr, done);
  multiply<T, 64>(m, n, k, a, b, c, c_row, scratch, done);
}
#endif

template <class T>
GemmFn<T> choose() {
#ifdef __x86_64__
  if (isa() >= Isa::kAvx512) return with_avx512<T>;
  if (isa() >= Isa::kAvx2) return with_avx2<T>;
#endif
  return portable<T>;
}

}  // namespace

template <class T>
void tile_gemm(int64_t m, int64_t n, int64_t k, const MatrixRef<T>& left, const MatrixRef<T>& right, T* c,
               int64_t c_row, const TileCallback& done) {
  static const GemmFn<T> run = choose<T>();
  if ((m > kFewRows || (m > kRowsAtOnce && right.column == 1 && right.row % kFarApart == 0)) && n >= 64 && k >= 32) {
    const int64_t columns = ceil_div(std::min(n, kPackedColumns), 64) * 64;
    const auto bytes = static_cast<size_t>(kDepth * (kPackedRows + columns) + 4 * columns) * sizeof(T);
    return run(m, n, k, left, right, c, c_row, static_cast<T*>(dnnl_scratchpad(bytes)), done);
  }
  // The usual case, without the copies of the arguments below: loading those would wait for the caller's stores.
  if (m <= kInPlace && n <= kInPlace) {
    run(m, n, k, left, right, c, c_row, nullptr, done);
    return done(0, m, 0, n);
  }
  MatrixRef<T> a = left, b = right;
  int64_t row = 0, column = 0;
  for (; n - column > kInPlace; column += kInPlace) {
    run(m, kInPlace, k, a, {b.data + column * b.column, b.row, b.column}, c + column, c_row, nullptr, done);
    done(0, m, column, kInPlace);
    throw_if_cancelled();
  }
  b.data += column * b.column;
  c += column;
  for (; m - row > kInPlace; row += kInPlace) {
    run(kInPlace, n - column, k, {a.data + row * a.row, a.row, a.column}, b, c + row * c_row, c_row, nullptr, done);
    done(row, kInPlace, column, n - column);
    throw_if_cancelled();
  }
  a.data += row * a.row;
  run(m - row, n - column, k, a, b, c + row * c_row, c_row, nullptr, done);
  done(row, m - row, column, n - column);
}

template void tile_gemm(int64_t, int64_t, int64_t, const MatrixRef<float>&, const MatrixRef<float>&, float*, int64_t,
                        const TileCallback&);
template void tile_gemm(int64_t, int64_t, int64_t, const MatrixRef<double>&, const MatrixRef<double>&, double*, int64_t,
                        const TileCallback&);
template void tile_gemm(int64_t, int64_t, int64_t, const MatrixRef<uint32_t>&, const MatrixRef<uint32_t>&, uint32_t*,
                        int64_t, const TileCallback&);
template void tile_gemm(int64_t, int64_t, int64_t, const MatrixRef<uint64_t>&, const MatrixRef<uint64_t>&, uint64_t*,
                        int64_t, const TileCallback&);

bool tile_gemm_is_fast() {
#ifdef __x86_64__
  static const bool fast = isa() >= Isa::kAvx2 && !__builtin_cpu_supports("avx512f");
  return fast;
#else
  return false;
#endif
}

}  // namespace panto::cpu
