// Kernels that use triangular factors: Cholesky's and those of Gaussian elimination.
#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/gemm/batch.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/linalg/elimination.h"
#include "panto/device/cpu/linalg/matrices.h"
#include "panto/lib/core/call/call.h"

namespace panto {
namespace {

using namespace matrices;

constexpr std::string_view kInvertible = "input: expected a matrix that can be inverted";
constexpr std::string_view kSingular = "a singular one";

// The row-major lower triangle is, read column-major, the upper triangle of the conjugate matrix. Its column-major
// factor is the wanted factor, row-major.
struct CholeskyKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Matrices m(c.shape(0));
    if (c.out_numel(0) == 0) return;
    const Int n = lapack::to_int(m.rows);
    const T* x = c.data<T>(0);
    T* y = c.out_data<T>(0);
    each_matrix(
        m.count, cube(n) / 3, [] { return 0; },
        [&](int, int64_t i) {
          const T* from = x + i * m.elements();
          T* to = y + i * m.elements();
          for (int64_t row = 0; row < n; ++row) {
            std::copy_n(from + row * n, row + 1, to + row * n);
            std::fill_n(to + row * n + row + 1, n - row - 1, T{});
          }
          if (lapack::potrf('U', n, to, n) == 0) return;
          for (int64_t row = 0; row < n; ++row) std::fill_n(to + row * n, row + 1, not_a_number<T>());
        });
  }
};
const CpuKernel cholesky_kernel("Cholesky", FractionsAndHalf{}, InWider<CholeskyKernel>{});

// LU factors of one matrix at a time: of small ones and where there are wide vectors by our own code, else by LAPACK.
template <class T>
class Elimination {
 public:
  // For right-hand sides of up to `columns` columns.
  Elimination(Device& device, int64_t rows, int64_t columns = 0)
      : n_(lapack::to_int(rows)),
        by_rows_(!kIsComplex<T> && n_ > kSmall && cpu::elimination_is_fast()),
        row_(by_rows_ ? cpu::elimination_row(rows) : rows),
        factors_(device, checked_mul(rows, row_)),
        pivots_(device, rows),
        scratch_(device, by_rows_ ? cpu::elimination_scratch(rows) : 0),
        columns_(device, checked_mul(columns, row_)) {}

  // Factors the row-major `matrix` or its adjoint. Returns false if a pivot is zero. A matrix with NaN gets factors of
  // NaN without BLAS, whose pivot search could return an index outside the matrix.
  bool factor(const T* matrix, bool adjoint) {
    if (has_nan(matrix, int64_t{n_} * n_)) {
      std::fill_n(factors_.data(), n_ * row_, not_a_number<T>());
      for (Int i = 0; i < n_; ++i) pivots_.data()[i] = i + (by_rows_ ? 0 : 1);
      return true;
    }
    if (by_rows_) {
      factor_rows(matrix, adjoint);
    } else {
      to_columns(matrix, n_, n_, adjoint, factors_.data());
      if (is_small()) {
        factor_small();
      } else {
        // Ignores `info`: zero pivots are found below.
        lapack::getrf(n_, n_, factors_.data(), n_, pivots_.data());
      }
    }
    for (int64_t i = 0; i < n_; ++i) {
      if (diagonal(i) == T{}) return false;
    }
    return true;
  }
  // Solves for the row-major right-hand sides.
  void solve(const T* right, Int columns, T* to) const {
    if constexpr (!kIsComplex<T>) {
      if (by_rows_) {
        std::copy_n(right, int64_t{n_} * columns, to);
        cpu::solve_eliminated(n_, factors_.data(), row_, pivots_.data(), to, columns, columns, scratch_.data());
        return;
      }
    }
    transposed(right, n_, columns, columns_.data());
    solve_columns(columns);
    transposed(columns_.data(), columns, n_, to);
  }
  // Writes the row-major inverse.
  void invert(T* to) const {
    T* const x = columns_.data();
    if constexpr (!kIsComplex<T>) {
      if (by_rows_) return cpu::invert_eliminated(n_, factors_.data(), row_, pivots_.data(), to, x);
    }
    std::fill_n(x, int64_t{n_} * n_, T{});
    for (int64_t k = 0; k < n_; ++k) x[k * n_ + k] = 1;
    solve_columns(n_);
    transposed(x, n_, n_, to);
  }
  T diagonal(int64_t i) const { return factors_.data()[i * row_ + i]; }
  // Returns the row that row i was swapped with in step i. (Clamped: after an overflow BLAS may return a wrong index.)
  int64_t pivot(int64_t i) const {
    const Int pivot = pivots_.data()[i];
    return by_rows_ ? pivot : std::clamp<int64_t>(pivot - 1, 0, n_ - 1);
  }
  // Writes the row-major factors.
  void write(T* to) const {
    if (!by_rows_) return transposed(factors_.data(), n_, n_, to);
    for (int64_t i = 0; i < n_; ++i) std::copy_n(factors_.data() + i * row_, n_, to + i * n_);
  }

