// Samples of ops by triangular factors.
#include "panto/tests/ops/rows/linalg/matrices.h"
#include "panto/tests/ops/table.h"

namespace panto::test::factors_rows {
namespace {

std::vector<Array> inverse(const Given& g) {
  const bool adjoint = g.flag("adjoint");
  return of_each(g.in[0],
                 [&](const Matrix& m) { return solution(adjoint ? adjoint_of(m) : m, identity_matrix(m.rows)); });
}

// Row by row, as Cholesky did it.
std::vector<Array> cholesky(const Given& g) {
  return of_each(g.in[0], [](const Matrix& a) {
    Matrix l(a.rows, a.rows);
    for (size_t i = 0; i < a.rows; ++i) {
      for (size_t j = 0; j <= i; ++j) {
        Complex rest = a.at(i, j);
        for (size_t k = 0; k < j; ++k) rest -= l.at(i, k) * std::conj(l.at(j, k));
        l.at(i, j) = i == j ? std::sqrt(rest.real()) : rest / l.at(j, j);
      }
    }
    return l;
  });
}

// By the definition: half of what the entries of the factor change by when an entry of the symmetric matrix and its
// mirror image do, by differences of the factor.
std::vector<Array> cholesky_grad(const Given& g) {
  const auto factor = [](const Matrix& a) {
    Matrix l(a.rows, a.rows);
    for (size_t i = 0; i < a.rows; ++i) {
      for (size_t j = 0; j <= i; ++j) {
        Complex rest = a.at(i, j);
        for (size_t k = 0; k < j; ++k) rest -= l.at(i, k) * l.at(j, k);
        l.at(i, j) = i == j ? std::sqrt(rest) : rest / l.at(j, j);
      }
    }
    return l;
  };
  const std::vector<Matrix> gradients = matrices_of(g.in[1]);
  size_t number = 0;
  return of_each(g.in[0], [&](Matrix l) {
    const Matrix& dl = gradients[number++];
    for (size_t i = 0; i < l.rows; ++i) {
      for (size_t j = i + 1; j < l.rows; ++j) l.at(i, j) = 0;
    }
    const Matrix a = product(l, adjoint_of(l));
    Matrix result(l.rows, l.rows);
    for (size_t i = 0; i < l.rows; ++i) {
      for (size_t j = 0; j < l.rows; ++j) {
        // A step along the imaginary axis has no cancellation.
        constexpr double kStep = 1e-100;
        Matrix moved = a;
        moved.at(i, j) += Complex(0, kStep);
        if (i != j) moved.at(j, i) += Complex(0, kStep);
        const Matrix there = factor(moved);
        double sum = 0;
        for (size_t p = 0; p < l.rows; ++p) {
          for (size_t q = 0; q <= p; ++q) sum += dl.at(p, q).real() * there.at(p, q).imag() / kStep;
        }
        result.at(i, j) = i == j ? sum : sum / 2;
      }
    }
    return result;
  });
}

std::vector<Complex> determinants(const Array& a) {
  std::vector<Complex> values;
  for (const Matrix& m : matrices_of(a)) {
    Complex det;
    solution(m, Matrix(m.rows, 0), &det);
    values.push_back(det);
  }
  return values;
}

std::vector<Array> log_determinant(const Given& g) {
  std::vector<Complex> signs, logarithms;
  for (const Complex det : determinants(g.in[0])) {
    signs.push_back(det == Complex{} ? det : det / std::abs(det));
    logarithms.emplace_back(std::log(std::abs(det)));
  }
  return {array_of(leading(g.in[0]), signs), array_of(leading(g.in[0]), logarithms)};
}

std::vector<Array> solve(const Given& g) {
  const bool adjoint = g.flag("adjoint");
  const std::vector<Matrix> a = matrices_of(g.in[0]), b = matrices_of(g.in[1]);
  std::vector<Matrix> x;
  for (size_t i = 0; i < b.size(); ++i) x.push_back(solution(adjoint ? adjoint_of(a[i]) : a[i], b[i]));
  return {array_of(x, leading(g.in[1]), static_cast<size_t>(g.in[1].dims[g.in[1].dims.size() - 2]),
                   static_cast<size_t>(g.in[1].dims.back()))};
}

std::vector<Array> triangular_solve(const Given& g) {
  const bool adjoint = g.flag("adjoint"), lower = g.flag("lower");
  const std::vector<Matrix> a = matrices_of(g.in[0]), b = matrices_of(g.in[1]);
  const size_t count = std::max(a.size(), b.size());
  std::vector<Matrix> x;
  for (size_t i = 0; i < count; ++i) {
    Matrix m = a[a.size() == 1 ? 0 : i];
    for (size_t r = 0; r < m.rows; ++r) {
      for (size_t s = 0; s < m.rows; ++s) {
        if (lower ? s > r : s < r) m.at(r, s) = 0;
      }
    }
    x.push_back(solution(adjoint ? adjoint_of(m) : m, b[b.size() == 1 ? 0 : i]));
  }
  return {array_of(x, leading(a.size() > b.size() ? g.in[0] : g.in[1]), b[0].rows, b[0].columns)};
}

// With the same exchanges: the largest in each column below the diagonal.
std::vector<Array> lu(const Given& g) {
  std::vector<double> all_rows;
  const std::vector<Array> factors = of_each(g.in[0], [&](Matrix a) {
    std::vector<double> rows(a.rows);
    for (size_t i = 0; i < a.rows; ++i) rows[i] = static_cast<double>(i);
    for (size_t k = 0; k < a.rows; ++k) {
      size_t best = k;
      const auto size = [&](size_t i) { return std::abs(a.at(i, k).real()) + std::abs(a.at(i, k).imag()); };
      for (size_t i = k; i < a.rows; ++i) best = size(i) > size(best) ? i : best;
      std::swap(rows[k], rows[best]);
      for (size_t j = 0; j < a.rows; ++j) std::swap(a.at(k, j), a.at(best, j));
      for (size_t i = k + 1; i < a.rows; ++i) {
        a.at(i, k) /= a.at(k, k);
        for (size_t j = k + 1; j < a.rows; ++j) a.at(i, j) -= a.at(i, k) * a.at(k, j);
      }
    }
    all_rows.insert(all_rows.end(), rows.begin(), rows.end());
    return a;
  });
  Index dims = leading(g.in[0]);
  dims.push_back(g.in[0].dims.back());
  return {factors[0], array(dims, all_rows)};
}

const Array kSingular = array({2, 2}, {1, 2, 2, 4});

const Family factors(
    "linalg",
    {
        {"Cholesky",
         {.samples = {{.in = {symmetric({3, 3}, 4)}},
                      {.in = {symmetric({2, 2, 2}, 3)}},
                      {.in = {array({1, 1}, {4})}},
                      {.in = {draw({0, 0})}},
                      {.in = {draw({0, 2, 2})}}},
          .reference = cholesky,
          .errors = {{.in = {draw({2, 3})}, .text = "columns of a square matrix: expected 2, got 3"},
                     {.in = {draw({3})}, .text = "input: expected a rank of at least 2, got shape [3]"}},
          .units = 16,
          .gradient = false,
          .fixed = {0}}},  // most matrices have none
        {"CholeskyGrad",
         {.samples = {{.in = {regular({3, 3}, 2), draw({3, 3}, -2, 2, 1)}},
                      {.in = {regular({2, 2, 2}, 2), draw({2, 2, 2}, -2, 2, 1)}}},
          .reference = cholesky_grad,
          .errors = {{.in = {regular({2, 2}), draw({2, 3})}, .text = "grad: expected shape [2,2], got [2,3]"}},
          .units = 64}},
        {"MatrixInverse",
         {.samples = {{.in = {regular({3, 3})}},
                      {.in = {regular({2, 2, 2})}, .attrs = {{"adjoint", true}}},
                      {.in = {array({1, 1}, {4})}},
                      {.in = {draw({0, 0})}}},
          .reference = inverse,
          .errors = {{.in = {kSingular}, .text = "input: expected a matrix that can be inverted, got a singular one"},
                     {.in = {array({2, 1, 1}, {1, 0})},
                      .text = "input: expected a matrix that can be inverted, got a singular one (number 1 of 2)"},
                     {.in = {draw({2, 3})}, .text = "columns of a square matrix: expected 2, got 3"}},
          .units = 16}},
        {"MatrixInverse",
         {.samples = {{.in = {draw_complex({2, 2})}}, {.in = {draw_complex({2, 2})}, .attrs = {{"adjoint", true}}}},
          .reference = inverse,
          .label = "complex",
          .types = dtypes::kComplex,
          .units = 32}},
        {"MatrixDeterminant",
         {.samples = {{.in = {regular({3, 3}, 1)}}, {.in = {regular({2, 2, 2}, 1)}}, {.in = {draw({0, 0})}}},
          .reference = [](const Given& g) { return std::vector{array_of(leading(g.in[0]), determinants(g.in[0]))}; },
          .errors = {{.in = {draw({2, 3})}, .text = "columns of a square matrix: expected 2, got 3"}},
          .units = 16}},
        {"MatrixDeterminant",
         {.samples = {{.in = {draw_complex({2, 2, 2})}}},
          .reference = [](const Given& g) { return std::vector{array_of(leading(g.in[0]), determinants(g.in[0]))}; },
          .label = "complex",
          .types = dtypes::kComplex,
          .units = 16}},
        {"LogMatrixDeterminant",
         {.samples = {{.in = {regular({3, 3}, 1)}}, {.in = {regular({2, 2, 2}, -2)}}, {.in = {draw({2, 0, 0})}}},
          .reference = log_determinant,
          .errors = {{.in = {draw({2, 3})}, .text = "columns of a square matrix: expected 2, got 3"}},
          .units = 16}},
        {"LogMatrixDeterminant",
         {.samples = {{.in = {draw_complex({2, 2, 2})}}},
          .reference = log_determinant,
          .label = "complex",
          .types = dtypes::kComplex,
          .units = 16}},
        {"MatrixSolve",
         {.samples = {{.in = {regular({3, 3}), draw({3, 2})}},
                      {.in = {regular({2, 2, 2}), draw({2, 2, 1})}, .attrs = {{"adjoint", true}}},
                      {.in = {regular({2, 2}), draw({2, 0})}},
                      {.in = {draw({0, 0}), draw({0, 2})}}},
          .reference = solve,
          .errors = {{.in = {kSingular, draw({2, 1})},
                      .text = "matrix: expected one that can be inverted, got a singular one"},
                     {.in = {regular({2, 2}), draw({3, 1})}, .text = "rows of rhs: expected 2, got 3"},
                     {.in = {regular({2, 2, 2}), draw({3, 2, 1})}, .text = "batch dimensions: expected [2], got [3]"}},
          .units = 32}},
        {"MatrixTriangularSolve",
         {.samples = {{.in = {regular({3, 3}), draw({3, 2})}},
                      {.in = {regular({2, 2, 2}), draw({2, 2, 1})}, .attrs = {{"adjoint", true}}},
                      {.in = {regular({2, 2}), draw({3, 2, 1})}, .attrs = {{"lower", false}}},
                      {.in = {regular({3, 2, 2}), draw({2, 2})}, .attrs = {{"lower", false}, {"adjoint", true}}},
                      {.in = {regular({2, 2}), draw({2, 0})}}},
          .reference = triangular_solve,
          .errors = {{.in = {regular({2, 2}), draw({3, 1})}, .text = "rows of rhs: expected 2, got 3"},
                     {.in = {regular({2, 2, 2}), draw({3, 2, 1})}, .text = "batch dimensions: expected 2, got 3"}},
          .units = 32}},
        {"Lu",
         {.samples = {{.in = {array({4, 4}, {1, 2, -1, 3, 4, -2, 1, 0.5, -3, 1.5, 2, 1, 0.5, 3, -4, 2})}},
                      {.in = {array({2, 3, 3}, {0, 1, 2, 3, 4, -1, 1, -2, 5, 2, 1, 0, 1, 3, 1, 4, 0, -1})},
                       .attrs = {{"output_idx_type", kInt64}}},
                      {.in = {draw({0, 0})}}},
          .reference = lu,
          .errors = {{.in = {array({2, 2}, {0, 0, 0, 0})},
                      .text = "input: expected a matrix that can be inverted, got a singular one"}},
          .units = 64}},
    });

}  // namespace
}  // namespace panto::test::factors_rows
