// Samples of counts that are given as entries.
#include <algorithm>
#include <map>
#include <utility>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::counted_entries_rows {
namespace {

// row(i): of value i. `rows` is -1 for a vector.
template <class Row>
std::vector<Array> counted(const Given& g, const Array& values, const Array& weights, int64_t rows, Row row) {
  std::map<std::pair<int64_t, int64_t>, double> counts;
  const int64_t most = g.integer("maxlength");
  int64_t largest = 0;
  for (size_t i = 0; i < values.values.size(); ++i) {
    const int64_t value = integer(values, i);
    if (most > 0 && value >= most) continue;
    largest = std::max(largest, value);
    double& count = counts[{row(i), value}];
    count = g.flag("binary_output") ? 1 : count + (weights.values.empty() ? 1 : weights.values[i]);
  }
  std::vector<double> indices, sums;
  for (const auto& [place, count] : counts) {
    if (rows >= 0) indices.push_back(static_cast<double>(place.first));
    indices.push_back(static_cast<double>(place.second));
    sums.push_back(count);
  }
  const auto n = static_cast<int64_t>(sums.size());
  const auto size = static_cast<double>(most > 0 ? most : std::max(largest + 1, g.integer("minlength")));
  return {array({n, rows < 0 ? 1 : 2}, indices), list(sums),
          rows < 0 ? list({size}) : list({static_cast<double>(rows), size})};
}

std::vector<Array> dense(const Given& g) {
  const Array& x = g.in[0];
  const bool matrix = x.dims.size() == 2;
  const auto width = matrix ? static_cast<size_t>(x.dims[1]) : 1;
  return counted(g, x, g.in[1], matrix ? x.dims[0] : -1,
                 [&](size_t i) { return matrix ? static_cast<int64_t>(i / width) : 0; });
}
std::vector<Array> sparse(const Given& g) {
  const auto rank = g.in[2].values.size();
  return counted(g, g.in[1], g.in[3], rank == 1 ? -1 : integer(g.in[2]),
                 [&](size_t i) { return rank == 1 ? 0 : integer(g.in[0], i * rank); });
}
std::vector<Array> ragged(const Given& g) {
  const Index splits = integers(g.in[0]);
  return counted(g, g.in[1], g.in[2], static_cast<int64_t>(splits.size()) - 1, [&](size_t i) {
    int64_t r = 0;
    while (splits[static_cast<size_t>(r) + 1] <= static_cast<int64_t>(i)) ++r;
    return r;
  });
}

Attrs with(Attrs more, bool binary = false) {
  more.emplace_back("binary_output", binary);
  return more;
}
const Array kNone = list({}), kIndices = array({4, 2}, {0, 0, 0, 2, 1, 1, 0, 1}), kShape = list({2, 3});
const Array kValues = list({2, 0, 5, 2}), kWeights = list({3, 2, 7, 1}), kMatrix = array({2, 3}, {4, 1, 4, 0, 1, 0});

const Family counts(
    "sparse",
    {
        {"DenseCountSparseOutput",
         {.samples = {{.in = {kMatrix, kNone}, .attrs = with({})},
                      {.in = {kMatrix, array({2, 3}, {1, 2, 3, 4, 5, 6})}, .attrs = with({{"minlength", 9}})},
                      {.in = {kMatrix, kNone}, .attrs = with({{"maxlength", 4}}, true)},
                      {.in = {kValues, kWeights}, .attrs = with({})},
                      {.in = {kNone, kNone}, .attrs = with({})},
                      {.in = {array({2, 0}, {}), kNone}, .attrs = with({})}},
          .reference = dense,
          .errors =
              {{.in = {list({1, -2}), kNone}, .attrs = with({}), .text = "values[1]: expected at least 0, got -2"},
               {.in = {array({0, 2}, {}), kNone},
                .attrs = with({}),
                .text = "values: expected at least one row, got none"},
               {.in = {array({1, 1, 1}, {1}), kNone},
                .attrs = with({}),
                .text = "values: expected rank 1 or 2, got shape [1,1,1]"},
               {.in = {kMatrix, list({1})},
                .attrs = with({}),
                .text = "weights: expected shape [2,3], or none, got [1]"}},
          .data_dependent_shape = true}},
        {"SparseCountSparseOutput",
         {.samples = {{.in = {kIndices, kValues, kShape, kNone}, .attrs = with({})},
                      {.in = {kIndices, kValues, kShape, kWeights}, .attrs = with({{"maxlength", 3}})},
                      {.in = {array({3, 1}, {0, 2, 4}), list({2, 2, 1}), list({5}), list({4, 5, 6})},
                       .attrs = with({})},
                      {.in = {array({2, 3}, {0, 0, 1, 1, 0, 0}), list({1, 0}), list({3, 1, 2}), kNone},
                       .attrs = with({}, true)}},
          .reference = sparse,
          .errors = {{.in = {kIndices, kValues, list({1, 3}), kNone},
                      .attrs = with({}),
                      .text = "indices[2,0]: expected one in [0, 1), got 1"},
                     {.in = {array({0, 2}, {}), kNone, list({0, 3}), kNone},
                      .attrs = with({}),
                      .text = "dense_shape: expected at least one row, got none"},
                     {.in = {kIndices, list({2, 0, -5, 2}), kShape, kNone},
                      .attrs = with({}),
                      .text = "values[2]: expected at least 0, got -5"},
                     {.in = {kIndices, kValues, kShape, list({1, 2})},
                      .attrs = with({}),
                      .text = "weights: expected shape [4], or none, got [2]"}},
          .data_dependent_shape = true}},
        {"RaggedCountSparseOutput",
         {.samples = {{.in = {list({0, 2, 2, 4}), kValues, kNone}, .attrs = with({})},
                      {.in = {list({0, 2, 2, 4}), kValues, kWeights}, .attrs = with({{"minlength", 7}})},
                      {.in = {list({0, 0}), kNone, kNone}, .attrs = with({{"maxlength", 3}})}},
          .reference = ragged,
          .errors = {{.in = {list({0}), kNone, kNone}, .attrs = with({}), .text = "splits: expected at least 2, got 1"},
                     {.in = {list({0, 2, 1, 4}), kValues, kNone},
                      .attrs = with({}),
                      .text = "splits[2]: expected at least 2, the one before, got 1"},
                     {.in = {list({0, 2}), kValues, kNone},
                      .attrs = with({}),
                      .text = "splits: expected 4 at the end, the number of elements, got 2"}},
          .data_dependent_shape = true}},
    });

}  // namespace
}  // namespace panto::test::counted_entries_rows