 private:
  // Calls take longer than such a matrix. (Complex products are faster in LAPACK.)
  static constexpr Int kSmall = 16;
  bool is_small() const { return !kIsComplex<T> && n_ <= kSmall; }

  void factor_rows(const T* matrix, bool adjoint) {
    if constexpr (!kIsComplex<T>) {
      T* const a = factors_.data();
      if (adjoint) transposed(matrix, n_, n_, a, row_);
      for (int64_t i = 0; i < n_ && !adjoint; ++i) std::copy_n(matrix + i * n_, n_, a + i * row_);
      cpu::eliminate(n_, a, row_, pivots_.data(), scratch_.data());
    }
  }
  // Solves for the column-major right-hand sides in columns_, in place.
  void solve_columns(Int count) const {
    T* const x = columns_.data();
    if (!is_small()) {
      lapack::getrs('N', n_, count, factors_.data(), n_, pivots_.data(), x, n_);
      return;
    }
    for (Int j = 0; j < count; ++j) solve_small(x + int64_t{j} * n_);
  }

  // As getrf: partial pivoting, the first of the largest elements.
  void factor_small() {
    T* const a = factors_.data();
    for (Int k = 0; k < n_; ++k) {
      T* const column = a + k * n_;
      Int pivot = k;
      for (Int i = k + 1; i < n_; ++i) {
        if (std::abs(column[i]) > std::abs(column[pivot])) pivot = i;
      }
      pivots_.data()[k] = pivot + 1;
      if (pivot != k) {
        for (Int j = 0; j < n_; ++j) std::swap(a[j * n_ + k], a[j * n_ + pivot]);
      }
      if (column[k] == T{}) continue;
      for (Int i = k + 1; i < n_; ++i) column[i] /= column[k];
      for (Int j = k + 1; j < n_; ++j) subtract(a + j * n_, column, k + 1, n_, a[j * n_ + k]);
    }
  }
  void solve_small(T* x) const {
    const T* const a = factors_.data();
    for (Int k = 0; k < n_; ++k) std::swap(x[k], x[pivot(k)]);
    for (Int k = 0; k < n_; ++k) subtract(x, a + k * n_, k + 1, n_, x[k]);
    for (Int k = n_ - 1; k >= 0; --k) {
      x[k] /= a[k * n_ + k];
      subtract(x, a + k * n_, 0, k, x[k]);
    }
  }
  // Subtracts `factor` times elements [first, last) of `column` from those of `x`.
  static void subtract(T* x, const T* column, Int first, Int last, T factor) {
    for (Int i = first; i < last; ++i) x[i] -= column[i] * factor;
  }

