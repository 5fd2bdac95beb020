// Copies between strided blocks of memory (device/shape/strided_dims.h) on the CPU.
//
// Not xtensor's strided views: those step through one element at a time with an index vector, at any rank and stride.
// Merged dimensions make nearly every real call a copy of long rows (memcpy), a fill or a blocked transposition, at
// the speed of memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "panto/device/cpu/parallel.h"
#include "panto/device/cpu/stream.h"
#include "panto/device/shape/strided_dims.h"
#include "panto/lib/base/checked.h"

namespace panto::cpu {

class StridedCopy : public StridedDims {
 public:
  template <class T>
  void run(const T* in, T* out) const {
    if (count_ == 0) return;
    if (rank_ == 0) {
      *out = *in;
      return;
    }
    if constexpr (std::is_trivially_copyable_v<T>) {
      if (const int fast = transposed_dim(); fast > 0) return run_transposed(in, out, fast);
    }
    const int64_t work = count_ * static_cast<int64_t>(2 * sizeof(T));
    parallel_ranges(count_, work, [&](int64_t begin, int64_t end) { run_range(in, out, begin, end); });
  }

 private:
  static constexpr int64_t kLine = 64;  // bytes
  static constexpr int64_t kRun = 128;  // bytes that are written together when transposing

  // Returns the dimension that is contiguous in `in` if another dimension is contiguous in `out`; else 0.
  int transposed_dim() const {
    if (dims_[0].out != 1 || dims_[0].in <= 1 || dims_[0].size < 4) return 0;
    for (int d = 1; d < rank_; ++d) {
      if (dims_[d].in == 1 && dims_[d].size >= 4) return d;
    }
    return 0;
  }

  template <class T>
  static void copy_row(const T* in, T* out, const Dim& row, int64_t n) {
    if (row.in == 1 && row.out == 1) {
      std::copy_n(in, n, out);
    } else if (row.in == 0 && row.out == 1) {
      std::fill_n(out, n, *in);
    } else if (row.out == 1) {
      for (int64_t i = 0; i < n; ++i) out[i] = in[i * row.in];
    } else {
      for (int64_t i = 0; i < n; ++i) out[i * row.out] = in[i * row.in];
    }
  }

  // Elements [begin, end) in the order of the dimensions.
  template <class T>
  void run_range(const T* in, T* out, int64_t begin, int64_t end) const {
    const Dim& row = dims_[0];
    int64_t column = begin % row.size;
    int64_t index[kMaxDims];
    int64_t at_in = column * row.in;
    int64_t at_out = column * row.out;
    int64_t rest = begin / row.size;
    for (int d = 1; d < rank_; ++d) {
      index[d] = rest % dims_[d].size;
      rest /= dims_[d].size;
      at_in += index[d] * dims_[d].in;
      at_out += index[d] * dims_[d].out;
    }
    for (int64_t at = begin; at < end;) {
      const int64_t n = std::min(row.size - column, end - at);
      copy_row(in + at_in, out + at_out, row, n);
      at += n;
      at_in -= column * row.in;
      at_out -= column * row.out;
      column = 0;
      for (int d = 1; d < rank_; ++d) {
        at_in += dims_[d].in;
        at_out += dims_[d].out;
        if (++index[d] < dims_[d].size) break;
        at_in -= index[d] * dims_[d].in;
        at_out -= index[d] * dims_[d].out;
        index[d] = 0;
      }
    }
  }

  // Side of the squares that are transposed at a time: read along rows of `in`, written along rows of `out`.
  template <class T>
  static constexpr int64_t kSide = kRun / static_cast<int64_t>(sizeof(T));

