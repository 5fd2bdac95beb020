// Copies between strided blocks of memory: the engine of Transpose, Slice, ConcatV2, Pad, Tile, BroadcastTo and the
// gradients of some of them.
//
// Not xtensor's strided views: those step through one element at a time with an index vector, at any rank and stride.
// Merged dimensions make nearly every real call a copy of long rows (memcpy), a fill or a blocked transposition, at
// the speed of memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "panto/device/cpu/parallel.h"
#include "panto/lib/core/shape.h"

namespace panto::cpu {

// Dimensions, innermost first, with the distance in elements between neighbours in either block. Dimensions of 1 are
// left out and those that continue one another merged.
class StridedCopy {
 public:
  struct Dim {
    int64_t size, in, out;
  };

  // `sizes`, `in` and `out`: outermost first.
  StridedCopy(std::span<const int64_t> sizes, std::span<const int64_t> in, std::span<const int64_t> out) {
    for (size_t i = sizes.size(); i-- > 0;) add({sizes[i], in[i], out[i]});
  }
  StridedCopy() = default;
  // From the innermost to the outermost dimension.
  void add(Dim dim) {
    count_ *= dim.size;
    if (dim.size == 1) return;
    if (rank_ > 0) {
      Dim& inner = dims_[rank_ - 1];
      if (dim.in == inner.in * inner.size && dim.out == inner.out * inner.size) {
        inner.size *= dim.size;
        return;
      }
    }
    dims_[rank_++] = dim;
  }

  int rank() const { return rank_; }
  int64_t count() const { return count_; }
  const Dim& dim(int i) const { return dims_[i]; }
  // The elements read lie one after the other.
  bool reads_one_block() const { return count_ == 0 || rank_ == 0 || (rank_ == 1 && dims_[0].in == 1); }

  template <class T>
  void run(const T* in, T* out) const {
    if (count_ == 0) return;
    if (rank_ == 0) {
      *out = *in;
      return;
    }
    if constexpr (std::is_trivially_copyable_v<T>) {
      if (const int fast = transposed_dim(); fast > 0) return run_blocks(in, out, fast);
    }
    const int64_t work = count_ * static_cast<int64_t>(2 * sizeof(T));
    parallel_ranges(count_, work, [&](int64_t begin, int64_t end) { run_range(in, out, begin, end); });
  }

 private:
  // Tile and the checks of long permutations may have two dimensions for each of the tensor's.
  static constexpr int kMaxDims = 2 * kMaxRank;
  static constexpr int64_t kLine = 64;    // bytes
  static constexpr int64_t kBlock = 128;  // elements: sides of what is transposed before going on

  // The dimension along which neighbours in `in` lie, if it is another one than in `out`; else 0.
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

  // Transposes a square whose sides are a cache line each, so that every line is read once and written once: with sides
  // that are powers of two the lines of a column of squares share a few places in the cache.
  template <class T>
  static void transpose_square(const T* in, int64_t in_row, T* out, int64_t out_row) {
    constexpr int64_t kSide = kLine / static_cast<int64_t>(sizeof(T));
    alignas(kLine) T lines[kSide * kSide];
    if constexpr (sizeof(T) == 4) {
      typedef int32_t V __attribute__((vector_size(16), may_alias));                  // NOLINT(modernize-use-using)
      typedef int32_t Loose __attribute__((vector_size(16), aligned(4), may_alias));  // NOLINT(modernize-use-using)
      for (int64_t r = 0; r < kSide; r += 4) {
        for (int64_t c = 0; c < kSide; c += 4) {
          V row[4];
          for (int64_t i = 0; i < 4; ++i) row[i] = *reinterpret_cast<const Loose*>(in + (r + i) * in_row + c);
          const V low01 = __builtin_shufflevector(row[0], row[1], 0, 4, 1, 5);
          const V low23 = __builtin_shufflevector(row[2], row[3], 0, 4, 1, 5);
          const V high01 = __builtin_shufflevector(row[0], row[1], 2, 6, 3, 7);
          const V high23 = __builtin_shufflevector(row[2], row[3], 2, 6, 3, 7);
          T* to = lines + c * kSide + r;
          *reinterpret_cast<V*>(to) = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
          *reinterpret_cast<V*>(to + kSide) = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
          *reinterpret_cast<V*>(to + 2 * kSide) = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
          *reinterpret_cast<V*>(to + 3 * kSide) = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
        }
      }
    } else {
      for (int64_t r = 0; r < kSide; ++r) {
        for (int64_t c = 0; c < kSide; ++c) lines[c * kSide + r] = in[r * in_row + c];
      }
    }
    for (int64_t c = 0; c < kSide; ++c) std::memcpy(out + c * out_row, lines + c * kSide, kLine);
  }

  // Columns [first, last) of the transposition, for all rows.
  template <class T>
  void transpose_strip(const T* in, T* out, const Dim& row, const Dim& column, int64_t first, int64_t last) const {
    constexpr int64_t kSide = kLine / static_cast<int64_t>(sizeof(T));
    for (int64_t i = 0; i < row.size; i += kBlock) {
      const int64_t stop = std::min(i + kBlock, row.size);
      for (int64_t j = first; j < last; j += kSide) {
        const int64_t end = std::min(j + kSide, last);
        for (int64_t r = i; r < stop; r += kSide) {
          const T* source = in + r * row.in + j;
          T* target = out + j * column.out + r;
          if (end - j == kSide && stop - r >= kSide) {
            transpose_square(source, row.in, target, column.out);
            continue;
          }
          const int64_t rows = std::min(kSide, stop - r);
          for (int64_t c = 0; c < end - j; ++c) {
            for (int64_t k = 0; k < rows; ++k) target[c * column.out + k] = source[k * row.in + c];
          }
        }
      }
    }
  }

  // Blocks of dimensions 0 and `fast`, whose pages and lines are still at hand when their neighbours are wanted.
  template <class T>
  void run_blocks(const T* in, T* out, int fast) const {
    const Dim& row = dims_[0];
    const Dim& column = dims_[fast];
    const int64_t strips = (column.size + kBlock - 1) / kBlock;
    const int64_t rest = count_ / (row.size * column.size);
    const int64_t work = count_ * static_cast<int64_t>(2 * sizeof(T));
    parallel_ranges(
        rest * strips, work,
        [&](int64_t begin, int64_t end) {
          for (int64_t k = begin; k < end; ++k) {
            int64_t outer = k / strips;
            int64_t at_in = 0;
            int64_t at_out = 0;
            for (int d = 1; d < rank_; ++d) {
              if (d == fast) continue;
              const int64_t i = outer % dims_[d].size;
              outer /= dims_[d].size;
              at_in += i * dims_[d].in;
              at_out += i * dims_[d].out;
            }
            const int64_t first = k % strips * kBlock;
            transpose_strip(in + at_in, out + at_out, row, column, first, std::min(first + kBlock, column.size));
          }
        },
        1);
  }

  Dim dims_[kMaxDims];
  int rank_ = 0;
  int64_t count_ = 1;
};

// The strides of row-major dimensions, outermost first.
template <class Strides>
void row_major_strides(std::span<const int64_t> dims, Strides& strides) {
  strides.resize(dims.size());
  int64_t step = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = step;
    step *= dims[i];
  }
}

}  // namespace panto::cpu
