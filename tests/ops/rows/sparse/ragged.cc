// Samples of ragged tensors. References write them out as nested lists, or go through places one by one.
#include <algorithm>
#include <functional>
#include <limits>
#include <string>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::ragged_rows {
namespace {

// ---- RaggedRange ----------------------------------------------------------------------------------------------------

std::vector<Array> ranges(const Given& g) {
  int64_t rows = 1;
  for (const Array& in : g.in) rows = in.dims.empty() ? rows : in.dims[0];
  Array splits = list({0}), values = list({});
  for (int64_t r = 0; r < rows; ++r) {
    const auto at = [&](size_t i) { return g.in[i].values[g.in[i].dims.empty() ? 0 : static_cast<size_t>(r)]; };
    for (double x = at(0); at(2) > 0 ? x < at(1) : x > at(1); x += at(2)) values.values.push_back(x);
    splits.values.push_back(static_cast<double>(values.values.size()));
  }
  values.dims = {static_cast<int64_t>(values.values.size())};
  splits.dims = {rows + 1};
  return {splits, values};
}

const double kInf = std::numeric_limits<double>::infinity();
const std::vector<Sample> kRanges = {{.in = {list({2, 5, 8}), list({3, 5, 12}), list({1, 1, 2})}},
                                     {.in = {scalar(1), list({3, 5, 0}), scalar(2)}},
                                     {.in = {scalar(1), scalar(4), scalar(2)}},
                                     {.in = {list({5, 5}), list({0, 9}), list({-2, -1})}},
                                     {.in = {list({5}), list({0}), list({-2})}, .attrs = {{"Tsplits", kInt32}}},
                                     {.in = {list({}), list({}), list({})}}};
const std::vector<ErrorSample> kRangeErrors = {
    {.in = {list({5, 5}), list({0, 1}), list({-2, 0})}, .text = "deltas[1]: expected not 0, got 0"},
    {.in = {list({1, 2}), list({3}), list({1})}, .text = "lengths of starts, limits and deltas: expected 2, got 1"},
    {.in = {array({1, 1}, {1}), list({3}), list({1})}, .text = "starts: expected a scalar or vector, got shape [1,1]"},
    {.in = {scalar(0), scalar(kInf), scalar(1)},
     .text = "row 0: expected a number of elements below 2^63, got inf",
     .type = kFloat32},
    {.in = {scalar(0), scalar(4294967296.0), scalar(1)},
     .attrs = {{"Tsplits", kInt32}},
     .code = Code::kOutOfRange,
     .type = kInt64}};

// ---- RaggedGather ---------------------------------------------------------------------------------------------------

// A ragged tensor as nested lists: where `rows` are given its rows, else value `value`.
struct Node {
  std::vector<Node> rows;
  int64_t value = 0;
};
Node nested(const std::vector<Index>& splits, size_t level, int64_t row) {
  Node node;
  if (level == splits.size()) return {.rows = {}, .value = row};
  const auto r = static_cast<size_t>(row);
  for (int64_t i = splits[level][r]; i < splits[level][r + 1]; ++i) node.rows.push_back(nested(splits, level + 1, i));
  return node;
}
// Adds the splits of the nodes, all of which have so many ragged dimensions, and their values.
void flatten(const std::vector<Node>& nodes, size_t levels, std::vector<Array>& splits, std::vector<int64_t>& values) {
  if (levels == 0) {
    for (const Node& node : nodes) values.push_back(node.value);
    return;
  }
  std::vector<Node> below;
  Array own = list({0});
  for (const Node& node : nodes) {
    below.insert(below.end(), node.rows.begin(), node.rows.end());
    own.values.push_back(static_cast<double>(below.size()));
  }
  own.dims = {static_cast<int64_t>(own.values.size())};
  splits.push_back(own);
  flatten(below, levels - 1, splits, values);
}

std::vector<Array> gathered(const Given& g) {
  const auto count = static_cast<size_t>(g.integer("PARAMS_RAGGED_RANK"));
  std::vector<Index> splits;
  for (size_t i = 0; i < count; ++i) splits.push_back(integers(g.in[i]));
  const Array &values = g.in[count], &indices = g.in[count + 1];
  // The indices as nested lists, whose leaves are rows.
  size_t next = 0;
  const std::function<Node(size_t)> chosen = [&](size_t k) {
    if (k == indices.dims.size()) return nested(splits, 0, integer(indices, next++));
    Node node;
    for (int64_t i = 0; i < indices.dims[k]; ++i) node.rows.push_back(chosen(k + 1));
    return node;
  };
  const Node root = chosen(0);
  std::vector<Array> out;
  std::vector<int64_t> taken;
  flatten(root.rows, count + indices.dims.size() - 1, out, taken);
  Array rows;
  rows.dims = values.dims;
  rows.dims[0] = static_cast<int64_t>(taken.size());
  const auto length = static_cast<size_t>(values.dims[0] == 0 ? 0 : values.numel() / values.dims[0]);
  for (const int64_t row : taken) {
    for (size_t j = 0; j < length; ++j) rows.values.push_back(values.values[static_cast<size_t>(row) * length + j]);
  }
  out.push_back(rows);
  return out;
}

const Array kSplits = list({0, 3, 3, 4, 6}), kOuter = list({0, 2, 3}), kInner = list({0, 3, 3, 6});
Attrs ranks(int params, int out) { return {{"PARAMS_RAGGED_RANK", params}, {"OUTPUT_RAGGED_RANK", out}}; }
const std::vector<Sample> kGathers = {
    {.in = {kSplits, draw({6}), list({3, 0, 1})}, .attrs = ranks(1, 1)},
    {.in = {kOuter, kInner, draw({6}), list({1, 0, 1})}, .attrs = ranks(2, 2)},
    {.in = {kSplits, draw({6}), array({2, 2}, {3, 0, 1, 2})}, .attrs = ranks(1, 2)},
    {.in = {kSplits, draw({6}), array({2, 2, 1}, {3, 0, 1, 2})}, .attrs = ranks(1, 3)},
    {.in = {kSplits, draw({6}), scalar(3)}, .attrs = ranks(1, 0)},
    {.in = {kOuter, kInner, draw({6}), scalar(0)}, .attrs = ranks(2, 1)},
    {.in = {list({0, 1, 3}), draw({3, 2}), list({1, 0})}, .attrs = ranks(1, 1)},
    {.in = {list({1, 1, 2}), draw({3, 2}), list({1, 0})}, .attrs = ranks(1, 1)},
    {.in = {list({0, 1, 3}), draw({3, 2}), list({})}, .attrs = ranks(1, 1)},
    {.in = {list({0, 0}), array({0}, {}), list({0, 0})}, .attrs = ranks(1, 1)}};
const std::vector<ErrorSample> kGatherErrors = {
    {.in = {kSplits, draw({6}), list({4})},
     .attrs = ranks(1, 1),
     .text = "indices[0]: expected a row in [0, 4), got 4"},
    {.in = {kSplits, draw({6}), list({-1})},
     .attrs = ranks(1, 1),
     .text = "indices[0]: expected a row in [0, 4), got -1"},
    {.in = {kSplits, draw({5}), list({0})},
     .attrs = ranks(1, 1),
     .text = "params_nested_splits: expected at most 5, the number of elements, got 6"},
    {.in = {list({0, 2, 4}), kInner, draw({6}), list({0})},
     .attrs = ranks(2, 2),
     .text = "params_nested_splits: expected at most 3, the number of elements, got 4"},
    {.in = {list({0, 3, 2}), draw({6}), list({0})},
     .attrs = ranks(1, 1),
     .text = "params_nested_splits[2]: expected at least 3, the one before, got 2"},
    {.in = {list({-1, 3}), draw({6}), list({0})},
     .attrs = ranks(1, 1),
     .text = "params_nested_splits[0]: expected at least 0, got -1"},
    {.in = {list({}), draw({6}), list({})},
     .attrs = ranks(1, 1),
     .text = "params_nested_splits: expected at least one split, got none"},
    {.in = {kSplits, draw({6}), list({0})},
     .attrs = ranks(1, 2),
     .text = "OUTPUT_RAGGED_RANK: expected 1, of indices with 1 dimensions, got 2"},
    {.in = {kSplits, scalar(1), list({0})}, .attrs = ranks(1, 1)}};

// ---- RaggedTensorToSparse -------------------------------------------------------------------------------------------

std::vector<Array> sparse(const Given& g) {
  const auto count = static_cast<size_t>(g.integer("RAGGED_RANK"));
  std::vector<Index> splits;
  for (size_t i = 0; i < count; ++i) splits.push_back(integers(g.in[i]));
  const Array& values = g.in[count];
  const size_t rank = count + values.dims.size();
  Array indices, shape;
  shape.values.assign(rank, 0);
  shape.values[0] = static_cast<double>(splits[0].size() - 1);
  Index inner(values.dims.begin() + 1, values.dims.end());
  std::ranges::copy(inner, shape.values.begin() + static_cast<int64_t>(count) + 1);
  const std::function<void(const Node&, const Index&)> visit = [&](const Node& node, const Index& at) {
    if (at.size() == count + 1) {
      for_each_index(inner, [&](const Index& index) {
        indices.values.insert(indices.values.end(), at.begin(), at.end());
        indices.values.insert(indices.values.end(), index.begin(), index.end());
      });
      return;
    }
    double& longest = shape.values[at.size()];
    longest = std::max(longest, static_cast<double>(node.rows.size()));
    for (size_t i = 0; i < node.rows.size(); ++i) {
      Index below = at;
      below.push_back(static_cast<int64_t>(i));
      visit(node.rows[i], below);
    }
  };
  for (size_t r = 0; r + 1 < splits[0].size(); ++r) {
    visit(nested(splits, 0, static_cast<int64_t>(r)), {static_cast<int64_t>(r)});
  }
  Array flat = values;
  flat.dims = {values.numel()};
  shape.dims = {static_cast<int64_t>(rank)};
  indices.dims = {values.numel(), shape.dims[0]};
  return {indices, flat, shape};
}

const std::vector<Sample> kSparse = {{.in = {kSplits, draw({6})}, .attrs = {{"RAGGED_RANK", 1}}},
                                     {.in = {list({0, 2, 2, 3}), kInner, draw({6})}, .attrs = {{"RAGGED_RANK", 2}}},
                                     {.in = {list({0, 1, 3}), draw({3, 2})}, .attrs = {{"RAGGED_RANK", 1}}},
                                     {.in = {list({0, 0, 1, 3}), draw({3, 2, 2})}, .attrs = {{"RAGGED_RANK", 1}}},
                                     {.in = {list({0}), list({})}, .attrs = {{"RAGGED_RANK", 1}}},
                                     {.in = {list({0, 0}), array({0, 2}, {})}, .attrs = {{"RAGGED_RANK", 1}}}};
const std::vector<ErrorSample> kSparseErrors = {
    {.in = {list({0, 1, 2}), draw({3})},
     .attrs = {{"RAGGED_RANK", 1}},
     .text = "rt_nested_splits: expected 3 at the end, the number of elements, got 2"},
    {.in = {list({1, 1, 3}), draw({3})},
     .attrs = {{"RAGGED_RANK", 1}},
     .text = "rt_nested_splits[0]: expected 0, got 1"},
    {.in = {list({0, 2, 4}), kInner, draw({6})},
     .attrs = {{"RAGGED_RANK", 2}},
     .text = "rt_nested_splits: expected at most 3, the number of elements, got 4"},
    {.in = {list({}), draw({3})},
     .attrs = {{"RAGGED_RANK", 1}},
     .text = "rt_nested_splits: expected at least one split, got none"},
    {.in = {list({0, 1}), scalar(3)}, .attrs = {{"RAGGED_RANK", 1}}}};

// ---- RaggedFillEmptyRows --------------------------------------------------------------------------------------------

std::vector<Array> filled(const Given& g) {
  Array rows, values, empty, map = g.in[0];
  for (int64_t r = 0; r < integer(g.in[2]); ++r) {
    const size_t before = values.values.size();
    for (size_t i = 0; i < g.in[0].values.size(); ++i) {
      if (integer(g.in[0], i) != r) continue;
      map.values[i] = static_cast<double>(values.values.size());
      values.values.push_back(g.in[1].values[i]);
    }
    empty.values.push_back(values.values.size() == before ? 1 : 0);
    if (values.values.size() == before) values.values.push_back(g.in[3].values[0]);
    rows.values.resize(values.values.size(), static_cast<double>(r));
  }
  rows.dims = values.dims = {static_cast<int64_t>(values.values.size())};
  empty.dims = {integer(g.in[2])};
  return {rows, values, empty, map};
}
std::vector<Array> filled_gradients(const Given& g) {
  Array values;
  values.dims = g.in[0].dims;
  double rest = 0;
  for (const double v : g.in[0].values) values.values.push_back(g.in[1].values[static_cast<size_t>(v)]);
  for (size_t i = 0; i < g.in[1].values.size(); ++i) {
    if (std::ranges::count(g.in[0].values, static_cast<double>(i)) == 0) rest += g.in[1].values[i];
  }
  return {values, scalar(rest)};
}

const std::vector<Sample> kFilled = {{.in = {list({0, 0, 2}), draw({3}), scalar(4), scalar(1)}},
                                     {.in = {list({2, 0, 2}), draw({3}), scalar(4), scalar(1)}},
                                     {.in = {list({0, 1}), draw({2}), scalar(2), scalar(1)}},
                                     {.in = {list({}), list({}), scalar(2), scalar(1)}},
                                     {.in = {list({}), list({}), scalar(0), scalar(1)}}};
const std::vector<ErrorSample> kFilledErrors = {
    {.in = {list({0, 2}), draw({2}), scalar(2), scalar(1)}, .text = "indices[1,0]: expected one in [0, 2), got 2"},
    {.in = {list({-1, 1}), draw({2}), scalar(2), scalar(1)}, .text = "indices[0,0]: expected one in [0, 2), got -1"},
    {.in = {list({0, 1}), draw({3}), scalar(2), scalar(1)}, .text = "number of indices and values"},
    {.in = {list({0, 1}), draw({2}), scalar(-2), scalar(1)}, .text = "dense_shape: expected at least 0 rows, got -2"},
    {.in = {list({0, 1}), draw({2}), list({2}), scalar(1)}},
    {.in = {array({1, 1}, {0}), draw({1}), scalar(2), scalar(1)}},
    {.in = {list({0, 1}), draw({2}), scalar(2), list({1})}, .text = "default_value"}};
const std::vector<Sample> kFilledGrad = {{.in = {list({0, 2, 3}), draw({5})}}, {.in = {list({}), draw({2})}}};
const std::vector<ErrorSample> kFilledGradErrors = {
    {.in = {list({0, 5}), draw({5})}, .text = "reverse_index_map[1]: expected one in [0, 5), got 5"}};

const Family ragged(
    "sparse", {
                  {"RaggedRange",
                   {.samples = kRanges, .reference = ranges, .errors = kRangeErrors, .data_dependent_shape = true}},
                  {"RaggedRange",
                   {.samples = {{.in = {list({0, 1}), list({1, -0.5}), list({0.25, -0.5})}}},
                    .reference = ranges,
                    .label = "fractions",
                    .data_dependent_shape = true}},
                  {"RaggedGather",
                   {.samples = kGathers, .reference = gathered, .errors = kGatherErrors, .data_dependent_shape = true}},
                  {"RaggedGather",
                   {.samples = {{.in = {list({0, 1, 3}), texts({3}, {"a", "b", "c"}), list({1})},
                                 .attrs = ranks(1, 1),
                                 .out = {list({0, 2}), texts({2}, {"b", "c"})}}},
                    .label = "strings",
                    .types = {kString},
                    .data_dependent_shape = true}},
                  {"RaggedTensorToSparse",
                   {.samples = kSparse, .reference = sparse, .errors = kSparseErrors, .data_dependent_shape = true}},
                  {"RaggedFillEmptyRows",
                   {.samples = kFilled, .reference = filled, .errors = kFilledErrors, .data_dependent_shape = true}},
                  {"RaggedFillEmptyRowsGrad",
                   {.samples = kFilledGrad, .reference = filled_gradients, .errors = kFilledGradErrors}},
              });

}  // namespace
}  // namespace panto::test::ragged_rows
