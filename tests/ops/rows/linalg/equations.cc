// Samples of least squares, bands, functions of matrices and products of vectors.
#include "panto/tests/ops/rows/linalg/matrices.h"
#include "panto/tests/ops/table.h"

namespace panto::test::equations_rows {
namespace {

// By the normal equations of the smaller side.
std::vector<Array> least_squares(const Given& g) {
  const std::vector<Matrix> a = matrices_of(g.in[0]), b = matrices_of(g.in[1]);
  const double regularizer = g.flag("fast") ? g.in[2].values[0] : 0;
  std::vector<Matrix> x;
  for (size_t i = 0; i < a.size(); ++i) {
    const Matrix t = adjoint_of(a[i]);
    const bool tall = a[i].rows >= a[i].columns;
    const Matrix gram = tall ? product(t, a[i]) : product(a[i], t);
    const Matrix left = scaled_sum(gram, regularizer, identity_matrix(gram.rows));
    x.push_back(tall ? solution(left, product(t, b[i])) : product(t, solution(left, b[i])));
  }
  return {array_of(x, leading(g.in[0]), a[0].columns, b[0].columns)};
}

// The whole matrices of which these are the diagonals: above, main, below.
Matrix tridiagonal(const std::vector<Complex>& above, const std::vector<Complex>& main,
                   const std::vector<Complex>& below) {
  Matrix m(main.size(), main.size());
  for (size_t i = 0; i < main.size(); ++i) {
    m.at(i, i) = main[i];
    if (i + 1 < main.size()) m.at(i, i + 1) = above[i];
    if (i > 0) m.at(i, i - 1) = below[i];
  }
  return m;
}
std::vector<Complex> row_of(const Matrix& m, size_t row) {
  return {m.x.begin() + static_cast<int64_t>(row * m.columns),
          m.x.begin() + static_cast<int64_t>((row + 1) * m.columns)};
}

std::vector<Array> tridiagonal_solve(const Given& g) {
  const std::vector<Matrix> d = matrices_of(g.in[0]), b = matrices_of(g.in[1]);
  std::vector<Matrix> x;
  for (size_t i = 0; i < b.size(); ++i) {
    x.push_back(solution(tridiagonal(row_of(d[i], 0), row_of(d[i], 1), row_of(d[i], 2)), b[i]));
  }
  return {array_of(x, leading(g.in[1]), b[0].rows, b[0].columns)};
}

std::vector<Array> tridiagonal_product(const Given& g) {
  const std::vector<Matrix> above = matrices_of(g.in[0]), main = matrices_of(g.in[1]), below = matrices_of(g.in[2]),
                            b = matrices_of(g.in[3]);
  std::vector<Matrix> x;
  for (size_t i = 0; i < b.size(); ++i) x.push_back(product(tridiagonal(above[i].x, main[i].x, below[i].x), b[i]));
  return {array_of(x, leading(g.in[3]), b[0].rows, b[0].columns)};
}

std::vector<Array> banded_solve(const Given& g) {
  const bool lower = g.flag("lower"), adjoint = g.flag("adjoint");
  const std::vector<Matrix> bands = matrices_of(g.in[0]), b = matrices_of(g.in[1]);
  const size_t count = std::max(bands.size(), b.size());
  std::vector<Matrix> x;
  for (size_t i = 0; i < count; ++i) {
    const Matrix& band = bands[bands.size() == 1 ? 0 : i];
    Matrix m(band.columns, band.columns);
    for (size_t d = 0; d < band.rows; ++d) {
      for (size_t row = 0; row < m.rows; ++row) {
        if (lower && row >= d) m.at(row, row - d) = band.at(d, row);
        if (!lower && row + d < m.rows) m.at(row, row + d) = band.at(band.rows - 1 - d, row);
      }
    }
    x.push_back(solution(adjoint ? adjoint_of(m) : m, b[b.size() == 1 ? 0 : i]));
  }
  return {array_of(x, leading(bands.size() > b.size() ? g.in[0] : g.in[1]), b[0].rows, b[0].columns)};
}

std::vector<Array> exponential(const Given& g) { return of_each(g.in[0], exponential_of); }

// By Newton's iteration, as Denman and Beavers made it stable.
Matrix root_of(const Matrix& a) {
  Matrix y = a, z = identity_matrix(a.rows);
  const auto half = [](const Matrix& p, const Matrix& q) {
    Matrix sum = scaled_sum(p, 1, q);
    for (Complex& x : sum.x) x /= 2;
    return sum;
  };
  for (int k = 0; k < 60; ++k) {
    const Matrix next = half(y, solution(z, identity_matrix(a.rows)));
    z = half(z, solution(y, identity_matrix(a.rows)));
    y = next;
  }
  return y;
}
std::vector<Array> root(const Given& g) { return of_each(g.in[0], root_of); }

// 2^k log(A^(1 / 2^k)), by the series of log(1 + x).
std::vector<Array> logarithm(const Given& g) {
  return of_each(g.in[0], [](Matrix a) {
    constexpr int kRoots = 6;
    for (int k = 0; k < kRoots; ++k) a = root_of(a);
    const Matrix x = scaled_sum(a, -1, identity_matrix(a.rows));
    Matrix sum(a.rows, a.rows), power = x;
    for (int k = 1; k < 60; ++k) {
      sum = scaled_sum(sum, (k % 2 == 1 ? 1.0 : -1.0) / k, power);
      power = product(power, x);
    }
    for (Complex& v : sum.x) v *= 1 << kRoots;
    return sum;
  });
}

std::vector<Array> cross(const Given& g) {
  const Array &a = g.in[0], &b = g.in[1];
  return {make(a.dims, [&](Index index) {
    const int64_t k = index.back();
    const auto element = [&](const Array& from, int64_t at_last) {
      index.back() = at_last % 3;
      return at(from, index);
    };
    return element(a, k + 1) * element(b, k + 2) - element(a, k + 2) * element(b, k + 1);
  })};
}

Array no_regularizer() { return scalar(0).as(kFloat64); }
Array regularizer(double value) { return scalar(value).as(kFloat64); }

const Family equations(
    "linalg",
    {
        {"MatrixSolveLs",
         {.samples = {{.in = {draw({4, 2}), draw({4, 3}), no_regularizer()}},
                      {.in = {draw({2, 2, 3}), draw({2, 2, 1}), regularizer(0.5)}},
                      {.in = {draw({3, 2}), draw({3, 0}), no_regularizer()}}},
          .reference = least_squares,
          .errors = {{.in = {filled({2, 2}, 0), draw({2, 1}), no_regularizer()},
                      .text = "matrix: expected one of full rank"},
                     {.in = {draw({2, 2}), draw({2, 1}), regularizer(-1)},
                      .text = "l2_regularizer: expected at least 0, got -1"},
                     {.in = {draw({2, 2}), draw({3, 1}), no_regularizer()}, .text = "rows of rhs: expected 2, got 3"}},
          // Differences by the regularizer, which has no gradient, would be asked for: tests/ops/linalg_test.cc.
          .types = {kFloat16, kFloat32, kComplex64, kComplex128},
          .units = 256}},
        {"MatrixSolveLs",
         {.samples = {{.in = {draw({4, 2}), draw({4, 3}), no_regularizer()}, .attrs = {{"fast", false}}},
                      {.in = {draw({2, 3}), draw({2, 1}), regularizer(0.5)}, .attrs = {{"fast", false}}}},
          .reference = least_squares,
          .label = "slow",
          .types = {kFloat32},
          .units = 256,
          .gradient = false}},
        {"TridiagonalSolve",
         {.samples = {{.in = {draw({3, 4}), draw({4, 2})}},
                      {.in = {draw({2, 3, 3}), draw({2, 3, 1})}},
                      {.in = {draw({3, 4}, 1, 2), draw({4, 2})}, .attrs = {{"partial_pivoting", false}}},
                      {.in = {draw({3, 1}), draw({1, 2})}},
                      {.in = {draw({3, 0}), draw({0, 2})}}},
          .reference = tridiagonal_solve,
          .errors = {{.in = {draw({3, 2}), draw({2, 1})},
                      .attrs = {{"partial_pivoting", false}, {"perturb_singular", true}},
                      .text = "perturb_singular: expected false without partial_pivoting, got true"},
                     {.in = {draw({2, 2}), draw({2, 1})}, .text = "rows of diagonals: expected 3, got 2"}},
          .units = 256}},
        {"TridiagonalMatMul",
         {.samples = {{.in = {draw({1, 3}), draw({1, 3}, -2, 2, 1), draw({1, 3}, -2, 2, 2), draw({3, 2})}},
                      {.in = {draw({2, 1, 1}), draw({2, 1, 1}, -2, 2, 1), draw({2, 1, 1}, -2, 2, 2), draw({2, 1, 2})}},
                      {.in = {draw({1, 0}), draw({1, 0}), draw({1, 0}), draw({0, 2})}}},
          .reference = tridiagonal_product,
          .errors = {{.in = {draw({1, 3}), draw({1, 2}), draw({1, 3}), draw({3, 2})},
                      .text = "columns of a diagonal: expected 3, got 2"},
                     {.in = {draw({1, 3}), draw({2, 3}), draw({1, 3}), draw({3, 2})},
                      .text = "rows of a diagonal: expected 1, got 2"}},
          .units = 16}},
        {"BandedTriangularSolve",
         {.samples = {{.in = {draw({2, 4}, 1, 2), draw({4, 2})}},
                      {.in = {draw({2, 3, 3}, 1, 2), draw({2, 3, 1})}, .attrs = {{"adjoint", true}}},
                      {.in = {draw({2, 3}, 1, 2), draw({2, 3, 1})}, .attrs = {{"lower", false}}},
                      {.in = {draw({2, 2, 3}, 1, 2), draw({3, 1})}, .attrs = {{"lower", false}, {"adjoint", true}}}},
          .reference = banded_solve,
          .errors = {{.in = {filled({1, 2}, 0), draw({2, 1})},
                      .text = "bands: expected those of a matrix that can be inverted, got a zero on the diagonal"},
                     {.in = {draw({3, 2}), draw({2, 1})}, .text = "bands: expected at most 2, got 3"},
                     {.in = {draw({0, 2}), draw({2, 1})}, .text = "bands: expected at least one, got none"},
                     {.in = {draw({1, 2}), draw({3, 1})}, .text = "rows of rhs: expected 2, got 3"}},
          .units = 64}},
        {"MatrixExponential",
         {.samples = {{.in = {draw({3, 3})}}, {.in = {draw({2, 2, 2}, -4, 4)}}, {.in = {draw({0, 0})}}},
          .reference = exponential,
          .errors = {{.in = {draw({2, 3})}, .text = "columns of a square matrix: expected 2, got 3"}},
          .units = 128}},
        {"MatrixLogarithm",
         {.samples = {{.in = {regular({3, 3}, 4)}}, {.in = {regular({2, 2, 2}, 2)}}, {.in = {draw({0, 0})}}},
          .reference = logarithm,
          .errors = {{.in = {draw({2, 3})}, .text = "columns of a square matrix: expected 2, got 3"}},
          .units = 256,
          .fixed = {0}}},  // most matrices have none
        {"MatrixSquareRoot",
         {.samples = {{.in = {regular({3, 3}, 4)}}, {.in = {regular({2, 2, 2}, 2)}}, {.in = {draw({0, 0})}}},
          .reference = root,
          .errors = {{.in = {draw({2, 3})}, .text = "columns of a square matrix: expected 2, got 3"}},
          .units = 64,
          .fixed = {0}}},
        {"Cross",
         {.samples = {{.in = {draw({3}), draw({3}, -2, 2, 1)}},
                      {.in = {draw({2, 2, 3}), draw({2, 2, 3}, -2, 2, 1)}},
                      {.in = {draw({0, 3}), draw({0, 3})}}},
          .reference = cross,
          .errors = {{.in = {draw({2, 3}), draw({3})}, .text = "b: expected shape [2,3], got [3]"},
                     {.in = {draw({2}), draw({2})}, .text = "last dimension: expected 3, got 2"}}}},
        {"ConjugateTranspose",
         {.samples = {{.in = {draw({2, 3}), list({1, 0})}}},
          .reference =
              [](const Given& g) {
                return std::vector{make({3, 2}, [&](const Index& i) { return at(g.in[0], {i[1], i[0]}); })};
              },
          .types = dtypes::kNumeric}},
        {"ConjugateTranspose",
         {.samples = {{.in = {draw_complex({2, 3}), list({1, 0})}}},
          .reference =
              [](const Given& g) {
                std::vector<Complex> values;
                for (size_t i = 0; i < 6; ++i) values.push_back(std::conj(g.in[0].complex(i % 2 * 3 + i / 2)));
                return std::vector{complexes({3, 2}, values)};
              },
          .label = "complex",
          .types = dtypes::kComplex}},
    });

}  // namespace
}  // namespace panto::test::equations_rows
