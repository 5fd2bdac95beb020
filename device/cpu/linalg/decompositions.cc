// Kernels of orthogonal decompositions, singular values and eigenvalues, by LAPACK.
#include <algorithm>
#include <complex>
#include <cstdint>
#include <optional>
#include <string_view>

#include "panto/device/cpu/elementwise/in_wider.h"
#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/linalg/matrices.h"
#include "panto/lib/core/call/call.h"

namespace panto {
namespace {

using namespace matrices;

template <class T>
void fill_identity(T* to, int64_t rows, int64_t columns) {
  std::fill_n(to, rows * columns, T{});
  for (int64_t i = 0; i < std::min(rows, columns); ++i) to[i * columns + i] = 1;
}

// Upper bound of the work space of routines that compute its length in 32 bits. Throws if that would overflow.
Int square_work(int64_t shorter, int64_t longer) {
  const int64_t squares = checked_mul(shorter, checked_add(checked_mul(shorter, 5), checked_mul(longer, 3)));
  return lapack::to_int(checked_add(squares, checked_mul(checked_add(shorter, longer), 128)));
}

template <class T>
struct QrWorkspace {
  Scratch<T> a, tau, work;
  Int length;

  static QrWorkspace make(Device& device, Int rows, Int columns, Int q_columns) {
    const Int shorter = std::min(rows, columns);
    square_work(shorter, std::max(rows, columns));
    T told{}, told_of_q{};
    lapack::geqrf(rows, columns, nullptr, rows, nullptr, &told, -1);
    lapack::unitary_of_qr(rows, q_columns, shorter, nullptr, rows, nullptr, &told_of_q, -1);
    const Int length = std::max(lapack::length_of(told), lapack::length_of(told_of_q));
    return {Scratch<T>(device, checked_mul(rows, std::max(columns, q_columns))), Scratch<T>(device, shorter),
            Scratch<T>(device, length), length};
  }
};

struct QrKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Matrices m(c.shape(0)), of_q(c.out_shape(0));
    T *q = c.out_data<T>(0), *r = c.out_data<T>(1);
    if (m.elements() == 0) {
      for (int64_t i = 0; i < of_q.count; ++i) fill_identity(q + i * of_q.elements(), of_q.rows, of_q.columns);
      return;
    }
    const Int rows = lapack::to_int(m.rows), columns = lapack::to_int(m.columns);
    const Int q_columns = lapack::to_int(of_q.columns), shorter = std::min(rows, columns);
    const double flops = 4.0 * rows * static_cast<double>(columns) * static_cast<double>(q_columns);
    each_matrix(
        m.count, flops, [&] { return QrWorkspace<T>::make(c.device(), rows, columns, q_columns); },
        [&](QrWorkspace<T>& w, int64_t i) {
          T* a = w.a.data();
          transposed(c.data<T>(0) + i * m.elements(), rows, columns, a);
          lapack::geqrf(rows, columns, a, rows, w.tau.data(), w.work.data(), w.length);
          T* to = r + i * int64_t{q_columns} * columns;
          for (int64_t row = 0; row < q_columns; ++row) {
            for (int64_t k = 0; k < columns; ++k) to[row * columns + k] = row <= k ? a[k * rows + row] : T{};
          }
          lapack::unitary_of_qr(rows, q_columns, shorter, a, rows, w.tau.data(), w.work.data(), w.length);
          transposed(a, q_columns, rows, q + i * of_q.elements());
        });
  }
};
const CpuKernel qr_kernel("Qr", FractionsAndHalf{}, InWider<QrKernel>{});

constexpr std::string_view kNoConvergence = "one for which the iteration does not end";

template <class T>
class SingularValues {
 public:
  using R = Real<T>;

