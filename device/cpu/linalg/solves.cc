// Kernels of linear least squares and of banded equations.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/gemm/batch.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/linalg/matrices.h"
#include "panto/device/op_kernels.h"
#include "panto/lib/core/call/call.h"

namespace panto {
namespace {

using namespace matrices;

// Solves by normal equations and Cholesky's factor if `fast`, else by LAPACK's complete orthogonal factorization.
template <class T>
class LeastSquares {
 public:
  using R = Real<T>;

  LeastSquares(Device& device, int64_t rows, int64_t columns, int64_t right, bool fast)
      : rows_(lapack::to_int(rows)),
        columns_(lapack::to_int(columns)),
        right_(lapack::to_int(right)),
        fast_(fast),
        a_(device, checked_mul(rows, columns)),
        b_(device, checked_mul(longer(), right)),
        x_(device, fast ? checked_mul(shorter(), right) : 0),
        gram_(device, fast ? checked_mul(shorter(), shorter()) : 0),
        order_(device, fast ? 0 : columns),
        length_(fast ? 0 : wanted()),
        work_(device, length_),
        real_work_(device, fast ? 0 : checked_mul(2, columns)) {}

  // Returns false if the factor does not exist.
  bool solve(const T* matrix, const T* right, double regularizer, T* out) {
    transposed(matrix, rows_, columns_, a_.data());
    return fast_ ? by_gram(right, static_cast<R>(regularizer), out) : by_factors(right, out);
  }

 private:
  Int shorter() const { return std::min(rows_, columns_); }
  Int longer() const { return std::max(rows_, columns_); }

  bool by_gram(const T* right, R regularizer, T* out) {
    T *a = a_.data(), *b = b_.data(), *gram = gram_.data(), *x = x_.data();
    const bool tall = rows_ >= columns_;
    const Int n = shorter();
    lapack::gemm(tall ? 'C' : 'N', tall ? 'N' : 'C', n, n, longer(), T(1), a, rows_, a, rows_, T{}, gram, n);
    for (int64_t i = 0; i < n; ++i) gram[i * n + i] += regularizer;
    if (lapack::potrf('L', n, gram, n) != 0) return false;
    transposed(right, rows_, right_, b);
    if (tall) {
      lapack::gemm('C', 'N', n, right_, rows_, T(1), a, rows_, b, rows_, T{}, x, n);
    } else {
      std::copy_n(b, int64_t{n} * right_, x);
    }
    lapack::trsm('L', 'L', 'N', n, right_, gram, n, x, n);
    lapack::trsm('L', 'L', 'C', n, right_, gram, n, x, n);
    if (!tall) {
      lapack::gemm('C', 'N', columns_, right_, rows_, T(1), a, rows_, x, n, T{}, b, columns_);
      x = b;
    }
    transposed(x, right_, columns_, out);
    return true;
  }

  bool by_factors(const T* right, T* out) {
    const Int ld = longer();
    T* b = b_.data();
    std::fill_n(b, int64_t{ld} * right_, T{});
    for (int64_t row = 0; row < rows_; ++row) {
      for (int64_t k = 0; k < right_; ++k) b[k * ld + row] = right[row * right_ + k];
    }
    std::fill_n(order_.data(), columns_, 0);
    const R smallest = std::numeric_limits<R>::epsilon() * static_cast<R>(shorter());
    if (lapack::gelsy(rows_, columns_, right_, a_.data(), rows_, b, ld, order_.data(), smallest, work_.data(), length_,
                      real_work_.data()) != 0) {
      return false;
    }
    for (int64_t row = 0; row < columns_; ++row) {
      for (int64_t k = 0; k < right_; ++k) out[row * right_ + k] = b[k * ld + row];
    }
    return true;
  }
  Int wanted() const {
    T told{};
    lapack::gelsy(rows_, columns_, right_, nullptr, rows_, nullptr, longer(), nullptr, R{}, &told, -1, nullptr);
    return lapack::length_of(told);
  }

