// Samples of ragged tensors that are written out as dense ones. The reference asks of each place which value is there.
#include <algorithm>
#include <string>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::ragged_dense_rows {
namespace {

// The elements of each row, by number, of the partition.
std::vector<Index> rows_of(const Array& partition, bool is_splits, int64_t rows) {
  std::vector<Index> result(static_cast<size_t>(rows));
  const Index numbers = integers(partition);
  const int64_t elements = is_splits ? numbers.back() : static_cast<int64_t>(numbers.size());
  for (int64_t i = 0; i < elements; ++i) {
    const int64_t row =
        is_splits ? std::ranges::upper_bound(numbers, i) - numbers.begin() - 1 : numbers[static_cast<size_t>(i)];
    result[static_cast<size_t>(row)].push_back(i);
  }
  return result;
}

std::vector<Array> written_out(const Given& g) {
  const std::vector<std::string> types = g.texts("row_partition_types");
  const bool has_size = types[0] == "FIRST_DIM_SIZE";
  int64_t rows = has_size ? integer(g.in[3]) : static_cast<int64_t>(g.in[3].values.size()) - 1;
  Index dims = {rows};
  std::vector<std::vector<Index>> levels;
  for (size_t i = has_size ? 1 : 0; i < types.size(); ++i) {
    levels.push_back(rows_of(g.in[3 + i], types[i] == "ROW_SPLITS", rows));
    rows = 0;
    size_t longest = 0;
    for (const Index& row : levels.back()) {
      longest = std::max(longest, row.size());
      rows += static_cast<int64_t>(row.size());
    }
    dims.push_back(static_cast<int64_t>(longest));
  }
  const size_t leading = dims.size();
  const Array &values = g.in[1], &given = g.in[2];
  dims.insert(dims.end(), values.dims.begin() + 1, values.dims.end());
  for (size_t k = 0; k < leading && !g.in[0].dims.empty(); ++k) {
    if (integer(g.in[0], k) >= 0) dims[k] = integer(g.in[0], k);
  }
  const Index inner(values.dims.begin() + 1, values.dims.end());
  return {make(dims, [&](const Index& index) {
    size_t flat = 0;
    for (size_t k = 0; k < inner.size(); ++k) {
      flat = flat * static_cast<size_t>(inner[k]) + static_cast<size_t>(index[leading + k]);
    }
    const double otherwise = given.values[given.broadcast_position(inner, flat)];
    int64_t element = index[0];
    if (levels.empty() ? element >= values.dims[0] : element >= static_cast<int64_t>(levels[0].size())) {
      return otherwise;
    }
    for (size_t k = 0; k < levels.size(); ++k) {
      const Index& row = levels[k][static_cast<size_t>(element)];
      const auto column = static_cast<size_t>(index[k + 1]);
      if (column >= row.size()) return otherwise;
      element = row[column];
    }
    Index at_value = {element};
    at_value.insert(at_value.end(), index.begin() + static_cast<int64_t>(leading), index.end());
    return at(values, at_value);
  })};
}

Attrs types(std::vector<std::string> names) {
  const auto count = static_cast<int>(names.size());
  return {{"num_row_partition_tensors", count}, {"row_partition_types", std::move(names)}};
}
const Attrs kSplits = types({"ROW_SPLITS"}), kTwoSplits = types({"ROW_SPLITS", "ROW_SPLITS"}),
            kIds = types({"FIRST_DIM_SIZE", "VALUE_ROWIDS"});
const Array kRows = list({0, 3, 3, 4, 6}), kAny = list({-1, -1}), kAny3 = list({-1, -1, -1});
const Array kIdsOfRows = list({0, 0, 0, 2, 3, 3});

const std::vector<Sample> kSamples = {
    {.in = {kAny, draw({6}), scalar(1), kRows}, .attrs = kSplits},
    {.in = {scalar(-1), draw({6}), scalar(1), kRows}, .attrs = kSplits},
    {.in = {list({2, 2}), draw({6}), scalar(1), kRows}, .attrs = kSplits},
    {.in = {list({6, 5}), draw({6}), scalar(1), kRows}, .attrs = kSplits},
    {.in = {list({3, -1}), draw({6}), scalar(1), kRows}, .attrs = kSplits},
    {.in = {kAny, draw({6}), scalar(1), scalar(4), kIdsOfRows}, .attrs = kIds},
    {.in = {list({3, 2}), draw({6}), scalar(1), scalar(5), kIdsOfRows}, .attrs = kIds},
    {.in = {kAny3, draw({6}), scalar(1), list({0, 2, 2, 3}), list({0, 3, 3, 6})}, .attrs = kTwoSplits},
    {.in = {list({3, 1, 2}), draw({6}), scalar(1), list({0, 2, 2, 3}), list({0, 3, 3, 6})}, .attrs = kTwoSplits},
    {.in = {kAny3, draw({6}), scalar(1), list({0, 2, 2, 3}), list({0, 0, 0, 2, 2, 2})},
     .attrs = types({"ROW_SPLITS", "VALUE_ROWIDS"})},
    {.in = {kAny3, draw({6}), scalar(1), scalar(3), list({0, 0, 2}), list({0, 3, 3, 6})},
     .attrs = types({"FIRST_DIM_SIZE", "VALUE_ROWIDS", "ROW_SPLITS"})},
    {.in = {list({-1, -1, 2}), draw({3, 2}), scalar(1), list({0, 1, 3})}, .attrs = kSplits},
    {.in = {kAny3, draw({3, 2}), draw({2}, -2, 2, 1), list({0, 1, 3})}, .attrs = kSplits},
    {.in = {kAny3, draw({3, 2}), draw({1}, -2, 2, 1), list({0, 1, 3})}, .attrs = kSplits},
    {.in = {list({-1, -1, -1, -1}), draw({3, 2, 2}), draw({2, 1}, -2, 2, 1), list({0, 1, 3})}, .attrs = kSplits},
    {.in = {list({-1, -1, -1, -1}), draw({3, 2, 2}), draw({2}, -2, 2, 1), list({0, 1, 3})}, .attrs = kSplits},
    {.in = {list({-1}), draw({6}), scalar(1), scalar(6)}, .attrs = types({"FIRST_DIM_SIZE"})},
    {.in = {list({2, 2}), list({}), scalar(1), list({0, 0, 0})}, .attrs = kSplits},
    {.in = {kAny, list({}), scalar(1), list({0, 0, 0})}, .attrs = kSplits},
    {.in = {list({-1, 0}), draw({6}), scalar(1), kRows}, .attrs = kSplits}};
const std::vector<ErrorSample> kErrors = {
    {.in = {kAny, draw({6}), scalar(1), list({0, 3, 3, 4, 5})},
     .attrs = kSplits,
     .text = "values: expected 5, as the partitions say, got 6"},
    {.in = {kAny, draw({6}), scalar(1), list({0, 3, 3, 4, 9})},
     .attrs = kSplits,
     .text = "values: expected 9, as the partitions say, got 6"},
    {.in = {kAny, draw({6}), scalar(1), list({1, 3, 6})},
     .attrs = kSplits,
     .text = "row_partition_tensors[0][0]: expected 0, got 1"},
    {.in = {kAny, draw({6}), scalar(1), list({0, 3, 2, 6})},
     .attrs = kSplits,
     .text = "row_partition_tensors[0][2]: expected at least 3, the one before, got 2"},
    {.in = {kAny, draw({6}), scalar(1), list({})}, .attrs = kSplits},
    {.in = {kAny3, draw({6}), scalar(1), list({0, 2, 2, 3}), list({0, 3, 6})},
     .attrs = kTwoSplits,
     .text = "row_partition_tensors[1]: expected splits of 3 rows, got 2"},
    {.in = {kAny, draw({6}), scalar(1), scalar(3), kIdsOfRows},
     .attrs = kIds,
     .text = "row_partition_tensors[1][4]: expected a row in [2, 3), got 3"},
    {.in = {kAny, draw({6}), scalar(1), scalar(4), list({-1, 0, 0, 2, 3, 3})},
     .attrs = kIds,
     .text = "row_partition_tensors[1][0]: expected a row in [0, 4), got -1"},
    {.in = {kAny, draw({6}), scalar(1), scalar(4), list({0, 0, 2, 1, 3, 3})},
     .attrs = kIds,
     .text = "row_partition_tensors[1][3]: expected a row in [2, 4), got 1"},
    {.in = {kAny, draw({6}), scalar(1), scalar(-4), kIdsOfRows},
     .attrs = kIds,
     .text = "row_partition_tensors[0]: expected at least 0 rows, got -4"},
    {.in = {kAny, draw({6}), scalar(1), list({4}), kIdsOfRows}, .attrs = kIds, .text = "row_partition_tensors"},
    {.in = {kAny, draw({6}), scalar(1), kIdsOfRows},
     .attrs = types({"VALUE_ROWIDS"}),
     .text = "row_partition_types[0]: expected FIRST_DIM_SIZE or ROW_SPLITS, got VALUE_ROWIDS"},
    {.in = {kAny, draw({6}), scalar(1), kRows},
     .attrs = {{"num_row_partition_tensors", 1},
               {"row_partition_types", std::vector<std::string>{"ROW_SPLITS", "ROW_SPLITS"}}},
     .text = "row_partition_types: expected 1, one for each tensor, got 2"},
    {.in = {kAny, draw({6}), list({1}), kRows},
     .attrs = kSplits,
     .text = "default_value: expected less than 1 dimensions, those of values, got 1"},
    {.in = {kAny3, draw({3, 2}), draw({3}), list({0, 1, 3})},
     .attrs = kSplits,
     .text = "default_value: expected a shape that broadcasts"},
    {.in = {list({-1, -1, 3}), draw({3, 2}), scalar(1), list({0, 1, 3})},
     .attrs = kSplits,
     .text = "dimensions of a value in shape: expected 2, got 3"},
    {.in = {kAny3, draw({6}), scalar(1), kRows},
     .attrs = kSplits,
     .text = "number of dimensions in shape: expected 2, got 3"},
    {.in = {list({-1, -2}), draw({6}), scalar(1), kRows},
     .attrs = kSplits,
     .text = "shape[1]: expected at least -1, got -2"},
    {.in = {scalar(2), draw({6}), scalar(1), kRows},
     .attrs = kSplits,
     .text = "shape: expected a vector, or -1, got 2"}};

const Family ragged_dense(
    "sparse", {
                  {"RaggedTensorToTensor",
                   {.samples = kSamples, .reference = written_out, .errors = kErrors, .data_dependent_shape = true}},
                  {"RaggedTensorToTensor",
                   {.samples = {{.in = {kAny, texts({2}, {"a", "b"}), texts({}, {"-"}), list({0, 2, 2})},
                                 .attrs = kSplits,
                                 .out = {texts({2, 2}, {"a", "b", "-", "-"})}}},
                    .label = "strings",
                    .types = {kString},
                    .data_dependent_shape = true}},
              });

}  // namespace
}  // namespace panto::test::ragged_dense_rows