  Int n_;
  bool by_rows_;  // the factors are row-major, and pivots count from 0
  int64_t row_;   // the distance of rows, or of columns
  Scratch<T> factors_;
  Scratch<Int> pivots_;
  Scratch<T> scratch_, columns_;
};

struct MatrixInverseKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Matrices m(c.shape(0));
    if (c.out_numel(0) == 0) return;
    const int64_t n = m.rows;
    const bool adjoint = c.flag("adjoint");
    FirstFault fault;
    each_matrix(
        m.count, 2 * cube(n), [&] { return Elimination<T>(c.device(), n, n); },
        [&](Elimination<T>& elimination, int64_t i) {
          if (!elimination.factor(c.data<T>(0) + i * m.elements(), adjoint)) return fault.at(i);
          elimination.invert(c.out_data<T>(0) + i * m.elements());
        });
    fault.check(m, kInvertible, kSingular);
  }
};
const CpuKernel inverse_kernel("MatrixInverse", FractionsAndHalf{}, InWider<MatrixInverseKernel>{});

struct MatrixSolveKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Matrices m(c.shape(0)), right(c.shape(1));
    if (c.out_numel(0) == 0) return;
    const int64_t n = m.rows;
    const Int columns = lapack::to_int(right.columns);
    const bool adjoint = c.flag("adjoint");
    FirstFault fault;
    each_matrix(
        m.count, cube(n) * 2 / 3 + 2.0 * static_cast<double>(n) * static_cast<double>(right.elements()),
        [&] { return Elimination<T>(c.device(), n, columns); },
        [&](Elimination<T>& elimination, int64_t i) {
          if (!elimination.factor(c.data<T>(0) + i * m.elements(), adjoint)) return fault.at(i);
          elimination.solve(c.data<T>(1) + i * right.elements(), columns, c.out_data<T>(0) + i * right.elements());
        });
    fault.check(m, "matrix: expected one that can be inverted", kSingular);
  }
};
const CpuKernel solve_kernel("MatrixSolve", FractionsAndHalf{}, InWider<MatrixSolveKernel>{});

// A product kept as mantissa and exponent, so that no partial product overflows or underflows.
class ScaledProduct {
 public:
  void multiply(std::complex<double> x) { value_ = scaled(value_ * scaled(x)); }
  std::complex<double> value() const {
    const int64_t exponent = std::clamp<int64_t>(exponent_, -5000, 5000);
    return {std::scalbln(value_.real(), exponent), std::scalbln(value_.imag(), exponent)};
  }

 private:
  std::complex<double> scaled(std::complex<double> x) {
    const double size = std::max(std::abs(x.real()), std::abs(x.imag()));
    if (size == 0 || !std::isfinite(x.real()) || !std::isfinite(x.imag())) return x;
    const int exponent = std::ilogb(size);
    exponent_ += exponent;
    return {std::scalbn(x.real(), -exponent), std::scalbn(x.imag(), -exponent)};
  }

  std::complex<double> value_ = 1;
  int64_t exponent_ = 0;
};

// Converts a complex result to T.
template <class T>
T part_of(std::complex<double> x) {
  if constexpr (kIsComplex<T>) {
    return T(x);
  } else {
    return static_cast<T>(x.real());
  }
}

struct MatrixDeterminantKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Matrices m(c.shape(0));
    each_matrix(
        m.count, cube(m.rows) * 2 / 3, [&] { return Elimination<T>(c.device(), m.rows); },
        [&](Elimination<T>& elimination, int64_t i) {
          ScaledProduct product;
          if (m.rows > 0) elimination.factor(c.data<T>(0) + i * m.elements(), false);
          for (int64_t k = 0; k < m.rows; ++k) {
            const std::complex<double> x(elimination.diagonal(k));
            product.multiply(elimination.pivot(k) == k ? x : -x);
          }
          c.out_data<T>(0)[i] = part_of<T>(product.value());
        });
  }
};
const CpuKernel determinant_kernel("MatrixDeterminant", FractionsAndHalf{}, InWider<MatrixDeterminantKernel>{});

