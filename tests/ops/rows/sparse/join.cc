// Samples of sparse tensors that are put together and cut. References keep entries in a map by index.
#include <map>
#include <string>
#include <utility>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::sparse_join_rows {
namespace {

const Array kA = array({3, 2}, {0, 0, 0, 2, 1, 1}), kB = array({2, 2}, {1, 1, 0, 0}), kNone = array({0, 2}, {});
const Array kShape = list({2, 3});

using Entries = std::multimap<Index, double>;

void add_entries(Entries& to, const Array& indices, const Array& values, size_t along, int64_t offset) {
  const size_t rank = static_cast<size_t>(indices.dims[1]);
  for (size_t i = 0; i < values.values.size(); ++i) {
    Index index;
    for (size_t d = 0; d < rank; ++d) index.push_back(integer(indices, i * rank + d));
    index[along] += offset;
    to.emplace(index, values.values[i]);  // behind its equals
  }
}

std::vector<Array> joined(const Given& g) {
  const auto n = static_cast<size_t>(g.integer("N"));
  Index dims = integers(g.in[2 * n]);
  const size_t along = normal_axis(g.integer("concat_dim"), dims.size());
  dims[along] = 0;
  Entries entries;
  for (size_t i = 0; i < n; ++i) {
    add_entries(entries, g.in[i], g.in[n + i], along, dims[along]);
    dims[along] += integer(g.in[2 * n + i], along);
  }
  Array indices, values, shape;
  for (const auto& [index, value] : entries) {
    indices.values.insert(indices.values.end(), index.begin(), index.end());
    values.values.push_back(value);
  }
  values.dims = {static_cast<int64_t>(entries.size())};
  indices.dims = {values.dims[0], static_cast<int64_t>(dims.size())};
  shape.dims = {indices.dims[1]};
  shape.values.assign(dims.begin(), dims.end());
  return {indices, values, shape};
}

const Attrs kTwoRows = {{"concat_dim", 0}, {"N", 2}}, kTwoColumns = {{"concat_dim", -1}, {"N", 2}};
const std::vector<Sample> kConcat = {
    {.in = {kA, kB, draw({3}), draw({2}), kShape, kShape}, .attrs = kTwoRows},
    {.in = {kA, kB, draw({3}), draw({2}), kShape, list({2, 5})}, .attrs = kTwoColumns},
    {.in = {kB, kA, kNone, draw({2}), draw({3}), list({}), kShape, kShape, list({0, 3})},
     .attrs = {{"concat_dim", 0}, {"N", 3}}},
    {.in = {array({2, 1}, {3, 1}), array({1, 1}, {0}), draw({2}), draw({1}), list({4}), list({2})}, .attrs = kTwoRows},
    {.in = {array({2, 2}, {0, 1, 0, 1}), kB, draw({2}), draw({2}), kShape, kShape}, .attrs = kTwoColumns},
    {.in = {array({2, 2}, {-1, 0, 0, 7}), kB, draw({2}), draw({2}), kShape, kShape}, .attrs = kTwoColumns},
    {.in = {kNone, kNone, list({}), list({}), kShape, list({0, 3})}, .attrs = kTwoRows}};
const std::vector<ErrorSample> kConcatErrors = {
    {.in = {kA, kB, draw({3}), draw({2}), kShape, list({2, 5})},
     .attrs = kTwoRows,
     .text = "other dimensions of the shapes: expected 3, got 5"},
    {.in = {kA, kB, draw({3}), draw({2}), kShape, kShape},
     .attrs = {{"concat_dim", 2}, {"N", 2}},
     .text = "concat_dim: expected one in [-2, 2), got 2"},
    {.in = {kA, array({1, 1}, {0}), draw({3}), draw({1}), kShape, list({2})},
     .attrs = kTwoRows,
     .text = "rank of the tensors"},
    {.in = {kA, kB, draw({3}), draw({3}), kShape, kShape}, .attrs = kTwoRows, .text = "number of indices and values"},
    {.in = {kA, kB, draw({3}), draw({2}), kShape, list({-2, 3})},
     .attrs = kTwoRows,
     .text = "shapes[1]: expected dimensions of at least 0, got -2"},
    {.in = {kNone, kNone, list({}), list({}), list({4611686018427387904.0, 1}), list({4611686018427387904.0, 1})},
     .attrs = kTwoRows,
     .text = "dimension: expected a sum below 2^63"},
    {.in = {array({1, 0}, {}), array({1, 0}, {}), draw({1}), draw({1}), list({}), list({})}, .attrs = kTwoRows}};

// Each entry goes to the part that its index is found in, part by part.
std::vector<Array> cut(const Given& g) {
  const auto parts = g.integer("num_split");
  const Index dims = integers(g.in[3]);
  const size_t rank = dims.size(), along = normal_axis(integer(g.in[0]), rank);
  std::vector<Array> indices, values, shapes;
  int64_t begin = 0;
  for (int64_t k = 0; k < parts; ++k) {
    const int64_t size = (dims[along] + parts - 1 - k) / parts;
    Array part, part_values, shape;
    for (size_t i = 0; i < g.in[2].values.size(); ++i) {
      const int64_t index = integer(g.in[1], i * rank + along);
      if (index < begin || index >= begin + size) continue;
      for (size_t d = 0; d < rank; ++d) {
        part.values.push_back(g.in[1].values[i * rank + d] - (d == along ? static_cast<double>(begin) : 0));
      }
      part_values.values.push_back(g.in[2].values[i]);
    }
    part_values.dims = {static_cast<int64_t>(part_values.values.size())};
    part.dims = {part_values.dims[0], static_cast<int64_t>(rank)};
    shape.dims = {static_cast<int64_t>(rank)};
    for (size_t d = 0; d < rank; ++d) shape.values.push_back(static_cast<double>(d == along ? size : dims[d]));
    indices.push_back(part);
    values.push_back(part_values);
    shapes.push_back(shape);
    begin += size;
  }
  for (const auto* more : {&values, &shapes}) indices.insert(indices.end(), more->begin(), more->end());
  return indices;
}

const std::vector<Sample> kSplit = {
    {.in = {scalar(1), kA, draw({3}), kShape}, .attrs = {{"num_split", 2}}},
    {.in = {scalar(0), kA, draw({3}), kShape}, .attrs = {{"num_split", 2}}},
    {.in = {scalar(-1), array({4, 2}, {1, 6, 0, 0, 1, 3, 0, 4}), draw({4}), list({2, 7})}, .attrs = {{"num_split", 3}}},
    {.in = {scalar(0), array({3, 1}, {4, 0, 4}), draw({3}), list({5})}, .attrs = {{"num_split", 5}}},
    {.in = {scalar(1), kA, draw({3}), kShape}, .attrs = {{"num_split", 1}}},
    {.in = {scalar(1), kNone, list({}), kShape}, .attrs = {{"num_split", 2}}}};
const std::vector<ErrorSample> kSplitErrors = {
    {.in = {scalar(1), kA, draw({3}), kShape},
     .attrs = {{"num_split", 4}},
     .text = "num_split: expected at most 3, the size of dimension 1, got 4"},
    {.in = {scalar(2), kA, draw({3}), kShape},
     .attrs = {{"num_split", 1}},
     .text = "split_dim: expected one in [-2, 2), got 2"},
    {.in = {list({1}), kA, draw({3}), kShape}, .attrs = {{"num_split", 1}}, .text = "split_dim"},
    {.in = {scalar(1), array({1, 2}, {0, 3}), draw({1}), kShape},
     .attrs = {{"num_split", 2}},
     .text = "indices[0,1]: expected one in [0, 3), got 3"},
    {.in = {scalar(1), array({1, 2}, {-1, 0}), draw({1}), kShape},
     .attrs = {{"num_split", 2}},
     .text = "indices[0,0]: expected one in [0, 2), got -1"},
    {.in = {scalar(1), kA, draw({3}), list({2, -3})},
     .attrs = {{"num_split", 1}},
     .text = "shape[1]: expected at least 0, got -3"},
    {.in = {scalar(1), kA, draw({2}), kShape}, .attrs = {{"num_split", 1}}, .text = "number of indices and values"}};

const Family join("sparse",
                  {
                      {"SparseConcat", {.samples = kConcat, .reference = joined, .errors = kConcatErrors}},
                      {"SparseConcat",
                       {.samples = {{.in = {array({1, 1}, {1}), array({2, 1}, {2, 0}), texts({1}, {"a"}),
                                            texts({2}, {"c", "b"}), list({2}), list({3})},
                                     .attrs = kTwoRows,
                                     .out = {array({3, 1}, {1, 2, 4}), texts({3}, {"a", "b", "c"}), list({5})}}},
                        .label = "strings",
                        .types = {kString}}},
                      {"SparseSplit",
                       {.samples = kSplit, .reference = cut, .errors = kSplitErrors, .data_dependent_shape = true}},
                  });

}  // namespace
}  // namespace panto::test::sparse_join_rows
