// Kernels of functions of matrices, all computed in float64: the exponential by Padé's approximant after scaling, roots
// and logarithms of Schur's triangle. N. J. Higham, Functions of Matrices, chapters 6, 10 and 11.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <vector>

#include "panto/device/cpu/kernel.h"
#include "panto/device/cpu/linalg/matrices.h"
#include "panto/lib/core/call/call.h"

namespace panto {
namespace {

using namespace matrices;
using Complex = std::complex<double>;

// The type in which elements are computed.
template <class T>
using Computed =
    std::conditional_t<std::is_same_v<T, std::complex<float>> || std::is_same_v<T, Complex>, Complex, double>;

template <class To, class From>
To element(From x) {
  if constexpr (std::is_same_v<From, Half> || std::is_same_v<To, Half>) {
    return static_cast<To>(static_cast<float>(x));
  } else {
    return static_cast<To>(x);
  }
}

// A column-major square matrix.
template <class T>
struct Square {
  Int n;
  std::vector<T> x;

  explicit Square(Int n) : n(n), x(static_cast<size_t>(checked_mul(n, n))) {}
  T& at(int64_t row, int64_t column) { return x[static_cast<size_t>(column * n + row)]; }
  const T& at(int64_t row, int64_t column) const { return x[static_cast<size_t>(column * n + row)]; }
  void set_product(const Square& a, const Square& b, char form_of_b = 'N') {
    lapack::gemm('N', form_of_b, n, n, n, T{1}, a.x.data(), n, b.x.data(), n, T{}, x.data(), n);
  }
  // Returns the 1-norm: the largest column sum of absolute values.
  double norm() const {
    double most = 0;
    for (int64_t column = 0; column < n; ++column) {
      double sum = 0;
      for (int64_t row = 0; row < n; ++row) sum += std::abs(at(row, column));
      if (!(sum <= most)) most = sum;
    }
    return most;
  }
  void fill(T value) { std::fill(x.begin(), x.end(), value); }
};

// `C::run` replaces `matrix` by the function's value, or returns false if an iteration does not converge. `C::is_real`:
// whether the function's value for a real matrix is real.
template <class T, class C>
void each_square(KernelContext& c, double flops_by_cube) {
  const Matrices m(c.shape(0));
  if (c.out_numel(0) == 0) return;
  const Int n = lapack::to_int(m.rows);
  FirstFault fault;
  each_matrix(
      m.count, flops_by_cube * cube(n), [&] { return C(n); },
      [&](C& compute, int64_t i) {
        const T* from = c.data<T>(0) + i * m.elements();
        T* to = c.out_data<T>(0) + i * m.elements();
        auto& matrix = compute.matrix;
        using E = std::decay_t<decltype(matrix.x[0])>;
        for (int64_t row = 0; row < n; ++row) {
          for (int64_t column = 0; column < n; ++column) {
            matrix.at(row, column) = E(element<Computed<T>>(from[row * n + column]));
          }
        }
        if (!all_finite(matrix.x.data(), m.elements())) {
          matrix.fill(not_a_number<E>());
        } else if (!compute.run()) {
          return fault.at(i);
        }
        const bool none = !kIsComplex<Computed<T>> && !compute.is_real();
        for (int64_t row = 0; row < n; ++row) {
          for (int64_t column = 0; column < n; ++column) {
            const E x = none ? not_a_number<E>() : matrix.at(row, column);
            if constexpr (kIsComplex<Computed<T>>) {
              to[row * n + column] = element<T>(x);
            } else {
              to[row * n + column] = element<T>(real_part(x));
            }
          }
        }
      });
  fault.check(m, "input: expected a matrix whose eigenvalues can be found", "one for which the iteration does not end");
}

// Padé's approximant of order 13, for norms up to 5.4; larger matrices are halved repeatedly, and the result squared as
// often.
template <class T>
struct Exponential {
  Int n;
  Square<T> matrix, second, fourth, sixth, odd, even, part;
  std::vector<Int> pivots;

