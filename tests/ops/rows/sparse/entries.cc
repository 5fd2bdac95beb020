// Samples of ops on the entries of sparse tensors. References find for each entry what belongs to it by searching all.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::entries_rows {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

const Array kA = array({2, 2}, {0, 0, 1, 1}), kB = array({3, 2}, {0, 0, 0, 2, 1, 1}), kNone = array({0, 2}, {});
const Array kShape = list({2, 3});

Index row(const Array& indices, size_t i) {
  const auto rank = static_cast<size_t>(indices.dims[1]);
  Index index;
  for (size_t d = 0; d < rank; ++d) index.push_back(integer(indices, i * rank + d));
  return index;
}
std::vector<Index> rows(const Array& indices) {
  std::vector<Index> all;
  for (size_t i = 0; i < static_cast<size_t>(indices.dims[0]); ++i) all.push_back(row(indices, i));
  return all;
}
Array matrix(const std::vector<Index>& indices, int64_t rank) {
  Array a;
  a.dims = {static_cast<int64_t>(indices.size()), rank};
  for (const Index& index : indices) a.values.insert(a.values.end(), index.begin(), index.end());
  return a;
}
std::optional<size_t> find(const Array& indices, const Index& index) {
  const std::vector<Index> all = rows(indices);
  const auto it = std::ranges::find(all, index);
  return it == all.end() ? std::nullopt : std::optional(static_cast<size_t>(it - all.begin()));
}

// Each entry goes behind those that are before it, and its equals that were first.
std::vector<Array> reordered(const Given& g) {
  const std::vector<Index> all = rows(g.in[0]);
  std::vector<Index> indices(all.size());
  Array values = g.in[1];
  for (size_t i = 0; i < all.size(); ++i) {
    size_t to = 0;
    for (size_t j = 0; j < all.size(); ++j) to += all[j] < all[i] || (all[j] == all[i] && j < i) ? 1 : 0;
    indices[to] = all[i];
    values.values[to] = g.in[1].values[i];
  }
  return {matrix(indices, g.in[0].dims[1]), values};
}

const Array kMixed = array({4, 2}, {1, 0, 0, 2, 1, 0, 0, 1});
const std::vector<Sample> kReorder = {{.in = {kMixed, draw({4}), kShape}},
                                      {.in = {kB, draw({3}), kShape}},
                                      {.in = {array({3, 1}, {4, 2, 3}), draw({3}), list({5})}},
                                      {.in = {array({2, 2}, {1, 5, 0, -1}), draw({2}), kShape}},
                                      {.in = {kNone, list({}), kShape}}};
const std::vector<ErrorSample> kReorderErrors = {
    {.in = {kMixed, draw({3}), kShape}, .text = "number of indices and values"},
    {.in = {kMixed, draw({4}), list({2, 2, 2})}, .text = "rank of indices and shape"},
    {.in = {list({1, 2}), draw({2}), kShape}},
    {.in = {kMixed, draw({4, 1}), kShape}}};

std::vector<Array> added(const Given& g) {
  const Array &a = g.in[0], &x = g.in[1], &b = g.in[3], &y = g.in[4];
  std::vector<Index> all = rows(a);
  for (const Index& index : rows(b)) {
    if (!find(a, index)) all.push_back(index);
  }
  std::ranges::sort(all);
  std::vector<Index> indices;
  Array values;
  for (const Index& index : all) {
    const auto i = find(a, index), j = find(b, index);
    const double sum = (i ? x.values[*i] : 0) + (j ? y.values[*j] : 0);
    if (i && j && !(std::abs(sum) >= g.in[6].values[0])) continue;
    indices.push_back(index);
    values.values.push_back(sum);
  }
  values.dims = {static_cast<int64_t>(values.values.size())};
  return {matrix(indices, a.dims[1]), values, g.in[2]};
}

const std::vector<Sample> kAdd = {
    {.in = {kA, draw({2}), kShape, kB, draw({3}, -2, 2, 1), kShape, scalar(0)}},
    {.in = {kB, list({2, 2, 3}), kShape, kA, list({4, 1}), kShape, scalar(5)}},
    {.in = {kA, list({1, 2}), kShape, array({2, 2}, {0, 1, 1, 2}), list({3, 1}), kShape, scalar(9)}},
    {.in = {kA, draw({2}), kShape, kNone, list({}), kShape, scalar(0)}},
    {.in = {kNone, list({}), kShape, kNone, list({}), kShape, scalar(0)}}};
const std::vector<ErrorSample> kAddErrors = {
    {.in = {kA, draw({2}), kShape, kB, draw({3}), list({2, 4}), scalar(0)},
     .text = "dimensions of a_shape and b_shape: expected 3, got 4"},
    {.in = {kA, draw({2}), kShape, array({1, 1}, {0}), draw({1}), list({2}), scalar(0)},
     .text = "rank of a_indices and b_indices"},
    {.in = {kA, draw({3}), kShape, kB, draw({3}), kShape, scalar(0)}, .text = "number of indices and values"},
    {.in = {kA, draw({2}), kShape, kB, draw({3}), kShape, list({0})}, .text = "thresh"},
    {.in = {array({1, 0}, {}), draw({1}), list({}), array({1, 0}, {}), draw({1}), list({}), scalar(0)},
     .text = "a_shape: expected at least one dimension, got none"}};

