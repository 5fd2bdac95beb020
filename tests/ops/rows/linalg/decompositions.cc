// Samples of decompositions. What has signs of its own is compared in tests/ops/linalg_test.cc, as the product that it
// is.
#include "panto/tests/ops/rows/linalg/matrices.h"
#include "panto/tests/ops/table.h"

namespace panto::test::decompositions_rows {
namespace {

const Array kNoVectors = array({0}, {});

// Of the lower triangle.
std::vector<Array> eigenvalues(const Given& g) {
  std::vector<Complex> all;
  for (Matrix m : matrices_of(g.in[0])) {
    for (size_t i = 0; i < m.rows; ++i) {
      m.at(i, i) = m.at(i, i).real();
      for (size_t j = 0; j < i; ++j) m.at(j, i) = std::conj(m.at(i, j));
    }
    for (const double v : eigenvalues_of(m)) all.emplace_back(v);
  }
  Index dims = leading(g.in[0]);
  dims.push_back(g.in[0].dims.back());
  return {array_of(dims, all), kNoVectors};
}

std::vector<Array> singular_values(const Given& g) {
  std::vector<Complex> all;
  for (const Matrix& m : matrices_of(g.in[0])) {
    const bool tall = m.rows >= m.columns;
    std::vector<double> squares = eigenvalues_of(tall ? product(adjoint_of(m), m) : product(m, adjoint_of(m)));
    std::ranges::reverse(squares);
    for (const double v : squares) all.emplace_back(std::sqrt(std::max(v, 0.0)));
  }
  Index dims = leading(g.in[0]);
  dims.push_back(std::min(g.in[0].dims[dims.size()], g.in[0].dims.back()));
  return {array_of(dims, all), kNoVectors, kNoVectors};
}

// Of triangular matrices, in the order in which LAPACK finds them.
std::vector<Array> values_on_diagonal(const Given& g) {
  std::vector<Complex> all;
  for (const Matrix& m : matrices_of(g.in[0])) {
    for (size_t i = 0; i < m.rows; ++i) all.push_back(m.at(i, i));
  }
  Index dims = leading(g.in[0]);
  dims.push_back(g.in[0].dims.back());
  return {array_of(dims, all), kNoVectors};
}

const Attrs kValues = {{"compute_v", false}}, kSingularValues = {{"compute_uv", false}};

Attrs with_type(DType type, Attrs attrs = {}) {
  attrs.emplace_back("Tout", type);
  return attrs;
}

const Family decompositions(
    "linalg",
    {
        {"Qr",
         {.samples = {{.in = {draw({3, 3})}},
                      {.in = {draw({2, 4, 2})}},
                      {.in = {draw({2, 4})}},
                      {.in = {draw({2, 3})}, .attrs = {{"full_matrices", true}}}},
          .errors = {{.in = {draw({3})}, .text = "input: expected a rank of at least 2, got shape [3]"}},
          .units = 64}},
        {"Svd",
         {.samples = {{.in = {draw({3, 3})}, .attrs = kSingularValues},
                      {.in = {draw({2, 4, 2})}, .attrs = kSingularValues},
                      {.in = {draw({2, 3})}, .attrs = kSingularValues},
                      {.in = {draw({0, 3})}, .attrs = kSingularValues}},
          .reference = singular_values,
          .errors = {{.in = {draw({3})}, .text = "input: expected a rank of at least 2, got shape [3]"}},
          .units = 64}},
        {"Svd",
         {.samples = {{.in = {draw_complex({2, 3, 2})}, .attrs = kSingularValues}},
          .reference = singular_values,
          .label = "complex",
          .types = dtypes::kComplex,
          .units = 64}},
        {"Svd",
         {.samples = {{.in = {draw({3, 3})}},
                      {.in = {draw({2, 4, 2})}},
                      {.in = {draw({2, 4})}},
                      {.in = {draw({2, 3})}, .attrs = {{"full_matrices", true}}},
                      {.in = {draw({3, 2})}, .attrs = {{"full_matrices", true}}}},
          .label = "vectors",
          .units = 256}},
        {"SelfAdjointEigV2",
         {.samples = {{.in = {draw({3, 3})}, .attrs = kValues},
                      {.in = {symmetric({2, 2, 2})}, .attrs = kValues},
                      {.in = {draw({0, 0})}, .attrs = kValues}},
          .reference = eigenvalues,
          .errors = {{.in = {array({1, 1}, {INFINITY})},
                      .text = "input: expected a matrix of finite numbers, got one with infinities or NaN"},
                     {.in = {draw({2, 3})}, .text = "columns of a square matrix: expected 2, got 3"}},
          .units = 64}},
        {"SelfAdjointEigV2",
         {.samples = {{.in = {draw_complex({2, 3, 3})}, .attrs = kValues}},
          .reference = eigenvalues,
          .label = "complex",
          .types = dtypes::kComplex,
          .units = 64}},
        {"SelfAdjointEigV2",
         {.samples = {{.in = {draw({3, 3})}}, {.in = {symmetric({2, 2, 2})}}}, .label = "vectors", .units = 256}},
        {"SelfAdjointEig", {.samples = {{.in = {draw({3, 3})}}}, .units = 256}},
        {"Eig",
         {.samples = {{.in = {array({2, 2}, {1.5, 2, 0, -3})}, .attrs = with_type(kComplex128, kValues)},
                      {.in = {array({2, 2, 2}, {1.5, 2, 0, -3, 2.5, 1, 0, 1})},
                       .attrs = with_type(kComplex128, kValues)}},
          .reference = values_on_diagonal,
          .errors = {{.in = {draw({2, 2})},
                      .attrs = with_type(kComplex64),
                      .text = "Tout: expected complex128 for float64, got complex64",
                      .type = kFloat64},
                     {.in = {draw({2, 3})},
                      .attrs = with_type(kComplex128),
                      .text = "columns of a square matrix: expected 2, got 3"}},
          .types = {kFloat64, kComplex128},
          .units = 64,
          .gradient = false}},
        {"Eig",
         {.samples = {{.in = {array({2, 2}, {1.5, 2, 0, -3})}, .attrs = with_type(kComplex64, kValues)}},
          .reference = values_on_diagonal,
          .errors = {{.in = {draw({2, 2})},
                      .attrs = with_type(kComplex128),
                      .text = "Tout: expected complex64 for float32, got complex128",
                      .type = kFloat32}},
          .label = "single",
          .types = {kFloat32, kComplex64},
          .units = 64,
          .gradient = false}},
    });

}  // namespace
}  // namespace panto::test::decompositions_rows
