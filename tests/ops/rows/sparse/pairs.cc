// Samples of pairs of tensors, one or both of them sparse. References write out dense tensors, in float64.
#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::pairs_rows {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const Array kA = array({3, 2}, {0, 0, 0, 2, 1, 1}), kB = array({3, 2}, {0, 0, 0, 1, 1, 1}), kNone = array({0, 2}, {});
const Array kShape = list({2, 3});

std::vector<Array> added(const Given& g) {
  std::vector<Complex> y;
  const Index& dims = g.in[3].dims;
  for (size_t i = 0; i < g.in[3].values.size(); ++i) y.push_back(g.in[3].complex(i));
  for (size_t i = 0; i < g.in[1].values.size(); ++i) {
    size_t at = 0;
    for (size_t d = 0; d < dims.size(); ++d) {
      at = at * static_cast<size_t>(dims[d]) + static_cast<size_t>(integer(g.in[0], i * dims.size() + d));
    }
    y[at] += g.in[1].complex(i);
  }
  Array sum = complexes(dims, y);
  if (g.in[3].imag.empty()) sum.imag.clear();
  return {sum};
}

const std::vector<Sample> kDenseAdd = {
    {.in = {kA, draw({3}), kShape, draw({2, 3}, -2, 2, 1)}},
    {.in = {array({3, 2}, {1, 2, 0, 0, 1, 2}), list({1, 2, 3}), kShape, draw({2, 3})}},
    {.in = {array({2, 1}, {3, 1}), draw({2}), list({4}), draw({4}, -2, 2, 1)}},
    {.in = {array({1, 3}, {1, 0, 1}), draw({1}), list({2, 1, 2}), draw({2, 1, 2}, -2, 2, 1)}},
    {.in = {kNone, list({}), kShape, draw({2, 3})}},
    {.in = {kNone, list({}), list({0, 3}), array({0, 3}, {})}}};
const std::vector<ErrorSample> kDenseAddErrors = {
    {.in = {kA, draw({3}), kShape, draw({1, 3})}, .text = "dimensions of a_shape and b: expected 2, got 1"},
    {.in = {kA, draw({3}), list({3, 2}), draw({2, 3})}, .text = "dimensions of a_shape and b: expected 3, got 2"},
    {.in = {kA, draw({3}), kShape, draw({3})}, .text = "rank of the entries and of b: expected 2, got 1"},
    {.in = {array({1, 2}, {0, 3}), draw({1}), kShape, draw({2, 3})},
     .text = "a_indices[0,1]: expected one in [0, 3), got 3"},
    {.in = {array({1, 2}, {-1, 0}), draw({1}), kShape, draw({2, 3})},
     .text = "a_indices[0,0]: expected one in [0, 2), got -1"},
    {.in = {kA, draw({2}), kShape, draw({2, 3})}, .text = "number of indices and values"}};

using Pick = double (*)(double, double);
double larger(double a, double b) { return std::max(a, b); }
double smaller(double a, double b) { return std::min(a, b); }

Reference extremes(Pick pick) {
  return [pick](const Given& g) {
    std::map<Index, std::pair<double, double>> elements;
    for (size_t i = 0; i < g.in[1].values.size(); ++i) {
      elements[{integer(g.in[0], 2 * i), integer(g.in[0], 2 * i + 1)}].first = g.in[1].values[i];
    }
    for (size_t i = 0; i < g.in[4].values.size(); ++i) {
      elements[{integer(g.in[3], 2 * i), integer(g.in[3], 2 * i + 1)}].second = g.in[4].values[i];
    }
    Array indices, values;
    for (const auto& [index, pair] : elements) {
      indices.values.insert(indices.values.end(), index.begin(), index.end());
      values.values.push_back(pick(pair.first, pair.second));
    }
    values.dims = {static_cast<int64_t>(elements.size())};
    indices.dims = {values.dims[0], 2};
    return std::vector<Array>{indices, values};
  };
}

const std::vector<Sample> kExtremes = {{.in = {kA, draw({3}), kShape, kB, draw({3}, -2, 2, 1), kShape}},
                                       {.in = {kA, list({1, 3, 5}), kShape, kB, list({4, 2, 7}), kShape}},
                                       {.in = {kA, draw({3}), kShape, kNone, list({}), kShape}},
                                       {.in = {kNone, list({}), kShape, kB, draw({3}), kShape}},
                                       {.in = {kNone, list({}), kShape, kNone, list({}), kShape}}};
