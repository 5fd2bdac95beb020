// The columns are copied to scratch memory, where the elements of a column are next to each other and padded to whole
// vectors. Four columns are factored one after the other, then subtracted from the others together.
#include "panto/device/cpu/linalg/elimination_panel.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "panto/device/cpu/isa.h"
#include "panto/device/cpu/vector.h"
#include "panto/lib/base/checked.h"

namespace panto::cpu {
namespace {

// For what is inlined into the lambda that is compiled for each instruction set.
#define PANTO_INLINE [[gnu::always_inline]] inline

constexpr int kColumns = 4;  // that are factored one after the other

// Transposes a block of four rows and columns.
template <class T>
PANTO_INLINE void transpose_four(const T* from, int64_t from_row, T* to, int64_t to_row) {
  using V = typename Vector<T, 4 * sizeof(T)>::type;
  V in[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) load(from + i * from_row, in[i]);
  const V low01 = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5);
  const V low23 = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5);
  const V high01 = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7);
  const V high23 = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
  store(__builtin_shufflevector(low01, low23, 0, 1, 4, 5), to);
  store(__builtin_shufflevector(low01, low23, 2, 3, 6, 7), to + to_row);
  store(__builtin_shufflevector(high01, high23, 0, 1, 4, 5), to + 2 * to_row);
  store(__builtin_shufflevector(high01, high23, 2, 3, 6, 7), to + 3 * to_row);
}
template <class T>
PANTO_INLINE void transpose(int64_t rows, int64_t columns, const T* from, int64_t from_row, T* to, int64_t to_row) {
  const int64_t whole_rows = rows / 4 * 4, whole_columns = columns / 4 * 4;
  for (int64_t i = 0; i < whole_rows; i += 4) {
    for (int64_t j = 0; j < whole_columns; j += 4) {
      transpose_four(from + i * from_row + j, from_row, to + j * to_row + i, to_row);
    }
    for (int64_t j = whole_columns; j < columns; ++j) {
      for (int64_t l = i; l < i + 4; ++l) to[j * to_row + l] = from[l * from_row + j];
    }
  }
  for (int64_t i = whole_rows; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) to[j * to_row + i] = from[i * from_row + j];
  }
}

template <class Index>
constexpr Index kNumbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

// The largest absolute value so far of every lane, and the row of the first such.
template <class T, int kBytes>
struct Largest {
  using Index = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  using V = typename Vector<T, kBytes>::type;
  using Indices = typename Vector<Index, kBytes>::type;

  V size;
  Indices row;

  // Takes the other where it is larger, or as large and above.
  PANTO_INLINE void join(const V& other, const Indices& other_row) {
    // One comparison at a time: of masks combined, g++ 12 makes scalar code.
    const Indices upper = other_row < row ? other_row : row;
    row = other > size ? other_row : row;
    row = other == size ? upper : row;
    size = other > size ? other : size;
  }
  PANTO_INLINE Index find() const {
    constexpr int64_t kLanes = kBytes / static_cast<int64_t>(sizeof(T));
    if constexpr (kLanes == 2) {
      return size[1] > size[0] || (size[1] == size[0] && row[1] < row[0]) ? row[1] : row[0];
    } else {
      T sizes[kLanes];
      Index rows[kLanes];
      store(size, sizes);
      store(row, rows);
      Largest<T, kBytes / 2> half, other;
      load(sizes, half.size);
      load(rows, half.row);
      load(sizes + kLanes / 2, other.size);
      load(rows + kLanes / 2, other.row);
      half.join(other.size, other.row);
      return half.find();
    }
  }
};

template <class T, int kBytes>
struct Panel {
  using Search = Largest<T, kBytes>;
  using Index = typename Search::Index;
  using V = typename Search::V;
  using Indices = typename Search::Indices;
  static constexpr int64_t kLanes = kBytes / static_cast<int64_t>(sizeof(T));

  T* data;
  int64_t stride;
  int64_t rows;

  PANTO_INLINE T* column(int64_t j) const { return data + j * stride; }

  // Calls body.operator()<kVectors>(i) for groups of vectors that together are the rows from `first` on and some of the
  // padding.
  template <int kMost, class Body>
  PANTO_INLINE void each_group(int64_t first, const Body& body) const {
    int64_t i = first;
    for (; i + kMost * kLanes <= rows; i += kMost * kLanes) body.template operator()<kMost>(i);
    for (; i < rows; i += kLanes) body.template operator()<1>(i);
  }