// The gradient of the sum's entry at each index.
std::vector<Array> add_gradients(const Given& g) {
  std::vector<Array> out;
  for (const size_t operand : {size_t{1}, size_t{2}}) {
    Array y;
    y.dims = {g.in[operand].dims[0]};
    for (const Index& index : rows(g.in[operand])) {
      const auto k = find(g.in[3], index);
      y.values.push_back(k ? g.in[0].values[*k] : 0);
    }
    out.push_back(y);
  }
  return out;
}

const std::vector<Sample> kAddGrad = {{.in = {draw({3}), kA, kB, kB}},
                                      {.in = {draw({2}), kA, kB, array({2, 2}, {0, 2, 1, 1})}},
                                      {.in = {draw({1}), kA, kB, array({1, 2}, {0, 1})}},
                                      {.in = {draw({2}), kA, kNone, kA}},
                                      {.in = {list({}), kA, kB, kNone}}};
const std::vector<ErrorSample> kAddGradErrors = {
    {.in = {draw({2}), kA, kB, kB}, .text = "number of gradients and sum_indices"},
    {.in = {draw({3}), array({2, 1}, {0, 1}), kB, kB}, .text = "rank of a_indices and b_indices"}};

std::vector<Array> filled(const Given& g) {
  const std::vector<Index> all = rows(g.in[0]);
  const int64_t rank = g.in[0].dims[1];
  std::vector<Index> indices;
  Array values, empty, map;
  map.values.resize(all.size());
  for (int64_t r = 0; r < integer(g.in[2]); ++r) {
    bool none = true;
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i][0] != r) continue;
      none = false;
      map.values[i] = static_cast<double>(indices.size());
      indices.push_back(all[i]);
      values.values.push_back(g.in[1].values[i]);
    }
    if (none) {
      Index index(static_cast<size_t>(rank));
      index[0] = r;
      indices.push_back(index);
      values.values.push_back(g.in[3].values[0]);
    }
    empty.values.push_back(none ? 1 : 0);
  }
  values.dims = {static_cast<int64_t>(values.values.size())};
  empty.dims = {static_cast<int64_t>(empty.values.size())};
  map.dims = {static_cast<int64_t>(map.values.size())};
  return {matrix(indices, rank), values, empty, map};
}

const std::vector<Sample> kFill = {{.in = {array({3, 2}, {0, 1, 2, 0, 2, 2}), draw({3}), list({4, 3}), scalar(1)}},
                                   {.in = {array({3, 2}, {2, 1, 0, 0, 2, 0}), draw({3}), list({4, 3}), scalar(1)}},
                                   {.in = {kA, draw({2}), kShape, scalar(1)}},
                                   {.in = {array({1, 1}, {1}), draw({1}), list({3}), scalar(0)}},
                                   {.in = {array({1, 3}, {1, 1, 9}), draw({1}), list({2, 2, 2}), scalar(0)}},
                                   {.in = {kNone, list({}), kShape, scalar(1)}},
                                   {.in = {kNone, list({}), list({0, 3}), scalar(1)}}};
const std::vector<ErrorSample> kFillErrors = {
    {.in = {array({1, 2}, {5, 1}), draw({1}), kShape, scalar(0)},
     .text = "indices[0,0]: expected one in [0, 2), got 5"},
    {.in = {array({1, 2}, {-1, 1}), draw({1}), kShape, scalar(0)},
     .text = "indices[0,0]: expected one in [0, 2), got -1"},
    {.in = {kA, draw({2}), list({0, 3}), scalar(0)}, .text = "indices[0,0]: expected one in [0, 0), got 0"},
    {.in = {kA, draw({3}), kShape, scalar(0)}, .text = "number of indices and values"},
    {.in = {kA, draw({2}), kShape, list({0})}, .text = "default_value"},
    {.in = {kA, draw({2}), list({-2, 3}), scalar(0)}, .text = "dense_shape: expected at least 0 rows, got -2"},
    {.in = {kA, draw({2}), list({2, 3, 4}), scalar(0)}, .text = "rank of indices and shape"},
    {.in = {array({1, 0}, {}), draw({1}), list({}), scalar(0)},
     .text = "dense_shape: expected at least one dimension, got none"}};

std::vector<Array> fill_gradients(const Given& g) {
  Array values = g.in[0];
  double rest = 0;
  for (size_t i = 0; i < values.values.size(); ++i)
    values.values[i] = g.in[1].values[static_cast<size_t>(integer(g.in[0], i))];
  for (size_t i = 0; i < g.in[1].values.size(); ++i) {
    if (std::ranges::count(g.in[0].values, static_cast<double>(i)) == 0) rest += g.in[1].values[i];
  }
  return {values, scalar(rest)};
}

