// Diagonals of matrices, which are the last two dimensions of a tensor, on every device.
#pragma once

#include <string_view>

#include "panto/device/math/vocabulary.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/ops/array/values.h"

namespace panto {

// MatrixBandPart: the elements that it keeps.
struct Band {
  int64_t rows, columns, lower, upper;

  explicit Band(const KernelContext& c)
      : rows(c.shape(0).dim(c.shape(0).rank() - 2)),
        columns(c.shape(0).dim(c.shape(0).rank() - 1)),
        lower(host_integer(c.in(1))),
        upper(host_integer(c.in(2))) {}

  // The columns of a row that are kept: from begin() up to end(), none if begin() is not below it. Both compare before
  // they add, because the user's bounds may be too large to add.
  PANTO_FN int64_t begin(int64_t row) const { return lower < 0 || lower >= row ? 0 : row - lower; }
  PANTO_FN int64_t end(int64_t row) const {
    return upper < 0 || upper >= columns || row + upper + 1 > columns ? columns : row + upper + 1;
  }
};

// Maps elements of diagonals between their offsets in a matrix and in the tensor that holds the diagonals. An offset of
// -1 means that there is no such element.
class Diagonals {
 public:
  // `k`: the input with the range of diagonals; `matrices`: shape of the matrices; `held`: shape of the diagonals'
  // tensor.
  Diagonals(const KernelContext& c, int k, const Shape& matrices, const Shape& held)
      : lower_(host_integer(c.in(k))),
        upper_(host_integer(c.in(k), c.numel(k) - 1)),
        rows_(matrices.dim(matrices.rank() - 2)),
        columns_(matrices.dim(matrices.rank() - 1)),
        longest_(held.dim(held.rank() - 1)) {
    const std::string_view align = c.text("align");
    left_above_ = align.starts_with("LEFT");
    left_below_ = align.ends_with("LEFT");
  }

  PANTO_FN int64_t in_matrix() const { return rows_ * columns_; }
  PANTO_FN int64_t in_diagonals() const { return (upper_ - lower_ + 1) * longest_; }

  // The offset in the diagonals of the matrix' element at `place`.
  PANTO_FN int64_t held_at(int64_t place) const {
    const int64_t row = place / columns_, column = place - row * columns_, d = column - row;
    if (d < lower_ || d > upper_) return -1;
    return first(d) + (d < 0 ? column : row);
  }
  // The offset in the matrix of the diagonals' element `element`.
  PANTO_FN int64_t place_of(int64_t element) const {
    const int64_t above = element / longest_, d = upper_ - above, i = element - first(d);
    if (i < 0 || i >= length(d)) return -1;
    return (d < 0 ? i - d : i) * columns_ + (d > 0 ? i + d : i);
  }

  // Calls f(offset in the matrix, offset in the diagonals) for each element.
  template <class F>
  void each(const F& f) const {
    for (int64_t d = upper_; d >= lower_; --d) {
      const int64_t place = d < 0 ? -d * columns_ : d, n = length(d), from = first(d);
      for (int64_t i = 0; i < n; ++i) f(place + i * (columns_ + 1), from + i);
    }
  }

 private:
  // The number of elements of diagonal d. Negative if it lies outside of the matrix.
  PANTO_FN int64_t length(int64_t d) const {
    const int64_t down = rows_ + (d < 0 ? d : 0), along = columns_ - (d > 0 ? d : 0);
    return down < along ? down : along;
  }
  // The offset of its first element in the diagonals' tensor.
  PANTO_FN int64_t first(int64_t d) const {
    const bool left = (d >= 0 && left_above_) || (d <= 0 && left_below_);
    return (upper_ - d) * longest_ + (left ? 0 : longest_ - length(d));
  }

  int64_t lower_, upper_, rows_, columns_, longest_;
  bool left_above_, left_below_;
};

}  // namespace panto