  // `job`: the vectors to compute: 'N' none, 'S' as many as there are singular values, 'A' all.
  SingularValues(Device& device, char job, Int rows, Int columns)
      : device_(device),
        job_(job),
        rows_(rows),
        columns_(columns),
        u_columns_(job == 'A' ? rows : std::min(rows, columns)),
        v_columns_(job == 'A' ? columns : std::min(rows, columns)),
        most_(square_work(shorter(), std::max(rows, columns))),
        a_(device, int64_t{rows} * columns),
        u_(device, job == 'N' ? 0 : int64_t{rows} * u_columns_),
        v_(device, job == 'N' ? 0 : int64_t{columns} * v_columns_),
        s_(device, shorter()),
        real_work_(device, kIsComplex<T> ? most_ : 0),
        integers_(device, checked_mul(8, shorter())),
        length_(wanted()),
        work_(device, length_) {}

  // Returns false if LAPACK does not converge.
  bool decompose(const T* matrix) {
    transposed(matrix, rows_, columns_, a_.data());
    if (lapack::gesdd(job_, rows_, columns_, a_.data(), rows_, s_.data(), u_.data(), rows_, v_.data(), v_columns_,
                      work_.data(), length_, real_work_.data(), integers_.data()) == 0) {
      return true;
    }
    // Divide and conquer (gesdd) is faster, but fails where the QR iteration (gesvd) may converge.
    transposed(matrix, rows_, columns_, a_.data());
    T told{};
    const auto iterate = [&](T* work, Int length) {
      return lapack::gesvd(job_, rows_, columns_, a_.data(), rows_, s_.data(), u_.data(), rows_, v_.data(), v_columns_,
                           work, length, real_work_.data());
    };
    iterate(&told, -1);
    const Int length = lapack::length_of(told);
    const Scratch<T> work(device_, length);
    return iterate(work.data(), length) == 0;
  }
  const R* values() const { return s_.data(); }
  void write_u(T* u) const { transposed(u_.data(), u_columns_, rows_, u); }
  // LAPACK returns V's adjoint, column-major.
  void write_v(T* v) const {
    std::transform(v_.data(), v_.data() + int64_t{columns_} * v_columns_, v, [](T x) { return conjugate(x); });
  }

 private:
  Int shorter() const { return std::min(rows_, columns_); }
  Int wanted() const {
    T told{};
    lapack::gesdd(job_, rows_, columns_, nullptr, rows_, nullptr, nullptr, rows_, nullptr, v_columns_, &told, -1,
                  nullptr, nullptr);
    return lapack::length_of(told);
  }

  Device& device_;
  char job_;
  Int rows_, columns_, u_columns_, v_columns_, most_;
  Scratch<T> a_, u_, v_;
  Scratch<R> s_, real_work_;
  Scratch<Int> integers_;
  Int length_;
  Scratch<T> work_;
};

struct SvdKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Matrices m(c.shape(0));
    const bool vectors = c.flag("compute_uv"), full = c.flag("full_matrices");
    T *s = c.out_data<T>(0), *u = c.out_data<T>(1), *v = c.out_data<T>(2);
    const int64_t u_columns = full ? m.rows : m.shorter(), v_columns = full ? m.columns : m.shorter();
    if (m.elements() == 0) {
      for (int64_t i = 0; vectors && i < m.count; ++i) {
        fill_identity(u + i * m.rows * u_columns, m.rows, u_columns);
        fill_identity(v + i * m.columns * v_columns, m.columns, v_columns);
      }
      return;
    }
    const Int rows = lapack::to_int(m.rows), columns = lapack::to_int(m.columns);
    const char job = !vectors ? 'N' : full ? 'A' : 'S';
    FirstFault fault;
    each_matrix(
        m.count, 20.0 * static_cast<double>(m.elements()) * static_cast<double>(m.shorter()),
        [&] { return SingularValues<T>(c.device(), job, rows, columns); },
        [&](SingularValues<T>& w, int64_t i) {
          const T* matrix = c.data<T>(0) + i * m.elements();
          T *to_s = s + i * m.shorter(), *to_u = u + i * m.rows * u_columns, *to_v = v + i * m.columns * v_columns;
          if (!all_finite(matrix, m.elements())) {
            std::fill_n(to_s, m.shorter(), not_a_number<T>());
            if (!vectors) return;
            std::fill_n(to_u, m.rows * u_columns, not_a_number<T>());
            return (void)std::fill_n(to_v, m.columns * v_columns, not_a_number<T>());
          }
          if (!w.decompose(matrix)) return fault.at(i);
          std::copy_n(w.values(), m.shorter(), to_s);
          if (!vectors) return;
          w.write_u(to_u);
          w.write_v(to_v);
        });
    fault.check(m, "input: expected a matrix whose singular values can be found", kNoConvergence);
  }
};
const CpuKernel svd_kernel("Svd", FractionsAndHalf{}, InWider<SvdKernel>{});

