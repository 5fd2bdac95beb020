// Bands and diagonals of matrices.
#include "panto/device/cuda/array/pick.cuh"
#include "panto/device/cuda/kernel.h"
#include "panto/device/shape/diagonals.h"
#include "panto/device/unquantized.h"

namespace panto {
namespace {

// Each of these finds the input element for an output element; -1 if there is none.
template <class Index>
struct InBand {
  cuda::Divisor<Index> columns, rows;
  Band band;
  __device__ int64_t operator()(int64_t i) const {
    const Index line = columns.quotient(static_cast<Index>(i));
    const auto column = static_cast<int64_t>(static_cast<Index>(i) - line * columns.value());
    const auto row = static_cast<int64_t>(line - rows.quotient(line) * rows.value());
    return column >= band.begin(row) && column < band.end(row) ? i : -1;
  }
};
struct InDiagonals {
  Diagonals diagonals;
  int64_t size;  // of a matrix
  __device__ int64_t operator()(int64_t i) const {
    const int64_t matrix = i / size, at = diagonals.held_at(i - matrix * size);
    return at < 0 ? -1 : matrix * diagonals.in_diagonals() + at;
  }
};
struct InMatrix {
  Diagonals diagonals;
  int64_t size;  // of a matrix' diagonals
  __device__ int64_t operator()(int64_t i) const {
    const int64_t matrix = i / size, at = diagonals.place_of(i - matrix * size);
    return at < 0 ? -1 : matrix * diagonals.in_matrix() + at;
  }
};

struct RunBandPart {
  template <class T>
  static void run(KernelContext& c) {
    const int64_t n = c.out_numel(0);
    if (n == 0) return;
    const Band band(c);
    cuda::with_index(n, [&]<class Index>() {
      const InBand<Index> from{cuda::Divisor<Index>(band.columns), cuda::Divisor<Index>(band.rows), band};
      cuda::pick<T>(cuda::device_of(c), n, from, c.data<T>(0), nullptr, c.out_data<T>(0));
    });
  }
};

struct RunMatrixDiag {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Diagonals diagonals(c, 1, c.out_shape(0), c.shape(0));
    const InDiagonals from{diagonals, diagonals.in_matrix()};
    cuda::pick<T>(cuda::device_of(c), c.out_numel(0), from, c.data<T>(0), c.data<T>(4), c.out_data<T>(0));
  }
};

struct RunMatrixDiagPart {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Diagonals diagonals(c, 1, c.shape(0), c.out_shape(0));
    const InMatrix from{diagonals, diagonals.in_diagonals()};
    cuda::pick<T>(cuda::device_of(c), c.out_numel(0), from, c.data<T>(0), c.data<T>(2), c.out_data<T>(0));
  }
};

template <class T>
struct SetDiagonals {
  InDiagonals from;
  const T* matrices;
  const T* diagonals;
  T* out;
  __device__ void operator()(int64_t i) const {
    const int64_t at = from(i);
    out[i] = at < 0 ? matrices[i] : diagonals[at];
  }
};

struct RunMatrixSetDiag {
  template <class T>
  static void run(KernelContext& c) {
    if (c.out_numel(0) == 0) return;
    const Diagonals diagonals(c, 2, c.out_shape(0), c.shape(1));
    const InDiagonals from{diagonals, diagonals.in_matrix()};
    cuda::for_each_index(cuda::device_of(c), c.out_numel(0),
                         SetDiagonals<T>{from, c.data<T>(0), c.data<T>(1), c.out_data<T>(0)});
  }
};

const UnquantizedKernel<"GPU", RunBandPart> band_part_kernel("MatrixBandPart");
const UnquantizedKernel<"GPU", RunMatrixDiag> matrix_diag_kernel("MatrixDiagV3");
const UnquantizedKernel<"GPU", RunMatrixDiagPart> matrix_diag_part_kernel("MatrixDiagPartV3");
const UnquantizedKernel<"GPU", RunMatrixSetDiag> matrix_set_diag_kernel("MatrixSetDiagV3");

}  // namespace
}  // namespace panto
