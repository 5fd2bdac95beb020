// Samples of sets. References keep one std::set for each row.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::sets_rows {
namespace {

using Sets = std::map<Index, std::set<double>>;

Sets sets_of(const Array& dense) {
  Sets sets;
  for_each_index(dense.dims,
                 [&](const Index& index) { sets[{index.begin(), index.end() - 1}].insert(at(dense, index)); });
  return sets;
}
Sets sets_of(const Array& indices, const Array& values) {
  const Index all = integers(indices);
  const int64_t rank = indices.dims[1];
  Sets sets;
  for (int64_t i = 0; i < indices.dims[0]; ++i) {
    const auto row = all.begin() + i * rank;
    sets[{row, row + rank - 1}].insert(values.values[static_cast<size_t>(i)]);
  }
  return sets;
}

std::vector<Array> operated(const Given& g, Index dims, Sets a, Sets b) {
  const std::string operation = g.text("set_operation");
  Sets result;
  const auto take = [&](const Sets& from, const Sets& other, bool wanted, bool unwanted) {
    for (const auto& [row, set] : from) {
      for (const double value : set) {
        const bool in_other = other.contains(row) && other.at(row).contains(value);
        if ((in_other && wanted) || (!in_other && unwanted)) result[row].insert(value);
      }
    }
  };
  if (operation == "intersection") take(a, b, true, false);
  if (operation == "a-b" || operation == "union") take(a, b, operation == "union", true);
  if (operation == "b-a" || operation == "union") take(b, a, operation == "union", true);
  Array indices, values, shape;
  int64_t largest = 0;
  for (const auto& [row, set] : result) {
    int64_t position = 0;
    for (const double value : set) {
      indices.values.insert(indices.values.end(), row.begin(), row.end());
      indices.values.push_back(static_cast<double>(position++));
      values.values.push_back(value);
    }
    largest = std::max(largest, position);
  }
  dims.back() = largest;
  values.dims = {static_cast<int64_t>(values.values.size())};
  shape.dims = {static_cast<int64_t>(dims.size())};
  shape.values.assign(dims.begin(), dims.end());
  indices.dims = {values.dims[0], shape.dims[0]};
  return {indices, values, shape};
}

std::vector<Array> dense(const Given& g) { return operated(g, g.in[0].dims, sets_of(g.in[0]), sets_of(g.in[1])); }
std::vector<Array> mixed(const Given& g) {
  return operated(g, g.in[0].dims, sets_of(g.in[0]), sets_of(g.in[1], g.in[2]));
}
std::vector<Array> sparse(const Given& g) {
  return operated(g, integers(g.in[2]), sets_of(g.in[0], g.in[1]), sets_of(g.in[3], g.in[4]));
}
std::vector<Array> sizes(const Given& g) {
  const Sets sets = sets_of(g.in[0], g.in[1]);
  Index dims = integers(g.in[2]);
  dims.pop_back();
  return {make(dims,
               [&](const Index& row) { return sets.contains(row) ? static_cast<double>(sets.at(row).size()) : 0.0; })};
}

// For each operation.
std::vector<Sample> each(const std::vector<std::vector<Array>>& inputs) {
  std::vector<Sample> samples;
  for (const char* operation : {"a-b", "b-a", "intersection", "union"}) {
    for (const std::vector<Array>& in : inputs) samples.push_back({.in = in, .attrs = {{"set_operation", operation}}});
  }
  return samples;
}

const Array kIndices = array({3, 2}, {0, 0, 0, 2, 1, 1}), kShape = list({2, 3}), kNone = array({0, 2}, {});
const Array kMatrix = array({2, 3}, {3, 1, 1, 4, 5, 6});
const Attrs kUnion = {{"set_operation", "union"}};
const Attrs kUnordered = {{"set_operation", "union"}, {"validate_indices", false}};

const std::vector<Sample> kDense = each({{kMatrix, array({2, 2}, {1, 9, 6, 6})},
                                         {array({2, 2, 2}, {3, 1, 1, 1, 4, 5, 6, 6}), array({2, 2, 1}, {1, 9, 6, 6})},
                                         {array({2, 0}, {}), array({2, 2}, {1, 9, 6, 6})},
                                         {array({0, 2}, {}), array({0, 3}, {})}});
const std::vector<ErrorSample> kDenseErrors = {
    {.in = {kMatrix, kMatrix}, .attrs = {{"set_operation", "sum"}}, .text = "set_operation: expected a-b, b-a"},
    {.in = {list({1, 2}), list({1, 3})}, .attrs = kUnion, .text = "set1: expected at least 2 dimensions, got 1"},
    {.in = {kMatrix, array({1, 2}, {1, 9})}, .attrs = kUnion, .text = "dimensions before the last: expected 2, got 1"},
    {.in = {kMatrix, array({2, 1, 1}, {1, 9})}, .attrs = kUnion, .text = "rank of the sets: expected 2, got 3"}};

const std::vector<Sample> kMixed = each({{kMatrix, kIndices, list({1, 9, 6}), kShape},
                                         {kMatrix, array({1, 2}, {1, 0}), list({6}), list({2, 1})},
                                         {kMatrix, kNone, list({}), kShape}});
const std::vector<ErrorSample> kMixedErrors = {
    {.in = {kMatrix, array({2, 2}, {0, 1, 0, 0}), list({1, 2}), kShape},
     .attrs = kUnion,
     .text = "indices[1]: expected one after the one before, got one that is out of order"},
    {.in = {kMatrix, array({2, 2}, {0, 1, 0, 1}), list({1, 2}), kShape},
     .attrs = kUnion,
     .text = "indices[1]: expected one after the one before, got one that is repeated"},
    {.in = {kMatrix, array({1, 2}, {2, 0}), list({1}), kShape},
     .attrs = kUnordered,
     .text = "indices[0,0]: expected one in [0, 2), got 2"},
    {.in = {kMatrix, array({1, 2}, {1, -1}), list({1}), kShape},
     .attrs = kUnordered,
     .text = "indices[0,1]: expected one in [0, 3), got -1"},
    {.in = {kMatrix, kIndices, list({1, 9, 6}), list({3, 3})},
     .attrs = kUnion,
     .text = "dimensions before the last: expected 2, got 3"},
    {.in = {kMatrix, kIndices, list({1, 9}), kShape}, .attrs = kUnion, .text = "number of indices and values"},
    {.in = {kMatrix, kIndices, list({1, 9, 6}), list({2, -3})},
     .attrs = kUnion,
     .text = "set2_shape[1]: expected at least 0, got -3"}};

const std::vector<Sample> kSparse = each({{array({3, 2}, {0, 0, 0, 1, 2, 0}), list({1, 2, 3}), list({4, 2}),
                                           array({3, 2}, {0, 0, 1, 0, 2, 1}), list({2, 9, 3}), list({4, 3})},
                                          {array({1, 3}, {1, 0, 1}), list({5}), list({2, 2, 3}),
                                           array({2, 3}, {1, 0, 0, 1, 1, 0}), list({5, 5}), list({2, 2, 1})},
                                          {kNone, list({}), kShape, kNone, list({}), list({2, 1})}});
const std::vector<ErrorSample> kSparseErrors = {
    {.in = {kIndices, list({1, 9, 6}), kShape, kNone, list({}), list({3, 3})},
     .attrs = kUnion,
     .text = "dimensions before the last: expected 2, got 3"},
    {.in = {array({1, 1}, {0}), list({1}), list({3}), array({1, 1}, {0}), list({1}), list({3})},
     .attrs = kUnion,
     .text = "set1_shape: expected at least 2 dimensions, got 1"},
    {.in = {kNone, list({}), kShape, array({1, 2}, {0, 3}), list({1}), kShape},
     .attrs = kUnion,
     .text = "indices[0,1]: expected one in [0, 3), got 3"},
    {.in = {kNone, list({}), list({1099511627776.0, 1099511627776.0}), kNone, list({}), kShape}, .attrs = kUnion}};

const std::vector<Sample> kSizes = {
    {.in = {kIndices, list({5, 5, 7}), kShape}},
    {.in = {kIndices, list({5, 6, 7}), kShape}},
    {.in = {array({4, 3}, {0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 0, 2}), list({1, 2, 1, 1}), list({2, 2, 3})}},
    {.in = {array({3, 2}, {1, 0, 0, 0, 1, 2}), list({1, 2, 3}), kShape}, .attrs = {{"validate_indices", false}}},
    {.in = {kNone, list({}), kShape}},
    {.in = {kNone, list({}), list({0, 3})}}};
const std::vector<ErrorSample> kSizesErrors = {
    {.in = {array({2, 2}, {0, 1, 0, 1}), list({1, 2}), kShape},
     .text = "indices[1]: expected one after the one before, got one that is repeated"},
    {.in = {array({1, 2}, {2, 0}), list({1}), kShape}, .text = "indices[0,0]: expected one in [0, 2), got 2"},
    {.in = {array({1, 2}, {1, 3}), list({1}), kShape},
     .attrs = {{"validate_indices", false}},
     .text = "indices[0,1]: expected one in [0, 3), got 3"},
    {.in = {array({1, 1}, {0}), list({1}), list({3})}, .text = "set_shape: expected at least 2 dimensions, got 1"}};

const Family family(
    "sparse",
    {
        {"SetSize", {.samples = kSizes, .reference = sizes, .errors = kSizesErrors}},
        {"DenseToDenseSetOperation",
         {.samples = kDense, .reference = dense, .errors = kDenseErrors, .data_dependent_shape = true}},
        {"DenseToDenseSetOperation",
         {.samples = {{.in = {texts({1, 2}, {"b", "a"}), texts({1, 3}, {"c", "b", "Z"})},
                       .attrs = {{"set_operation", "UNION"}},
                       .out = {array({4, 2}, {0, 0, 0, 1, 0, 2, 0, 3}), texts({4}, {"Z", "a", "b", "c"}),
                               list({1, 4})}}},
          .label = "strings",
          .types = {kString},
          .data_dependent_shape = true}},
        {"DenseToSparseSetOperation",
         {.samples = kMixed, .reference = mixed, .errors = kMixedErrors, .data_dependent_shape = true}},
        {"DenseToSparseSetOperation",
         {.samples = {{.in = {kMatrix, array({2, 2}, {1, 1, 0, 0}), list({8, 7}), kShape}, .attrs = kUnordered}},
          .reference = mixed,
          .label = "unordered",
          .data_dependent_shape = true}},
        {"SparseToSparseSetOperation",
         {.samples = kSparse, .reference = sparse, .errors = kSparseErrors, .data_dependent_shape = true}},
    });

}  // namespace
}  // namespace panto::test::sets_rows