const std::vector<ErrorSample> kExtremesErrors = {
    {.in = {kA, draw({3}), kShape, kB, draw({3}), list({2, 4})},
     .text = "dimensions of a_shape and b_shape: expected 3, got 4"},
    {.in = {kA, draw({3}), kShape, array({1, 2}, {0, 3}), draw({1}), kShape},
     .text = "b_indices[0,1]: expected one in [0, 3), got 3"},
    {.in = {array({1, 2}, {-1, 0}), draw({1}), kShape, kB, draw({3}), kShape},
     .text = "a_indices[0,0]: expected one in [0, 2), got -1"},
    {.in = {kA, draw({3}), kShape, array({1, 1}, {0}), draw({1}), list({2})},
     .text = "rank of a_indices and b_indices"},
    {.in = {array({1, 0}, {}), draw({1}), list({}), array({1, 0}, {}), draw({1}), list({})},
     .text = "a_shape: expected at least one dimension, got none"}};
// What one tensor has alone is compared with 0; and NaN.
const std::vector<Sample> kNans = {{.in = {kA, list({kNan, -1, 2}), kShape, kB, list({1, kNan, kNan}), kShape},
                                    .out = {array({4, 2}, {0, 0, 0, 1, 0, 2, 1, 1}), list({kNan, kNan, 0, kNan})}}};

std::vector<Array> product(const Given& g) {
  const bool ta = g.flag("transpose_a"), tb = g.flag("transpose_b");
  const Array &a = g.in[0], &b = g.in[1];
  const int64_t inner = a.dims[ta ? 0 : 1];
  return {make({a.dims[ta ? 1 : 0], b.dims[tb ? 0 : 1]}, [&](const Index& i) {
    double total = 0;
    for (int64_t k = 0; k < inner; ++k) {
      total += at(a, ta ? Index{k, i[0]} : Index{i[0], k}) * at(b, tb ? Index{i[1], k} : Index{k, i[1]});
    }
    return total;
  })};
}

const std::vector<Sample> kProducts = {
    {.in = {zeros_and_ones({2, 3}), draw({3, 4})}},
    {.in = {draw({3, 2}), zeros_and_ones({3, 4})}, .attrs = {{"transpose_a", true}, {"b_is_sparse", true}}},
    {.in = {draw({2, 3}), draw({4, 3})}, .attrs = {{"transpose_b", true}, {"a_is_sparse", true}}},
    {.in = {draw({3, 2}), draw({4, 3})}, .attrs = {{"transpose_a", true}, {"transpose_b", true}}},
    {.in = {array({2, 0}, {}), array({0, 3}, {})}}};
const std::vector<ErrorSample> kProductErrors = {{.in = {draw({2, 3}), draw({2, 3})}},
                                                 {.in = {draw({3}), draw({3, 2})}}};

const Family pairs("sparse",
                   {
                       {"SparseTensorDenseAdd", {.samples = kDenseAdd, .reference = added, .errors = kDenseAddErrors}},
                       {"SparseTensorDenseAdd",
                        {.samples = {{.in = {kA, draw_complex({3}), kShape, draw_complex({2, 3}, -2, 2, 1)}}},
                         .reference = added,
                         .label = "complex",
                         .types = dtypes::kComplex}},
                       {"SparseSparseMaximum",
                        {.samples = kExtremes,
                         .reference = extremes(larger),
                         .errors = kExtremesErrors,
                         .data_dependent_shape = true}},
                       {"SparseSparseMaximum",
                        {.samples = kNans,
                         .label = "NaN",
                         .types = dtypes::kFloating,
                         .gradient = false,
                         .data_dependent_shape = true}},
                       {"SparseSparseMinimum",
                        {.samples = kExtremes,
                         .reference = extremes(smaller),
                         .errors = kExtremesErrors,
                         .data_dependent_shape = true}},
                       {"SparseMatMul", {.samples = kProducts, .reference = product, .errors = kProductErrors}},
                   });

}  // namespace
}  // namespace panto::test::pairs_rows