const std::vector<Sample> kFillGrad = {{.in = {list({0, 2, 3}), draw({5})}},
                                       {.in = {list({1, 1}), draw({3})}},
                                       {.in = {list({}), draw({3})}},
                                       {.in = {list({}), list({})}}};
const std::vector<ErrorSample> kFillGradErrors = {
    {.in = {list({0, 7}), draw({5})}, .text = "reverse_index_map[1]: expected one in [0, 5), got 7"},
    {.in = {list({-1}), draw({5})}, .text = "reverse_index_map[0]: expected one in [0, 5), got -1"},
    {.in = {array({1, 1}, {0}), draw({5})}}};

// Over all entries with the same leading indices, in the order of the indices.
std::vector<Array> softmax(const Given& g) {
  const std::vector<Array> sorted = reordered(g);
  const std::vector<Index> all = rows(sorted[0]);
  const auto same_row = [](Index a, Index b) {
    a.pop_back();
    b.pop_back();
    return a == b;
  };
  Array y = sorted[1];
  for (size_t i = 0; i < all.size(); ++i) {
    double sum = 0;
    for (size_t j = 0; j < all.size(); ++j) {
      if (same_row(all[i], all[j])) sum += std::exp(sorted[1].values[j] - sorted[1].values[i]);
    }
    y.values[i] = 1 / sum;
  }
  return {y};
}

const Array kCube = array({5, 3}, {0, 0, 1, 0, 1, 0, 0, 1, 2, 1, 0, 0, 1, 1, 1});
const std::vector<Sample> kSoftmax = {{.in = {kB, draw({3}), kShape}},
                                      {.in = {kCube, draw({5}), list({2, 2, 3})}},
                                      {.in = {array({3, 2}, {1, 2, 1, 0, 0, 0}), draw({3}), kShape}},
                                      {.in = {kNone, list({}), kShape}}};
const std::vector<ErrorSample> kSoftmaxErrors = {
    {.in = {array({2, 1}, {0, 1}), draw({2}), list({2})}, .text = "sp_shape: expected at least 2 dimensions, got 1"},
    {.in = {kB, draw({2}), kShape}, .text = "number of indices and values"},
    {.in = {kB, draw({3}), list({1099511627776.0, 1099511627776.0})}},
    {.in = {kB, draw({3}), list({-2, 3})}}};

const Family entries(
    "sparse",
    {
        {"SparseReorder", {.samples = kReorder, .reference = reordered, .errors = kReorderErrors}},
        {"SparseReorder",
         {.samples = {{.in = {array({2, 2}, {1, 0, 0, 1}), texts({2}, {"b", "a"}), kShape},
                       .out = {array({2, 2}, {0, 1, 1, 0}), texts({2}, {"a", "b"})}}},
          .label = "strings",
          .types = {kString}}},
        {"SparseAdd", {.samples = kAdd, .reference = added, .errors = kAddErrors, .data_dependent_shape = true}},
        {"SparseAdd",
         {.samples = {{.in = {kA, list({kNan, 3}), kShape, kA, list({1, -3}), kShape, scalar(0)}},
                      {.in = {kA, list({1, 3}), kShape, kA, list({-1, -3}), kShape, scalar(-1)}}},
          .reference = added,
          .label = "special",
          .types = dtypes::kFloating,
          .gradient = false,
          .data_dependent_shape = true}},
        {"SparseAdd",
         {.samples = {{.in = {kA, complexes({2}, {{0, 3}, {1, 1}}), kShape, kA, complexes({2}, {{0, 1}, {1, -1}}),
                              kShape, scalar(3)},
                       .out = {array({1, 2}, {0, 0}), complexes({1}, {{0, 4}}), kShape}}},
          .label = "complex",
          .types = dtypes::kComplex,
          .data_dependent_shape = true}},
        {"SparseAddGrad", {.samples = kAddGrad, .reference = add_gradients, .errors = kAddGradErrors}},
        {"SparseFillEmptyRows",
         {.samples = kFill, .reference = filled, .errors = kFillErrors, .data_dependent_shape = true}},
        {"SparseFillEmptyRowsGrad", {.samples = kFillGrad, .reference = fill_gradients, .errors = kFillGradErrors}},
        {"SparseSoftmax", {.samples = kSoftmax, .reference = softmax, .errors = kSoftmaxErrors}},
        {"SparseSoftmax",
         {.samples = {{.in = {kB, list({kNan, 1, 2}), kShape}, .out = {list({kNan, kNan, 1})}},
                      {.in = {kB, list({kInf, 1, 2}), kShape}, .out = {list({kNan, kNan, 1})}},
                      {.in = {kB, list({-kInf, 1, 2}), kShape}, .out = {list({0, 1, 1})}},
                      {.in = {kB, list({-kInf, -kInf, 2}), kShape}, .out = {list({kNan, kNan, 1})}},
                      {.in = {kB, list({900, -900, 2}), kShape}, .out = {list({1, 0, 1})}}},
          .label = "special",
          .gradient = false}},
    });

}  // namespace
}  // namespace panto::test::entries_rows