template <class T>
class HermitianEigen {
 public:
  using R = Real<T>;

  HermitianEigen(Device& device, bool vectors, Int n)
      : job_(vectors ? 'V' : 'N'), n_(n), a_(device, int64_t{n} * n), values_(device, n) {
    square_work(n, n);
    T told{};
    R told_real{};
    Int told_integers = 0;
    lapack::eigen_hermitian(job_, n, nullptr, nullptr, &told, -1, &told_real, -1, &told_integers, -1);
    length_ = lapack::length_of(told);
    real_length_ = kIsComplex<T> ? lapack::length_of(told_real) : 0;
    integer_length_ = std::max<Int>(1, told_integers);
    work_.emplace(device, length_);
    real_work_.emplace(device, real_length_);
    integers_.emplace(device, integer_length_);
  }

  // Reads the lower triangle. Read column-major, it is the upper triangle of the conjugate matrix, which has the same
  // eigenvalues and the conjugate eigenvectors.
  bool decompose(const T* matrix) {
    std::copy_n(matrix, int64_t{n_} * n_, a_.data());
    return lapack::eigen_hermitian(job_, n_, a_.data(), values_.data(), work_->data(), length_, real_work_->data(),
                                   real_length_, integers_->data(), integer_length_) == 0;
  }
  const R* values() const { return values_.data(); }
  void write_vectors(T* v) const { transposed<true>(a_.data(), n_, n_, v); }

 private:
  char job_;
  Int n_, length_, real_length_, integer_length_;
  Scratch<T> a_;
  Scratch<R> values_;
  std::optional<Scratch<T>> work_;
  std::optional<Scratch<R>> real_work_;
  std::optional<Scratch<Int>> integers_;
};

// Returns true if the elements on and below the diagonal are finite.
template <class T>
bool lower_is_finite(const T* matrix, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    if (!all_finite(matrix + i * n, i + 1)) return false;
  }
  return true;
}

struct SelfAdjointEigKernel {
  template <class T>
  static void run(KernelContext& c) {
    const Matrices m(c.shape(0));
    if (c.numel(0) == 0) return;
    const bool vectors = c.flag("compute_v");
    const int64_t n = m.rows;
    T *e = c.out_data<T>(0), *v = c.out_data<T>(1);
    FirstFault infinite, fault;
    each_matrix(
        m.count, (vectors ? 9 : 2) * cube(n), [&] { return HermitianEigen<T>(c.device(), vectors, lapack::to_int(n)); },
        [&](HermitianEigen<T>& w, int64_t i) {
          const T* matrix = c.data<T>(0) + i * m.elements();
          if (!lower_is_finite(matrix, n)) return infinite.at(i);
          if (!w.decompose(matrix)) return fault.at(i);
          std::copy_n(w.values(), n, e + i * n);
          if (vectors) w.write_vectors(v + i * n * n);
        });
    infinite.check(m, "input: expected a matrix of finite numbers", "one with infinities or NaN");
    fault.check(m, "input: expected a matrix whose eigenvalues can be found", kNoConvergence);
  }
};
const CpuKernel self_adjoint_eig_kernel("SelfAdjointEigV2", FractionsAndHalf{}, InWider<SelfAdjointEigKernel>{});