  explicit Exponential(Int n)
      : n(n), matrix(n), second(n), fourth(n), sixth(n), odd(n), even(n), part(n), pivots(static_cast<size_t>(n)) {}
  static bool is_real() { return true; }

  // to += a 1 + b second + c fourth + d sixth
  void add(Square<T>& to, double a, double b, double c, double d) {
    for (size_t i = 0; i < to.x.size(); ++i) to.x[i] += b * second.x[i] + c * fourth.x[i] + d * sixth.x[i];
    for (int64_t i = 0; i < n; ++i) to.at(i, i) += a;
  }
  bool run() {
    static constexpr double kB[] = {64764752532480000,
                                    32382376266240000,
                                    7771770303897600,
                                    1187353796428800,
                                    129060195264000,
                                    10559470521600,
                                    670442572800,
                                    33522128640,
                                    1323241920,
                                    40840800,
                                    960960,
                                    16380,
                                    182,
                                    1};
    constexpr double kMost = 5.371920351148152;
    const double norm = matrix.norm();
    if (!std::isfinite(norm)) return matrix.fill(not_a_number<T>()), true;
    const int halvings = norm > kMost ? std::max(0, std::ilogb(norm / kMost) + 1) : 0;
    for (T& x : matrix.x) x *= std::scalbn(1.0, -halvings);
    second.set_product(matrix, matrix);
    fourth.set_product(second, second);
    sixth.set_product(fourth, second);
    part.fill({});
    add(part, 0, kB[9], kB[11], kB[13]);
    even.set_product(sixth, part);
    add(even, kB[1], kB[3], kB[5], kB[7]);
    odd.set_product(matrix, even);
    part.fill({});
    add(part, 0, kB[8], kB[10], kB[12]);
    even.set_product(sixth, part);
    add(even, kB[0], kB[2], kB[4], kB[6]);
    for (size_t i = 0; i < matrix.x.size(); ++i) {
      part.x[i] = even.x[i] - odd.x[i];
      matrix.x[i] = even.x[i] + odd.x[i];
    }
    lapack::getrf(n, n, part.x.data(), n, pivots.data());
    lapack::getrs('N', n, n, part.x.data(), n, pivots.data(), matrix.x.data(), n);
    for (int i = 0; i < halvings; ++i) {
      part.set_product(matrix, matrix);
      std::swap(part.x, matrix.x);
    }
    return true;
  }
};

// Schur decomposition: matrix = vectors triangle vectors'
struct Schur {
  Int n;
  Square<Complex> matrix, vectors, part;
  std::vector<Complex> values, work;
  std::vector<double> real_work;

  explicit Schur(Int n)
      : n(n), matrix(n), vectors(n), part(n), values(static_cast<size_t>(n)), real_work(static_cast<size_t>(n)) {
    Complex told;
    lapack::schur(n, nullptr, nullptr, nullptr, &told, -1, nullptr);
    work.resize(static_cast<size_t>(lapack::length_of(told)));
  }
  // Leaves the triangle in `matrix`.
  bool decompose() {
    return lapack::schur(n, matrix.x.data(), values.data(), vectors.x.data(), work.data(),
                         static_cast<Int>(work.size()), real_work.data()) == 0;
  }
  void compose() {
    part.set_product(vectors, matrix);
    matrix.set_product(part, vectors, 'C');
  }
  // Björck and Hammarling: column by column, each from its diagonal upwards.
  void take_root() {
    Square<Complex>& t = matrix;
    for (int64_t j = 0; j < n; ++j) {
      t.at(j, j) = std::sqrt(t.at(j, j));
      for (int64_t i = j - 1; i >= 0; --i) {
        Complex rest = t.at(i, j);
        for (int64_t k = i + 1; k < j; ++k) rest -= t.at(i, k) * t.at(k, j);
        t.at(i, j) = rest == Complex{} ? rest : rest / (t.at(i, i) + t.at(j, j));
      }
    }
  }
};

struct SquareRoot : Schur {
  using Schur::Schur;
  // Imaginary parts come from rounding errors or from roots of negative eigenvalues.
  bool is_real() const {
    double real = 0, imaginary = 0;
    for (const Complex& x : matrix.x) {
      real = std::max(real, std::abs(x.real()));
      imaginary = std::max(imaginary, std::abs(x.imag()));
    }
    return imaginary <= 1.5e-8 * real || imaginary == 0;
  }
  bool run() {
    if (!decompose()) return false;
    take_root();
    compose();
    return true;
  }
};

// Gauss-Legendre points in (0, 1) and their weights.
struct GaussPoints {
  static constexpr int kCount = 8;
  std::array<double, kCount> points{}, weights{};

