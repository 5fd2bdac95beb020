// Builds matrices from diagonals, extracts diagonals and replaces them.
#include <algorithm>
#include <string_view>

#include "panto/device/cpu/array/unquantized.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/ops/array/values.h"
#include "panto/lib/ops/array_types.h"

namespace panto {
namespace {

// Maps elements of diagonals between their offsets in a matrix and in the tensor that holds the diagonals.
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

  int64_t in_matrix() const { return rows_ * columns_; }
  int64_t in_diagonals() const { return (upper_ - lower_ + 1) * longest_; }

  // Calls f(offset in the matrix, offset in the diagonals) for each element.
  template <class F>
  void each(const F& f) const {
    for (int64_t d = upper_; d >= lower_; --d) {
      const int64_t row = -std::min<int64_t>(d, 0), column = std::max<int64_t>(d, 0);
      const int64_t length = std::min(rows_ - row, columns_ - column);
      const bool left = (d >= 0 && left_above_) || (d <= 0 && left_below_);
      const int64_t first = (upper_ - d) * longest_ + (left ? 0 : longest_ - length);
      for (int64_t i = 0; i < length; ++i) f((row + i) * columns_ + column + i, first + i);
    }
  }

 private:
  int64_t lower_, upper_, rows_, columns_, longest_;
  bool left_above_, left_below_;
};

// Calls body(m) for each matrix m.
template <class T, class Body>
void each_matrix(int64_t count, int64_t elements, const Body& body) {
  cpu::parallel_ranges(
      count, count * elements * static_cast<int64_t>(2 * sizeof(T)),
      [&](int64_t begin, int64_t end) {
        for (int64_t m = begin; m < end; ++m) body(m);
      },
      1);
}

struct RunMatrixDiag {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Diagonals diagonals(c, 1, c.out_shape(0), c.shape(0));
    const int64_t size = diagonals.in_matrix();
    const T padding = *c.data<T>(4);
    each_matrix<T>(c.out_numel(0) / size, size, [&](int64_t m) {
      const T* from = c.data<T>(0) + m * diagonals.in_diagonals();
      T* to = c.out_data<T>(0) + m * size;
      std::fill_n(to, size, padding);
      diagonals.each([&](int64_t place, int64_t element) { to[place] = from[element]; });
    });
  }
};

struct RunMatrixDiagPart {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Diagonals diagonals(c, 1, c.shape(0), c.out_shape(0));
    const int64_t size = diagonals.in_diagonals();
    const T padding = *c.data<T>(2);
    each_matrix<T>(c.out_numel(0) / size, size, [&](int64_t m) {
      const T* from = c.data<T>(0) + m * diagonals.in_matrix();
      T* to = c.out_data<T>(0) + m * size;
      std::fill_n(to, size, padding);
      diagonals.each([&](int64_t place, int64_t element) { to[element] = from[place]; });
    });
  }
};

struct RunMatrixSetDiag {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Diagonals diagonals(c, 2, c.out_shape(0), c.shape(1));
    const int64_t size = diagonals.in_matrix();
    each_matrix<T>(c.out_numel(0) / size, size, [&](int64_t m) {
      const T* from = c.data<T>(1) + m * diagonals.in_diagonals();
      T* to = c.out_data<T>(0) + m * size;
      std::copy_n(c.data<T>(0) + m * size, size, to);
      diagonals.each([&](int64_t place, int64_t element) { to[place] = from[element]; });
    });
  }
};

// Diag and DiagPart see a tensor as an n x n matrix: the first half of its dimensions are the rows, the second half the
// columns.
struct RunDiag {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t n = c.numel(0);
    T* out = c.out_data<T>(0);
    std::fill_n(out, c.out_numel(0), T{});
    for (int64_t i = 0; i < n; ++i) out[i * (n + 1)] = c.data<T>(0)[i];
  }
};

struct RunDiagPart {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t n = c.out_numel(0);
    for (int64_t i = 0; i < n; ++i) c.out_data<T>(0)[i] = c.data<T>(0)[i * (n + 1)];
  }
};

const CpuKernel diag_kernel("Diag", types::of<"Diag">{}, RunDiag{});
const CpuKernel diag_part_kernel("DiagPart", types::of<"DiagPart">{}, RunDiagPart{});
const UnquantizedKernel<RunMatrixDiag> matrix_diag_kernel("MatrixDiagV3");
const UnquantizedKernel<RunMatrixDiagPart> matrix_diag_part_kernel("MatrixDiagPartV3");
const UnquantizedKernel<RunMatrixSetDiag> matrix_set_diag_kernel("MatrixSetDiagV3");

}  // namespace
}  // namespace panto