  Int rows_, columns_, right_;
  bool fast_;
  Scratch<T> a_, b_, x_, gram_;
  Scratch<Int> order_;
  Int length_;
  Scratch<T> work_;
  Scratch<R> real_work_;
};

struct MatrixSolveLsKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Matrices m(c.shape(0)), right(c.shape(1)), out(c.out_shape(0));
    const double regularizer = c.data<double>(2)[0];
    if (!(regularizer >= 0)) invalid("l2_regularizer: expected at least 0, got {}", regularizer);
    if (c.out_numel(0) == 0) return;
    if (m.rows == 0) return (void)std::fill_n(c.out_data<T>(0), c.out_numel(0), T{});
    const bool fast = c.flag("fast");
    FirstFault fault;
    each_matrix(
        m.count, 4.0 * static_cast<double>(m.elements()) * static_cast<double>(m.shorter() + right.columns),
        [&] { return LeastSquares<T>(c.device(), m.rows, m.columns, right.columns, fast); },
        [&](LeastSquares<T>& w, int64_t i) {
          const T *a = c.data<T>(0) + i * m.elements(), *b = c.data<T>(1) + i * right.elements();
          T* x = c.out_data<T>(0) + i * out.elements();
          if (!all_finite(a, m.elements()) || !all_finite(b, right.elements())) {
            std::fill_n(x, out.elements(), not_a_number<T>());
          } else if (!w.solve(a, b, regularizer, x)) {
            fault.at(i);
          }
        });
    fault.check(m, "matrix: expected one of full rank (others with fast = false, or a larger l2_regularizer)",
                "one of a lower rank, or close to it");
  }
};
const CpuKernel solve_ls_kernel("MatrixSolveLs", FractionsAndHalf{}, InWider<MatrixSolveLsKernel>{});

// ---- Three diagonals ----------------------------------------------------------------------------------------------

// One matrix, given as three rows: the diagonal above, the main diagonal and the one below, whose first element is
// ignored. Elimination is in place; rows are exchanged if that gives the larger pivot.
template <class T>
class Tridiagonal {
 public:
  Tridiagonal(Device& device, int64_t n) : n_(n), rows_(device, checked_mul(4, n)) {}

  // If a pivot is zero, all of x is NaN; with `perturb` a small number replaces the pivot.
  void solve(const T* diagonals, const T* right, int64_t columns, bool exchange, bool perturb, T* x) {
    std::copy_n(right, n_ * columns, x);
    T *above = rows_.data(), *main = above + n_, *below = main + n_, *second = below + n_;
    std::copy_n(diagonals, 3 * n_, above);
    std::fill_n(second, n_, T{});
    above[n_ - 1] = {};
    below[0] = {};
    Real<T> largest = 0;
    for (int64_t i = 0; i < 3 * n_; ++i) largest = std::max(largest, std::abs(above[i]));
    using Limits = std::numeric_limits<Real<T>>;
    const T small = largest > 0 ? Limits::epsilon() * largest : Limits::min();
    for (int64_t i = 0; i < n_; ++i) {
      const bool last = i + 1 == n_;
      if (exchange && !last && std::abs(below[i + 1]) > std::abs(main[i])) {
        std::swap(main[i], below[i + 1]);
        std::swap(above[i], main[i + 1]);
        std::swap(second[i], above[i + 1]);
        std::swap_ranges(x + i * columns, x + (i + 1) * columns, x + (i + 1) * columns);
      }
      if (main[i] == T{}) {
        if (!perturb) return (void)std::fill_n(x, n_ * columns, not_a_number<T>());
        main[i] = small;
      }
      if (last) break;
      const T factor = below[i + 1] / main[i];
      main[i + 1] -= factor * above[i];
      above[i + 1] -= factor * second[i];
      for (int64_t k = 0; k < columns; ++k) x[(i + 1) * columns + k] -= factor * x[i * columns + k];
    }
    for (int64_t i = n_ - 1; i >= 0; --i) {
      for (int64_t k = 0; k < columns; ++k) {
        T& value = x[i * columns + k];
        if (i + 1 < n_) value -= above[i] * x[(i + 1) * columns + k];
        if (i + 2 < n_) value -= second[i] * x[(i + 2) * columns + k];
        value /= main[i];
      }
    }
  }

 private:
  int64_t n_;
  Scratch<T> rows_;
};

struct TridiagonalSolveKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Matrices diagonals(c.shape(0)), right(c.shape(1));
    if (c.out_numel(0) == 0) return;
    const bool exchange = c.flag("partial_pivoting"), perturb = c.flag("perturb_singular");
    each_matrix(
        right.count, 12.0 * static_cast<double>(right.elements()),
        [&] { return Tridiagonal<T>(c.device(), right.rows); },
        [&](Tridiagonal<T>& w, int64_t i) {
          w.solve(c.data<T>(0) + i * diagonals.elements(), c.data<T>(1) + i * right.elements(), right.columns, exchange,
                  perturb, c.out_data<T>(0) + i * right.elements());
        });
  }
};
const CpuKernel tridiagonal_solve_kernel("TridiagonalSolve", Fractions{}, TridiagonalSolveKernel{});