  // out[c][r] = in[r][c].
  template <class T>
  [[gnu::always_inline]] static void transpose_small(const T* in, int64_t in_row, T* out, int64_t out_row, int64_t rows,
                                                     int64_t columns) {
    int64_t whole_rows = 0, whole_columns = 0;
    if constexpr (sizeof(T) == 4) {
      typedef int32_t V __attribute__((vector_size(16), aligned(4), may_alias));  // NOLINT(modernize-use-using)
      whole_rows = rows / 4 * 4;
      whole_columns = columns / 4 * 4;
      for (int64_t r = 0; r < whole_rows; r += 4) {
        for (int64_t c = 0; c < whole_columns; c += 4) {
          V row[4];
          for (int64_t i = 0; i < 4; ++i) row[i] = *reinterpret_cast<const V*>(in + (r + i) * in_row + c);
          const V low01 = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5);
          const V low23 = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5);
          const V high01 = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7);
          const V high23 = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
          T* to = out + c * out_row + r;
          *reinterpret_cast<V*>(to) = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
          *reinterpret_cast<V*>(to + out_row) = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
          *reinterpret_cast<V*>(to + 2 * out_row) = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
          *reinterpret_cast<V*>(to + 3 * out_row) = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
        }
      }
    }
    for (int64_t c = 0; c < columns; ++c) {
      for (int64_t r = c < whole_columns ? whole_rows : 0; r < rows; ++r) out[c * out_row + r] = in[r * in_row + c];
    }
  }

  // Turns `rows` <= kSide rows of `in` into columns of `out`. Each row is read from start to end, which suits the
  // processor's prefetcher. The runs written lie apart; that costs less than scattered reads.
  template <class T>
  static void transpose_rows(const T* in, T* out, const Dim& row, const Dim& column, int64_t rows, int64_t columns,
                             bool stream) {
    constexpr int64_t side = kSide<T>;
    alignas(kRun) T square[side * side];
    for (int64_t j = 0; j < columns; j += side) {
      const T* source = in + j;
      T* target = out + j * column.out;
      if (rows < side || columns - j < side) {
        transpose_small(source, row.in, target, column.out, rows, std::min(side, columns - j));
        continue;
      }
      // Through a buffer: if the sides are powers of two, the target's lines compete for a few cache sets.
      transpose_small(source, row.in, square, side, side, side);
      if (stream) {
        stream_rows(reinterpret_cast<std::byte*>(target), column.out * static_cast<int64_t>(sizeof(T)),
                    reinterpret_cast<const std::byte*>(square), kRun, side, kRun);
      } else {
        for (int64_t c = 0; c < side; ++c) std::memcpy(target + c * column.out, square + c * side, kRun);
      }
    }
  }

  // Returns true if `out` and every row of it begin a cache line.
  template <class T>
  bool writes_whole_lines(const T* out) const {
    bool whole = reinterpret_cast<uintptr_t>(out) % kLine == 0;
    for (int d = 1; d < rank_; ++d) whole = whole && dims_[d].out * static_cast<int64_t>(sizeof(T)) % kLine == 0;
    return whole;
  }

  // Transposes dimensions 0 and `fast` for each index of the other dimensions.
  template <class T>
  void run_transposed(const T* in, T* out, int fast) const {
    constexpr int64_t kColumns = (int64_t{16} << 10) / static_cast<int64_t>(sizeof(T));
    const Dim& row = dims_[0];
    const Dim& column = dims_[fast];
    const int64_t strips = ceil_div(row.size, kSide<T>);
    const int64_t parts = ceil_div(column.size, kColumns);
    const int64_t rest = count_ / (row.size * column.size);
    const int64_t work = count_ * static_cast<int64_t>(2 * sizeof(T));
    const bool stream = should_stream(work) && writes_whole_lines(out);
    parallel_ranges(
        rest * strips * parts, work,
        [&](int64_t begin, int64_t end) {
          for (int64_t k = begin; k < end; ++k) {
            const int64_t j = k % parts * kColumns;
            const int64_t i = k / parts % strips * kSide<T>;
            int64_t outer = k / parts / strips;
            int64_t at_in = i * row.in + j;
            int64_t at_out = i + j * column.out;
            for (int d = 1; d < rank_; ++d) {
              if (d == fast) continue;
              at_in += outer % dims_[d].size * dims_[d].in;
              at_out += outer % dims_[d].size * dims_[d].out;
              outer /= dims_[d].size;
            }
            transpose_rows(in + at_in, out + at_out, row, column, std::min(kSide<T>, row.size - i),
                           std::min(kColumns, column.size - j), stream);
          }
          if (stream) stream_fence();
        },
        1);
  }
};

}  // namespace panto::cpu