template <class T>
class GeneralEigen {
 public:
  using R = Real<T>;
  using C = std::complex<R>;

  GeneralEigen(Device& device, bool vectors, Int n)
      : job_(vectors ? 'V' : 'N'),
        n_(n),
        a_(device, int64_t{n} * n),
        v_(device, vectors ? int64_t{n} * n : 1),
        values_(device, n),
        parts_(device, 2 * int64_t{n}) {
    square_work(n, n);
    T told{};
    call(&told, -1);
    length_ = lapack::length_of(told);
    work_.emplace(device, length_);
  }

  bool decompose(const T* matrix) {
    transposed(matrix, n_, n_, a_.data());
    return call(work_->data(), length_) == 0;
  }
  C value(int64_t i) const {
    if constexpr (kIsComplex<T>) {
      return values_.data()[i];
    } else {
      return {parts_.data()[i], parts_.data()[n_ + i]};
    }
  }
  // For a real matrix LAPACK stores a conjugate pair of vectors as two columns: the real part, and the imaginary part
  // of the first vector.
  void write_vectors(C* to) const {
    const T* v = v_.data();
    for (int64_t k = 0; k < n_; ++k) {
      const bool pair = !kIsComplex<T> && value(k).imag() != 0 && k + 1 < n_;
      for (int64_t i = 0; i < n_; ++i) {
        if constexpr (kIsComplex<T>) {
          to[i * n_ + k] = v[k * n_ + i];
        } else {
          const R real = v[k * n_ + i], imag = pair ? v[(k + 1) * n_ + i] : R{};
          to[i * n_ + k] = {real, imag};
          if (pair) to[i * n_ + k + 1] = {real, -imag};
        }
      }
      if (pair) ++k;
    }
  }

 private:
  Int call(T* work, Int length) {
    if constexpr (kIsComplex<T>) {
      return lapack::geev(job_, n_, a_.data(), values_.data(), v_.data(), work, length, parts_.data());
    } else {
      return lapack::geev(job_, n_, a_.data(), parts_.data(), parts_.data() + n_, v_.data(), work, length);
    }
  }

  char job_;
  Int n_, length_ = 0;
  Scratch<T> a_, v_;
  Scratch<C> values_;
  Scratch<R> parts_;  // real matrix: parts of the eigenvalues; complex: LAPACK's real work space
  std::optional<Scratch<T>> work_;
};

struct EigKernel {
  template <class T>
  static void run(KernelContext& c) {
    using C = std::complex<Real<T>>;
    const Matrices m(c.shape(0));
    if (c.numel(0) == 0) return;
    const bool vectors = c.flag("compute_v");
    const int64_t n = m.rows;
    C *e = c.out_data<C>(0), *v = c.out_data<C>(1);
    FirstFault infinite, fault;
    each_matrix(
        m.count, (vectors ? 25 : 10) * cube(n), [&] { return GeneralEigen<T>(c.device(), vectors, lapack::to_int(n)); },
        [&](GeneralEigen<T>& w, int64_t i) {
          const T* matrix = c.data<T>(0) + i * m.elements();
          if (!all_finite(matrix, m.elements())) return infinite.at(i);
          if (!w.decompose(matrix)) return fault.at(i);
          for (int64_t k = 0; k < n; ++k) e[i * n + k] = w.value(k);
          if (vectors) w.write_vectors(v + i * n * n);
        });
    infinite.check(m, "input: expected a matrix of finite numbers", "one with infinities or NaN");
    fault.check(m, "input: expected a matrix whose eigenvalues can be found", kNoConvergence);
  }
};
const CpuKernel eig_kernel("Eig", Fractions{}, EigKernel{});

}  // namespace
}  // namespace panto
