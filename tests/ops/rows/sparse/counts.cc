// Samples of numbers that are counted by rows. References look for each number in each row.
#include <string>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::counts_rows {
namespace {

// `row(i)`: of value i.
template <class Row>
Array counted(const Given& g, const Index& dims, const Array& values, const Array& weights, Row row) {
  return make(dims, [&](const Index& index) {
    double total = 0;
    for (size_t i = 0; i < values.values.size(); ++i) {
      if (integer(values, i) != index.back() || (index.size() == 2 && row(i) != index[0])) continue;
      total = g.flag("binary_output") ? 1 : total + (weights.values.empty() ? 1 : weights.values[i]);
    }
    return total;
  });
}

std::vector<Array> sparse_counts(const Given& g) {
  const auto rank = g.in[2].values.size();
  const int64_t size = integer(g.in[3]);
  const Index dims = rank == 1 ? Index{size} : Index{integer(g.in[2]), size};
  return {counted(g, dims, g.in[1], g.in[4], [&](size_t i) { return integer(g.in[0], i * rank); })};
}

std::vector<Array> ragged_counts(const Given& g) {
  const Index splits = integers(g.in[0]);
  const auto row = [&](size_t i) {
    int64_t r = 0;
    while (splits[static_cast<size_t>(r) + 1] <= static_cast<int64_t>(i)) ++r;
    return r;
  };
  return {counted(g, {static_cast<int64_t>(splits.size()) - 1, integer(g.in[2])}, g.in[1], g.in[3], row)};
}

const Array kIndices = array({4, 2}, {0, 0, 0, 2, 1, 1, 0, 1}), kShape = list({2, 3}), kNone = list({});
const std::vector<Sample> kSparse = {
    {.in = {kIndices, list({2, 0, 5, 2}), kShape, scalar(4), kNone}},
    {.in = {kIndices, list({2, 0, 5, 2}), kShape, scalar(6), list({3, 2, 7, 1})}},
    {.in = {kIndices, list({2, 0, 5, 2}), kShape, scalar(6), list({3, 2, 7, 1})}, .attrs = {{"binary_output", true}}},
    {.in = {kIndices, list({2, -1, 5, 2}), kShape, scalar(3), kNone}},
    {.in = {array({3, 1}, {0, 2, 4}), list({2, 2, 1}), list({5}), scalar(4), list({4, 5, 6})}},
    {.in = {array({2, 3}, {0, 0, 1, 1, 0, 0}), list({1, 0}), list({3, 1, 2}), scalar(2), kNone}},
    {.in = {kIndices, list({2, 0, 5, 2}), kShape, scalar(0), kNone}},
    {.in = {array({0, 2}, {}), kNone, kShape, scalar(3), kNone}}};
const std::vector<ErrorSample> kSparseErrors = {
    {.in = {array({1, 1}, {0}), list({-1}), list({5}), scalar(4), kNone},
     .text = "values[0]: expected at least 0, got -1"},
    {.in = {kIndices, list({2, 0, 5, 2}), list({1, 3}), scalar(4), kNone},
     .text = "indices[2,0]: expected one in [0, 1), got 1"},
    {.in = {array({1, 2}, {0, -1}), list({1}), kShape, scalar(4), kNone},
     .text = "indices[0,1]: expected one in [0, 3), got -1"},
    {.in = {kIndices, list({2, 0, 5, 2}), kShape, scalar(-4), kNone}, .text = "size: expected at least 0, got -4"},
    {.in = {kIndices, list({2, 0, 5, 2}), kShape, scalar(4), list({1, 2})},
     .text = "weights: expected 4, one for each value, or none, got 2"},
    {.in = {kIndices, list({2, 0, 5, 2}), list({-2, 3}), scalar(4), kNone},
     .text = "dense_shape[0]: expected at least 0, got -2"},
    {.in = {kIndices, list({2, 0, 5, 2}), kShape, list({4}), kNone}, .text = "size"},
    {.in = {array({1, 0}, {}), list({1}), kNone, scalar(4), kNone},
     .text = "dense_shape: expected at least one dimension, got none"}};

const std::vector<Sample> kRagged = {
    {.in = {list({0, 2, 2, 4}), list({2, 0, 1, 9}), scalar(6), kNone}},
    {.in = {list({0, 2, 2, 4}), list({2, 2, 1, 9}), scalar(6), list({1, 2, 3, 4})}},
    {.in = {list({0, 2, 2, 4}), list({2, 2, 1, 9}), scalar(6), list({5, 2, 3, 4})}, .attrs = {{"binary_output", true}}},
    {.in = {list({0}), kNone, scalar(3), kNone}},
    {.in = {list({0, 0}), kNone, scalar(3), kNone}}};
const std::vector<ErrorSample> kRaggedErrors = {
    {.in = {list({0, 2, 2, 3}), list({1, -1, 2}), scalar(6), kNone}, .text = "values[1]: expected at least 0, got -1"},
    {.in = {list({1, 2, 2, 3}), list({1, 1, 2}), scalar(6), kNone}, .text = "splits[0]: expected 0, got 1"},
    {.in = {list({0, 2, 1, 3}), list({1, 1, 2}), scalar(6), kNone},
     .text = "splits[2]: expected at least 2, the one before, got 1"},
    {.in = {list({0, 2, 5}), list({1, 1, 2}), scalar(6), kNone},
     .text = "splits: expected at most 3, the number of elements, got 5"},
    {.in = {list({0, 2}), list({1, 1, 2}), scalar(6), kNone},
     .text = "splits: expected 3 at the end, the number of elements, got 2"},
    {.in = {kNone, list({1, 1, 2}), scalar(6), kNone}, .text = "splits: expected at least one, got none"},
    {.in = {list({0, 3}), list({1, 1, 2}), scalar(6), list({1})},
     .text = "weights: expected 3, one for each value, or none, got 1"}};

const Family counts("sparse",
                    {
                        {"SparseBincount", {.samples = kSparse, .reference = sparse_counts, .errors = kSparseErrors}},
                        {"RaggedBincount", {.samples = kRagged, .reference = ragged_counts, .errors = kRaggedErrors}},
                    });

}  // namespace
}  // namespace panto::test::counts_rows