struct TridiagonalMatMulKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Matrices m(c.shape(3));
    if (c.out_numel(0) == 0) return;
    const int64_t n = m.rows, columns = m.columns;
    each_matrix(
        m.count, 6.0 * static_cast<double>(m.elements()), [] { return 0; },
        [&](int, int64_t i) {
          const T *above = c.data<T>(0) + i * n, *main = c.data<T>(1) + i * n, *below = c.data<T>(2) + i * n;
          const T* x = c.data<T>(3) + i * m.elements();
          T* y = c.out_data<T>(0) + i * m.elements();
          for (int64_t row = 0; row < n; ++row, x += columns, y += columns) {
            for (int64_t k = 0; k < columns; ++k) {
              T sum = main[row] * x[k];
              if (row + 1 < n) sum += above[row] * x[k + columns];
              if (row > 0) sum += below[row] * x[k - columns];
              y[k] = sum;
            }
          }
        });
  }
};
const CpuKernel tridiagonal_mat_mul_kernel("TridiagonalMatMul", Fractions{}, TridiagonalMatMulKernel{});

// ---- Banded triangles ---------------------------------------------------------------------------------------------

// `bands` has a row for each diagonal, the uppermost first; the element of matrix row i is at index i.
template <class T>
struct Bands {
  const T* bands;
  int64_t count, n;
  bool lower;

  // Returns the element in `row` that is `d` places from the main diagonal.
  T at(int64_t row, int64_t d) const { return bands[(lower ? d : count - 1 - d) * n + row]; }
  // Replaces x by A^-1 x or (A')^-1 x. Returns false if the diagonal has a zero.
  bool solve(bool adjoint, int64_t columns, T* x) const {
    const bool forwards = lower != adjoint;
    for (int64_t step = 0; step < n; ++step) {
      const int64_t i = forwards ? step : n - 1 - step;
      const int64_t direction = forwards ? -1 : 1;  // towards the solved rows
      for (int64_t d = 1; d < std::min(count, step + 1); ++d) {
        const int64_t other = i + direction * d;
        // The adjoint's element (i, other) is the conjugate of A's (other, i).
        const T factor = adjoint ? conjugate(at(other, d)) : at(i, d);
        for (int64_t k = 0; k < columns; ++k) x[i * columns + k] -= factor * x[other * columns + k];
      }
      const T pivot = adjoint ? conjugate(at(i, 0)) : at(i, 0);
      if (pivot == T{}) return false;
      for (int64_t k = 0; k < columns; ++k) x[i * columns + k] /= pivot;
    }
    return true;
  }
};

struct BandedTriangularSolveKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Matrices m(c.shape(0)), right(c.shape(1));
    if (c.out_numel(0) == 0) return;
    const cpu::Batch batch(c.shape(0), c.shape(1), c.out_shape(0));
    const bool lower = c.flag("lower"), adjoint = c.flag("adjoint");
    FirstFault fault;
    each_matrix(
        batch.count(), 2.0 * static_cast<double>(m.elements()) * static_cast<double>(right.columns), [] { return 0; },
        [&](int, int64_t i) {
          const auto [at_matrix, at_right] = batch.at(i);
          T* x = c.out_data<T>(0) + i * right.elements();
          std::copy_n(c.data<T>(1) + at_right * right.elements(), right.elements(), x);
          const Bands<T> bands{c.data<T>(0) + at_matrix * m.elements(), m.rows, m.columns, lower};
          if (!bands.solve(adjoint, right.columns, x)) fault.at(at_matrix);
        });
    fault.check(m, "bands: expected those of a matrix that can be inverted", "a zero on the diagonal");
  }
};
const CpuKernel banded_solve_kernel("BandedTriangularSolve", FractionsAndHalf{},
                                    InWider<BandedTriangularSolveKernel>{});

// ---- Vectors ------------------------------------------------------------------------------------------------------

// Integers are computed as unsigned of at least 32 bits, so that they wrap.
struct CrossKernel {
  template <class T>
  static void run(KernelContext& c) {
    using W = std::conditional_t<std::is_integral_v<T> && sizeof(T) < sizeof(uint32_t), uint32_t, T>;
    const T *a = c.data<T>(0), *b = c.data<T>(1);
    T* y = c.out_data<T>(0);
    const auto part = [](W p, W q, W r, W s) { return static_cast<T>(p * q - r * s); };
    cpu::parallel_ranges(c.out_numel(0) / 3, c.out_numel(0) * static_cast<int64_t>(3 * sizeof(T)),
                         [&](int64_t begin, int64_t end) {
                           for (int64_t i = 3 * begin; i < 3 * end; i += 3) {
                             y[i] = part(a[i + 1], b[i + 2], a[i + 2], b[i + 1]);
                             y[i + 1] = part(a[i + 2], b[i], a[i], b[i + 2]);
                             y[i + 2] = part(a[i], b[i + 1], a[i + 1], b[i]);
                           }
                         });
  }
};
struct CrossOfAny {
  template <class T>
  static void run(KernelContext& c) {
    if constexpr (std::is_integral_v<T>) {
      CrossKernel::run<std::make_unsigned_t<T>>(c);
    } else {
      CrossKernel::run<T>(c);
    }
  }
};
const CpuKernel cross_kernel("Cross", types::reals{}, InWider<CrossOfAny>{});

}  // namespace
}  // namespace panto