  // Subtracts the kCount columns before column j from it, and returns the first row from j on with the largest absolute
  // value.
  template <int kCount>
  PANTO_INLINE int64_t subtract_and_search(int64_t j) const {
    T* x = column(j);
    const T* left = column(j - kCount);
#pragma GCC unroll 3
    for (int k = 0; k < kCount; ++k) {
      for (int i = k + 1; i < kCount; ++i) x[j - kCount + i] -= left[k * stride + j - kCount + i] * x[j - kCount + k];
    }
    constexpr int kMost = 4;
    Search largest[kMost];
    Indices index;
    load(kNumbers<Index>, index);
    index += static_cast<Index>(j);
#pragma GCC unroll 4
    for (int v = 0; v < kMost; ++v) largest[v] = {V{} - 1, index};
    each_group<kMost>(j, [&]<int kVectors>(int64_t i) __attribute__((always_inline)) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        V rest;
        load(x + i + v * kLanes, rest);
#pragma GCC unroll 3
        for (int k = 0; k < kCount; ++k) {
          V factor;
          load(left + k * stride + i + v * kLanes, factor);
          rest -= factor * x[j - kCount + k];
        }
        if (kCount > 0) store(rest, x + i + v * kLanes);
        constexpr Index kMagnitude = std::numeric_limits<Index>::max();
        const V size = (V)((Indices)rest & kMagnitude);  // NOLINT(google-readability-casting): the bits
        // Later rows of a lane: only larger ones count.
        largest[v].row = size > largest[v].size ? index : largest[v].row;
        largest[v].size = size > largest[v].size ? size : largest[v].size;
        index += static_cast<Index>(kLanes);
      }
    });
#pragma GCC unroll 3
    for (int v = 1; v < kMost; ++v) largest[0].join(largest[v].size, largest[v].row);
    const int64_t found = largest[0].find();
    // A row of the padding, if there is nothing but NaN.
    return found < rows ? found : j;
  }
  PANTO_INLINE int64_t subtract_and_search(int64_t j, int64_t count) const {
    switch (count) {
      case 0: return subtract_and_search<0>(j);
      case 1: return subtract_and_search<1>(j);
      case 2: return subtract_and_search<2>(j);
      default: return subtract_and_search<3>(j);
    }
  }
  // Divides what is below the diagonal of column j.
  PANTO_INLINE void divide(int64_t j) const {
    T* x = column(j);
    const T divisor = x[j];
    each_group<1>(j + 1, [&]<int kVectors>(int64_t i) __attribute__((always_inline)) {
      V rest;
      load(x + i, rest);
      store(rest / divisor, x + i);
    });
  }
  // Subtracts kColumns columns from column `first` on from those to the right of them.
  PANTO_INLINE void subtract_from_right(int64_t first, int64_t columns) const {
    const T* left = column(first);
    const int64_t next = first + kColumns;
    for (int64_t j = next; j < columns; ++j) {
      T* x = column(j) + first;
#pragma GCC unroll 4
      for (int k = 0; k < kColumns; ++k) {
#pragma GCC unroll 4
        for (int i = k + 1; i < kColumns; ++i) x[i] -= left[k * stride + first + i] * x[k];
      }
    }
    each_group<2>(next, [&]<int kVectors>(int64_t i) __attribute__((always_inline)) {
      V factors[kColumns][kVectors];
#pragma GCC unroll 4
      for (int k = 0; k < kColumns; ++k) {
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) load(left + k * stride + i + v * kLanes, factors[k][v]);
      }
      for (int64_t j = next; j < columns; ++j) {
        T* x = column(j);
        V rest[kVectors];
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) load(x + i + v * kLanes, rest[v]);
#pragma GCC unroll 4
        for (int k = 0; k < kColumns; ++k) {
#pragma GCC unroll 2
          for (int v = 0; v < kVectors; ++v) rest[v] -= factors[k][v] * x[first + k];
        }
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) store(rest[v], x + i + v * kLanes);
      }
    });
  }
};

}  // namespace

int64_t panel_stride(int64_t m) { return (ceil_div(m, 16) + 1) * 16; }

template <class T>
void factor_panel(int64_t m, int64_t n, T* a, int64_t row, int32_t* pivots, T* scratch) {
  with_vectors([&](auto bytes) __attribute__((always_inline)) {
    const int64_t stride = panel_stride(m);
    const Panel<T, decltype(bytes)::value> panel{scratch, stride, m};
    transpose(m, n, a, row, scratch, stride);
    for (int64_t j = 0; j < n; ++j) std::fill(panel.column(j) + m, panel.column(j + 1), T{0});
    for (int64_t first = 0; first < n; first += kColumns) {
      for (int64_t j = first; j < std::min(n, first + kColumns); ++j) {
        const int64_t pivot = panel.subtract_and_search(j, j - first);
        pivots[j] = static_cast<int32_t>(pivot);
        if (pivot != j) {
          for (int64_t k = 0; k < n; ++k) std::swap(panel.column(k)[j], panel.column(k)[pivot]);
        }
        if (panel.column(j)[j] != T{0}) panel.divide(j);
      }
      if (first + kColumns < n) panel.subtract_from_right(first, n);
    }
    transpose(n, m, scratch, stride, a, row);
  });
}

template void factor_panel(int64_t, int64_t, float*, int64_t, int32_t*, float*);
template void factor_panel(int64_t, int64_t, double*, int64_t, int32_t*, double*);

}  // namespace panto::cpu
