// What references of linear algebra are written with: small matrices of complex numbers, and plain methods.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <vector>

#include "panto/tests/ops/reference.h"

namespace panto::test {

struct Matrix {
  size_t rows = 0, columns = 0;
  std::vector<Complex> x = {};

  Matrix(size_t rows, size_t columns) : rows(rows), columns(columns), x(rows * columns) {}
  Complex& at(size_t i, size_t j) { return x[i * columns + j]; }
  Complex at(size_t i, size_t j) const { return x[i * columns + j]; }
};

inline Matrix identity_matrix(size_t n) {
  Matrix m(n, n);
  for (size_t i = 0; i < n; ++i) m.at(i, i) = 1;
  return m;
}
inline Matrix adjoint_of(const Matrix& a) {
  Matrix t(a.columns, a.rows);
  for (size_t i = 0; i < a.rows; ++i) {
    for (size_t j = 0; j < a.columns; ++j) t.at(j, i) = std::conj(a.at(i, j));
  }
  return t;
}
inline Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c(a.rows, b.columns);
  for (size_t i = 0; i < a.rows; ++i) {
    for (size_t j = 0; j < b.columns; ++j) {
      for (size_t k = 0; k < a.columns; ++k) c.at(i, j) += a.at(i, k) * b.at(k, j);
    }
  }
  return c;
}
inline Matrix scaled_sum(const Matrix& a, Complex factor, const Matrix& b) {
  Matrix c = a;
  for (size_t i = 0; i < c.x.size(); ++i) c.x[i] += factor * b.x[i];
  return c;
}

// By Gauss and Jordan, with the largest pivot of each column; `determinant` is set, too.
inline Matrix solution(Matrix a, Matrix b, Complex* determinant = nullptr) {
  Complex det = 1;
  for (size_t k = 0; k < a.rows; ++k) {
    size_t best = k;
    for (size_t i = k; i < a.rows; ++i) best = std::abs(a.at(i, k)) > std::abs(a.at(best, k)) ? i : best;
    if (best != k) det = -det;
    for (size_t j = 0; j < a.columns; ++j) std::swap(a.at(k, j), a.at(best, j));
    for (size_t j = 0; j < b.columns; ++j) std::swap(b.at(k, j), b.at(best, j));
    const Complex pivot = a.at(k, k);
    det *= pivot;
    for (size_t i = 0; i < a.rows; ++i) {
      const Complex factor = i == k ? Complex{} : a.at(i, k) / pivot;
      for (size_t j = 0; j < a.columns; ++j) a.at(i, j) -= factor * a.at(k, j);
      for (size_t j = 0; j < b.columns; ++j) b.at(i, j) -= factor * b.at(k, j);
    }
  }
  for (size_t i = 0; i < a.rows; ++i) {
    for (size_t j = 0; j < b.columns; ++j) b.at(i, j) /= a.at(i, i);
  }
  if (determinant != nullptr) *determinant = det;
  return b;
}

// Of a matrix that is its own adjoint, in ascending order, by Jacobi's rotations.
inline std::vector<double> eigenvalues_of(Matrix a) {
  for (int sweep = 0; sweep < 60; ++sweep) {
    for (size_t p = 0; p < a.rows; ++p) {
      for (size_t q = p + 1; q < a.rows; ++q) {
        const double size = std::abs(a.at(p, q));
        if (size < 1e-300) continue;
        const Complex phase = a.at(p, q) / size;
        const double angle = 0.5 * std::atan2(2 * size, a.at(q, q).real() - a.at(p, p).real());
        const double c = std::cos(angle), s = std::sin(angle);
        Matrix turn = identity_matrix(a.rows);
        turn.at(p, p) = c;
        turn.at(p, q) = s * phase;
        turn.at(q, p) = -s * std::conj(phase);
        turn.at(q, q) = c;
        a = product(adjoint_of(turn), product(a, turn));
      }
    }
  }
  std::vector<double> values;
  for (size_t i = 0; i < a.rows; ++i) values.push_back(a.at(i, i).real());
  std::ranges::sort(values);
  return values;
}

// The power series, of a matrix that is halved until it is small.
inline Matrix exponential_of(Matrix a) {
  constexpr int kHalvings = 4;
  for (Complex& x : a.x) x /= 1 << kHalvings;
  Matrix sum = identity_matrix(a.rows), term = sum;
  for (int k = 1; k < 40; ++k) {
    term = product(term, a);
    for (Complex& x : term.x) x /= k;
    sum = scaled_sum(sum, 1, term);
  }
  for (int k = 0; k < kHalvings; ++k) sum = product(sum, sum);
  return sum;
}

// The matrices in the last two dimensions, and an array of such.
inline std::vector<Matrix> matrices_of(const Array& a) {
  const auto rows = static_cast<size_t>(a.dims[a.dims.size() - 2]), columns = static_cast<size_t>(a.dims.back());
  int64_t count = 1;
  for (size_t k = 0; k + 2 < a.dims.size(); ++k) count *= a.dims[k];
  std::vector<Matrix> result(static_cast<size_t>(count), Matrix(rows, columns));
  for (size_t m = 0; m < result.size(); ++m) {
    for (size_t i = 0; i < rows * columns; ++i) result[m].x[i] = a.complex(m * rows * columns + i);
  }
  return result;
}
inline Index leading(const Array& a) { return {a.dims.begin(), a.dims.end() - 2}; }
inline Array array_of(Index dims, const std::vector<Complex>& values) { return complexes(std::move(dims), values); }
inline Array array_of(const std::vector<Matrix>& matrices, Index leading, size_t rows, size_t columns) {
  std::vector<Complex> values;
  for (const Matrix& m : matrices) values.insert(values.end(), m.x.begin(), m.x.end());
  leading.push_back(static_cast<int64_t>(rows));
  leading.push_back(static_cast<int64_t>(columns));
  return complexes(std::move(leading), values);
}
// f of each matrix, in a shape like the input's.
inline std::vector<Array> of_each(const Array& a, const std::function<Matrix(const Matrix&)>& f) {
  std::vector<Matrix> results;
  for (const Matrix& m : matrices_of(a)) results.push_back(f(m));
  return {array_of(results, leading(a), static_cast<size_t>(a.dims[a.dims.size() - 2]),
                   static_cast<size_t>(a.dims.back()))};
}

// ---- Samples ------------------------------------------------------------------------------------------------------

// Square matrices, far from singular: `diagonal` more on the diagonal.
inline Array regular(Index dims, double diagonal = 3, int seed = 0) {
  Array a = draw(std::move(dims), -1, 1, seed);
  const int64_t n = a.dims.back();
  for (size_t i = 0; i < a.values.size(); ++i) {
    const auto at = static_cast<int64_t>(i) % (n * n);
    if (at / n == at % n) a.values[i] += diagonal;
  }
  return a;
}
// Symmetric ones.
inline Array symmetric(Index dims, double diagonal = 3, int seed = 0) {
  Array a = regular(std::move(dims), diagonal, seed);
  const auto n = static_cast<size_t>(a.dims.back());
  for (size_t first = 0; first < a.values.size(); first += n * n) {
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < i; ++j) a.values[first + j * n + i] = a.values[first + i * n + j];
    }
  }
  return a;
}

}  // namespace panto::test
