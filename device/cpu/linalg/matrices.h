// Batches of matrices (the last two dimensions of a tensor), for kernels that call LAPACK on each matrix.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string_view>

#include "panto/device/cpu/linalg/lapack.h"
#include "panto/device/cpu/one_thread.h"
#include "panto/device/cpu/parallel.h"
#include "panto/device/scratch.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/step/cancel.h"
#include "panto/lib/core/tensor/dtype.h"
#include "panto/lib/core/tensor/half.h"
#include "panto/lib/core/tensor/shape.h"

namespace panto::matrices {

using lapack::Int;
using lapack::kIsComplex;
using lapack::Real;

// The types T of ops; halves are computed in float.
using Complexes = TypeList<std::complex<float>, std::complex<double>>;
using Fractions = TypeList<float, double, std::complex<float>, std::complex<double>>;
using FractionsAndHalf = TypeList<float, double, Half, std::complex<float>, std::complex<double>>;
using AllFractions = TypeList<float, double, Half, BFloat16, std::complex<float>, std::complex<double>>;

template <class T>
T conjugate(T x) {
  if constexpr (kIsComplex<T>) {
    return std::conj(x);
  } else {
    return x;
  }
}
template <class T>
Real<T> real_part(T x) {
  if constexpr (kIsComplex<T>) {
    return x.real();
  } else {
    return x;
  }
}
template <class T>
bool is_finite(T x) {
  if constexpr (kIsComplex<T>) {
    return std::isfinite(x.real()) && std::isfinite(x.imag());
  } else {
    return std::isfinite(x);
  }
}
template <class T>
bool all_finite(const T* x, int64_t n) {
  return std::all_of(x, x + n, [](T v) { return is_finite(v); });
}
template <class T>
bool has_nan(const T* x, int64_t n) {
  return std::any_of(x, x + n, [](T v) { return v != v; });
}
// Returns NaN; for a complex type both parts are NaN.
template <class T>
constexpr T not_a_number() {
  constexpr auto kNaN = std::numeric_limits<Real<T>>::quiet_NaN();
  if constexpr (kIsComplex<T>) {
    return {kNaN, kNaN};
  } else {
    return kNaN;
  }
}

struct Matrices {
  int64_t count = 1, rows, columns;

  explicit Matrices(const Shape& shape) : rows(shape.dim(shape.rank() - 2)), columns(shape.dim(shape.rank() - 1)) {
    for (int i = 0; i + 2 < shape.rank(); ++i) count = checked_mul(count, shape.dim(i));
  }
  int64_t elements() const { return rows * columns; }
  int64_t shorter() const { return std::min(rows, columns); }
};

// Converts a row-major [rows, columns] matrix to column-major, or a column-major [columns, rows] matrix to row-major.
// Rows of `to` are to_row elements apart.
template <bool kConjugate = false, class T>
void transposed(const T* from, int64_t rows, int64_t columns, T* to, int64_t to_row) {
  constexpr int64_t kBlock = 16;
  for (int64_t i = 0; i < rows; i += kBlock) {
    const int64_t last_row = std::min(rows, i + kBlock);
    for (int64_t j = 0; j < columns; j += kBlock) {
      const int64_t last_column = std::min(columns, j + kBlock);
      for (int64_t c = j; c < last_column; ++c) {
        for (int64_t r = i; r < last_row; ++r) {
          const T x = from[r * columns + c];
          to[c * to_row + r] = kConjugate ? conjugate(x) : x;
        }
      }
    }
  }
}
template <bool kConjugate = false, class T>
void transposed(const T* from, int64_t rows, int64_t columns, T* to) {
  transposed<kConjugate>(from, rows, columns, to, rows);
}
// Converts a row-major [rows, columns] matrix, or its adjoint, to column-major.
template <class T>
void to_columns(const T* from, int64_t rows, int64_t columns, bool adjoint, T* to) {
  if (!adjoint) return transposed(from, rows, columns, to);
  std::transform(from, from + rows * columns, to, [](T x) { return conjugate(x); });
}

// Finds the first faulty matrix of a batch; the same one whatever the number of threads.
class FirstFault {
 public:
  void at(int64_t matrix) {
    int64_t seen = first_.load(std::memory_order_relaxed);
    while (matrix < seen && !first_.compare_exchange_weak(seen, matrix, std::memory_order_relaxed)) {
    }
  }
  // Throws InvalidArgument `<what>, got <but>` if there was a fault, with the matrix's number if there are several.
  void check(const Matrices& m, std::string_view what, std::string_view but) const {
    const int64_t first = first_.load(std::memory_order_relaxed);
    if (first == INT64_MAX) return;
    if (m.count == 1) invalid("{}, got {}", whole(what), whole(but));
    invalid("{}, got {} (number {} of {})", whole(what), whole(but), first, m.count);
  }

 private:
  std::atomic<int64_t> first_ = INT64_MAX;
};

// Work of `flops` operations on each of `count` matrices, in the units of parallel_ranges, plus the cost of LAPACK
// calls.
inline int64_t work_of(double flops, int64_t count) {
  constexpr double kCall = 2000;
  return static_cast<int64_t>(std::min(0x1p62, (flops + kCall) * static_cast<double>(count)));
}
inline double cube(int64_t n) {
  const auto x = static_cast<double>(n);
  return x * x * x;
}

// Calls body(workspace, i) for i in [0, count). `make` creates a workspace for each participating thread. One thread
// computes all of a matrix, so results do not depend on the number of threads.
template <class Make, class Body>
void each_matrix(int64_t count, double flops, const Make& make, const Body& body) {
  if (count == 0) return;
  cpu::parallel_for(
      count, work_of(flops, count),
      [&](int64_t begin, int64_t end) {
        const cpu::OneThread scope;
        constexpr double kPiece = 1 << 24;
        const auto piece = std::max<int64_t>(1, static_cast<int64_t>(kPiece / (flops + 1)));
        auto workspace = make();
        for (int64_t i = begin; i < end; ++i) {
          if ((i - begin) % piece == 0) throw_if_cancelled();
          body(workspace, i);
        }
      },
      1);
}

}  // namespace panto::matrices
