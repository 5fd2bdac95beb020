// Builds matrices from diagonals, extracts diagonals and replaces them.
#include <algorithm>

#include "panto/device/cpu/parallel.h"
#include "panto/device/shape/diagonals.h"
#include "panto/device/unquantized.h"

namespace panto {
namespace {

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

const UnquantizedKernel<"CPU", RunMatrixDiag> matrix_diag_kernel("MatrixDiagV3");
const UnquantizedKernel<"CPU", RunMatrixDiagPart> matrix_diag_part_kernel("MatrixDiagPartV3");
const UnquantizedKernel<"CPU", RunMatrixSetDiag> matrix_set_diag_kernel("MatrixSetDiagV3");

}  // namespace
}  // namespace panto