  GaussPoints() {
    for (int i = 0; i < kCount; ++i) {
      double x = std::cos(M_PI * (i + 0.75) / (kCount + 0.5)), slope = 1;
      for (int round = 0; round < 20; ++round) {
        double before = 1, now = x;
        for (int k = 2; k <= kCount; ++k) {
          const double next = ((2 * k - 1) * x * now - (k - 1) * before) / k;
          before = now;
          now = next;
        }
        slope = kCount * (x * now - before) / (x * x - 1);
        x -= now / slope;
      }
      points[static_cast<size_t>(i)] = (1 - x) / 2;
      weights[static_cast<size_t>(i)] = 1 / ((1 - x * x) * slope * slope);
    }
  }
};

// Takes square roots until the triangle is close to the identity, where the logarithm is a sum of fractions.
struct Logarithm : Schur {
  using Schur::Schur;
  static bool is_real() { return true; }
  bool run() {
    static const GaussPoints gauss;
    if (!decompose()) return false;
    std::vector<Complex> diagonal;
    for (int64_t i = 0; i < n; ++i) diagonal.push_back(matrix.at(i, i));
    if (std::ranges::find(diagonal, Complex{}) != diagonal.end()) return matrix.fill(not_a_number<Complex>()), true;
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = j + 1; i < n; ++i) matrix.at(i, j) = {};
    }
    constexpr double kNear = 0.26;
    constexpr int kMost = 200;  // a dozen are enough for the largest and smallest numbers there are
    const auto distance = [&] {
      Square<Complex>& x = part;
      x.x = matrix.x;
      for (int64_t i = 0; i < n; ++i) x.at(i, i) -= 1;
      return x.norm();
    };
    int roots = 0;
    for (; distance() > kNear; ++roots) {
      if (roots == kMost) return false;
      take_root();
    }
    // `part` is X; log(1 + X) is the sum of w X / (1 + p X).
    matrix.fill({});
    Square<Complex> below(n), fraction(n);
    for (size_t k = 0; k < GaussPoints::kCount; ++k) {
      for (size_t i = 0; i < below.x.size(); ++i) below.x[i] = gauss.points[k] * part.x[i];
      for (int64_t i = 0; i < n; ++i) below.at(i, i) += 1;
      fraction.x = part.x;
      lapack::trsm('R', 'U', 'N', n, n, below.x.data(), n, fraction.x.data(), n);
      for (size_t i = 0; i < below.x.size(); ++i) matrix.x[i] += gauss.weights[k] * fraction.x[i];
    }
    for (Complex& x : matrix.x) x *= std::scalbn(1.0, roots);
    for (int64_t i = 0; i < n; ++i) matrix.at(i, i) = std::log(diagonal[static_cast<size_t>(i)]);
    compose();
    return true;
  }
};

const CpuKernel exponential_kernel("MatrixExponential", FractionsAndHalf{},
                                   []<class T>(KernelContext& c) { each_square<T, Exponential<Computed<T>>>(c, 30); });
const CpuKernel root_kernel("MatrixSquareRoot", FractionsAndHalf{},
                            []<class T>(KernelContext& c) { each_square<T, SquareRoot>(c, 100); });
const CpuKernel logarithm_kernel("MatrixLogarithm", Complexes{},
                                 []<class T>(KernelContext& c) { each_square<T, Logarithm>(c, 150); });

}  // namespace
}  // namespace panto