struct LogMatrixDeterminantKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Matrices m(c.shape(0));
    each_matrix(
        m.count, cube(m.rows) * 2 / 3, [&] { return Elimination<T>(c.device(), m.rows); },
        [&](Elimination<T>& elimination, int64_t i) {
          if (m.rows > 0) elimination.factor(c.data<T>(0) + i * m.elements(), false);
          std::complex<double> sign = 1;
          double logarithm = 0;
          for (int64_t k = 0; k < m.rows; ++k) {
            const std::complex<double> x(elimination.diagonal(k));
            const double size = std::abs(x);
            // The sign of zero is zero.
            sign *= size == 0 ? x : x / size;
            if (elimination.pivot(k) != k) sign = -sign;
            logarithm += std::log(size);
          }
          c.out_data<T>(0)[i] = part_of<T>(sign);
          c.out_data<T>(1)[i] = T(static_cast<Real<T>>(logarithm));
        });
  }
};
const CpuKernel log_determinant_kernel("LogMatrixDeterminant", FractionsAndHalf{},
                                       InWider<LogMatrixDeterminantKernel>{});

struct LuKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Matrices m(c.shape(0));
    if (c.out_numel(0) == 0) return;
    const int64_t n = m.rows;
    const bool is_long = c.type("output_idx_type") == kInt64;
    struct Workspace {
      Elimination<T> elimination;
      Scratch<int64_t> rows;
    };
    FirstFault fault;
    each_matrix(
        m.count, cube(n) * 2 / 3,
        [&] { return Workspace{Elimination<T>(c.device(), n), Scratch<int64_t>(c.device(), n)}; },
        [&](Workspace& w, int64_t i) {
          if (!w.elimination.factor(c.data<T>(0) + i * m.elements(), false)) return fault.at(i);
          w.elimination.write(c.out_data<T>(0) + i * m.elements());
          int64_t* rows = w.rows.data();
          for (int64_t k = 0; k < n; ++k) rows[k] = k;
          for (int64_t k = 0; k < n; ++k) std::swap(rows[k], rows[w.elimination.pivot(k)]);
          if (is_long) {
            std::copy_n(rows, n, static_cast<int64_t*>(c.out(1).impl()->data) + i * n);
          } else {
            std::copy_n(rows, n, static_cast<int32_t*>(c.out(1).impl()->data) + i * n);
          }
        });
    fault.check(m, kInvertible, kSingular);
  }
};
const CpuKernel lu_kernel("Lu", FractionsAndHalf{}, InWider<LuKernel>{});

// A X = B is X' A' = B' for the transposed matrices, and column-major the matrices are transposed.
struct MatrixTriangularSolveKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Matrices m(c.shape(0)), right(c.shape(1));
    if (c.out_numel(0) == 0) return;
    const cpu::Batch batch(c.shape(0), c.shape(1), c.out_shape(0));
    const Int n = lapack::to_int(m.rows), columns = lapack::to_int(right.columns);
    const char triangle = c.flag("lower") ? 'U' : 'L', form = c.flag("adjoint") ? 'C' : 'N';
    each_matrix(
        batch.count(), static_cast<double>(n) * static_cast<double>(right.elements()), [] { return 0; },
        [&](int, int64_t i) {
          const auto [at_matrix, at_right] = batch.at(i);
          const T* matrix = c.data<T>(0) + at_matrix * m.elements();
          T* x = c.out_data<T>(0) + i * right.elements();
          std::copy_n(c.data<T>(1) + at_right * right.elements(), right.elements(), x);
          lapack::trsm('R', triangle, form, columns, n, matrix, n, x, columns);
        });
  }
};
const CpuKernel triangular_solve_kernel("MatrixTriangularSolve", AllFractions{},
                                        InWider<MatrixTriangularSolveKernel>{});

}  // namespace
}  // namespace panto
