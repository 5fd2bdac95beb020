// Samples of ops that put elements in another order, or look for them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::array_order_rows {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<Array> reversed(const Given& g) {
  const Array& x = g.in[0];
  Index axes = integers(g.in[1]);
  return {make(x.dims, [&](Index index) {
    for (const int64_t axis : axes) {
      const size_t k = normal_axis(axis, x.dims.size());
      index[k] = x.dims[k] - 1 - index[k];
    }
    return at(x, index);
  })};
}

std::vector<Array> rolled(const Given& g) {
  const Array& x = g.in[0];
  return {make(x.dims, [&](Index index) {
    for (size_t i = 0; i < g.in[1].values.size(); ++i) {
      const size_t k = normal_axis(integer(g.in[2], i), x.dims.size());
      const int64_t size = x.dims[k];
      index[k] = ((index[k] - integer(g.in[1], i)) % size + size) % size;
    }
    return at(x, index);
  })};
}

const Family order(
    "array", {
                 {"ReverseV2",
                  {.samples = {{.in = {draw({5}), list({0})}},
                               {.in = {draw({2, 3, 4}), list({1})}},
                               {.in = {draw({2, 3, 4}), list({-1, 0})}},
                               {.in = {draw({2, 3, 4}), list({0, 1, 2})}},
                               {.in = {draw({2, 3}), list({})}},
                               {.in = {draw({}), list({})}},
                               {.in = {draw({1, 3}), list({0})}},
                               {.in = {draw({0, 3}), list({1})}}},
                   .reference = reversed,
                   .errors = {{.in = {draw({2, 3}), list({2})}, .text = "axis: expected one in [-2, 2), got 2"},
                              {.in = {draw({2, 3}), list({0, -2})}, .text = "axis"},
                              {.in = {draw({2, 3}), scalar(0)}, .text = "axis: expected a vector, got shape []"}}}},
                 {"Roll",
                  {.samples = {{.in = {draw({5}), scalar(2), scalar(0)}},
                               {.in = {draw({5}), scalar(-1), scalar(-1)}},
                               {.in = {draw({2, 3, 4}), list({1, 2}), list({1, 2})}},
                               {.in = {draw({2, 3, 4}), list({7, -9}), list({-1, 0})}},
                               {.in = {draw({4, 3}), list({1, 2}), list({0, 0})}},
                               {.in = {draw({4, 3}), list({4}), list({0})}},
                               {.in = {draw({4, 3}), list({}), list({})}},
                               {.in = {draw({0, 3}), list({1}), list({0})}}},
                   .reference = rolled,
                   .errors = {{.in = {draw({}), scalar(1), scalar(0)},
                               .text = "input: expected a rank of at least 1, got shape []"},
                              {.in = {draw({3}), scalar(1), scalar(1)}, .text = "axis: expected one in [-1, 1), got 1"},
                              {.in = {draw({3}), list({1, 2}), list({0})},
                               .text = "axis: expected as many as shifts, of shape [2], got [1]"}}}},
             });

std::vector<Array> top(const Given& g) {
  const Array& x = g.in[0];
  const auto n = static_cast<size_t>(x.dims.back()), k = static_cast<size_t>(integer(g.in[1]));
  Array values, indices;
  values.dims = x.dims;
  values.dims.back() = static_cast<int64_t>(k);
  indices.dims = values.dims;
  for (size_t row = 0; n > 0 && row < x.values.size() / n; ++row) {
    std::vector<size_t> positions(n);
    std::iota(positions.begin(), positions.end(), size_t{0});
    const auto key = [&](size_t p) {
      const double v = x.values[row * n + p];
      return std::isnan(v) ? std::pair(1, 0.) : std::pair(0, v);
    };
    std::ranges::stable_sort(positions, [&](size_t a, size_t b) { return key(b) < key(a); });
    for (size_t i = 0; i < k; ++i) {
      values.values.push_back(x.values[row * n + positions[i]]);
      indices.values.push_back(static_cast<double>(positions[i]));
    }
  }
  return {values, indices};
}

std::vector<Array> positions_of_nonzero(const Given& g) {
  Array index;
  int64_t count = 0;
  for_each_index(g.in[0].dims, [&](const Index& at_index) {
    if (at(g.in[0], at_index) == 0) return;
    ++count;
    for (const int64_t i : at_index) index.values.push_back(static_cast<double>(i));
  });
  index.dims = {count, static_cast<int64_t>(g.in[0].dims.size())};
  return {index};
}

std::vector<Array> binned(const Given& g) {
  const Array &x = g.in[0], &weights = g.in[2];
  const auto size = static_cast<size_t>(integer(g.in[1]));
  Array bins;
  bins.dims = x.dims;
  bins.dims.back() = integer(g.in[1]);
  const auto columns = static_cast<size_t>(x.dims.back());
  const size_t rows = x.dims.size() == 2 ? static_cast<size_t>(x.dims[0]) : 1;
  for (size_t r = 0; r < rows; ++r) {
    for (size_t bin = 0; bin < size; ++bin) {
      double total = 0, occurrences = 0;
      for (size_t i = r * columns; i < (r + 1) * columns; ++i) {
        if (x.values[i] != static_cast<double>(bin)) continue;
        ++occurrences;
        total += weights.values.empty() ? 1 : weights.values[i];
      }
      bins.values.push_back(g.flag("binary_output") ? std::min(occurrences, 1.) : total);
    }
  }
  return {bins};
}

const Family search(
    "array",
    {
        {"TopKV2",
         {.samples = {{.in = {draw({7}), scalar(3)}},
                      {.in = {draw({2, 3, 5}), scalar(2)}},
                      {.in = {draw({4, 33}), scalar(33)}},
                      {.in = {draw({2, 3}), scalar(0)}},
                      {.in = {draw({0, 3}), scalar(2)}},
                      {.in = {draw({5}), scalar(1)}, .attrs = {{"sorted", false}}}},
          .reference = top,
          .errors = {{.in = {draw({}), scalar(0)}, .text = "input: expected a rank of at least 1, got shape []"},
                     {.in = {draw({3}), scalar(4)},
                      .text = "k: expected at most 3, the size of the last dimension, got 4"},
                     {.in = {draw({3}), scalar(-1)}, .text = "k: expected at least 0, got -1"}}}},
        {"TopKV2",
         {.samples = {{.in = {list({1, 3, 3, 2, 3}), scalar(4)}}, {.in = {list({2, 2, 2}), scalar(3)}}},
          .reference = top,
          .label = "equal",
          .gradient = false}},
        {"TopKV2",
         {.samples = {{.in = {draw({2, 5}), scalar(2).as(kInt16)}, .attrs = {{"index_type", kInt16}}},
                      {.in = {draw({5}), scalar(5)}, .attrs = {{"index_type", kInt64}}}},
          .reference = top,
          .errors = {{.in = {draw({40000}), scalar(1)},
                      .attrs = {{"index_type", kInt16}},
                      .text = "index_type: expected one that has positions up to 39999, got int16"}},
          .label = "indices"}},
        {"TopKV2",
         {.samples = {{.in = {list({1, kNan, 3, kNan, -2}), scalar(4)}}},
          .reference = top,
          .label = "special",
          .types = dtypes::kFloating,
          .gradient = false}},
        {"Where",
         {.samples = {{.in = {zeros_and_ones({7})}},
                      {.in = {zeros_and_ones({2, 3, 4})}},
                      {.in = {list({0, 0})}},
                      {.in = {list({0, 2, 1, 0})}},
                      {.in = {scalar(1)}},
                      {.in = {scalar(0)}},
                      {.in = {draw({0, 3})}}},
          .reference = positions_of_nonzero,
          .data_dependent_shape = true}},
        // The first two are NumPy's own examples.
        {"DenseBincount",
         {.samples = {{.in = {list({0, 1, 1, 3, 2, 1, 7}), scalar(8), list({})},
                       .out = {list({1, 3, 1, 1, 0, 0, 0, 1})}},
                      {.in = {list({0, 1, 1, 2, 2, 2}), scalar(3), list({0.3, 0.5, 0.2, 0.7, 1., -0.6})},
                       .out = {list({0.3, 0.7, 1.1})}},
                      {.in = {list({4, 0, 9, 4}), scalar(5), draw({4})}},
                      {.in = {array({2, 3}, {0, 2, 2, 1, 1, 5}), scalar(4), list({})}},
                      {.in = {array({2, 3}, {0, 2, 2, 1, 1, 5}), scalar(4), draw({2, 3})}},
                      {.in = {list({2, 2, 0}), scalar(4), list({})}, .attrs = {{"binary_output", true}}},
                      {.in = {list({2, 2, 0}), scalar(4), draw({3})}, .attrs = {{"binary_output", true}}},
                      {.in = {list({1, 2}), scalar(0), list({})}},
                      {.in = {list({}), scalar(3), list({})}},
                      {.in = {array({2, 0}, {}), scalar(2), list({})}},
                      {.in = {array({0, 3}, {}), scalar(2), list({})}}},
          .reference = binned,
          .errors = {{.in = {list({1, -1}), scalar(3), list({})}, .text = "input[1]: expected at least 0, got -1"},
                     {.in = {list({1}), scalar(-1), list({})}, .text = "size: expected at least 0, got -1"},
                     {.in = {list({1}), list({1}), list({})}, .text = "size: expected a scalar, got shape [1]"},
                     {.in = {scalar(1), scalar(2), list({})}, .text = "input: expected a rank of 1 or 2, got shape []"},
                     {.in = {list({1, 2}), scalar(3), draw({3})},
                      .text = "weights: expected the shape [2] of input, or [0] for none, got [3]"}}}},
        {"Unique",
         {.samples = {{.in = {list({3, 1, 3, 2, 1})}, .out = {list({3, 1, 2}), list({0, 1, 0, 2, 1})}},
                      {.in = {list({1, 0, 1})}, .out = {list({1, 0}), list({0, 1, 0})}},
                      {.in = {list({})}, .out = {list({}), list({})}}},
          .errors = {{.in = {draw({2, 2})}, .text = "x: expected a vector, got shape [2,2]"}},
          .data_dependent_shape = true}},
        {"Unique",
         {.samples = {{.in = {texts({4}, {"b", "a", "b", ""})},
                       .out = {texts({3}, {"b", "a", ""}), list({0, 1, 0, 2})}}},
          .label = "strings",
          .types = {kString},
          .data_dependent_shape = true}},
    });

// The position that row `r` of `indices` spells, followed by `rest`.
Index spelled(const Array& indices, const Index& row, const Index& rest) {
  Index position;
  const int64_t depth = indices.dims.back();
  for (int64_t d = 0; d < depth; ++d) {
    Index where = row;
    where.push_back(d);
    position.push_back(static_cast<int64_t>(at(indices, where)));
  }
  position.insert(position.end(), rest.begin(), rest.end());
  return position;
}

size_t flat_position(const Array& a, const Index& index) {
  size_t flat = 0;
  for (size_t k = 0; k < index.size(); ++k)
    flat = flat * static_cast<size_t>(a.dims[k]) + static_cast<size_t>(index[k]);
  return flat;
}

Index rows_of(const Array& indices) { return {indices.dims.begin(), indices.dims.end() - 1}; }

std::vector<Array> gathered(const Given& g) {
  const Array &params = g.in[0], &indices = g.in[1];
  const Index rows = rows_of(indices);
  Index dims = rows;
  dims.insert(dims.end(), params.dims.begin() + indices.dims.back(), params.dims.end());
  return {make(dims, [&](const Index& index) {
    const auto split = index.begin() + static_cast<int64_t>(rows.size());
    return at(params, spelled(indices, Index(index.begin(), split), Index(split, index.end())));
  })};
}

std::vector<Array> scattered(const Given& g) {
  const Array &indices = g.in[0], &updates = g.in[1];
  Array out = filled(integers(g.in[2]), 0);
  const Index rows = rows_of(indices);
  for_each_index(updates.dims, [&](const Index& index) {
    const auto split = index.begin() + static_cast<int64_t>(rows.size());
    const Index to = spelled(indices, Index(index.begin(), split), Index(split, index.end()));
    out.values[flat_position(out, to)] += at(updates, index);
  });
  return {out};
}

std::vector<Array> updated(const Given& g) {
  const Array &indices = g.in[1], &updates = g.in[2];
  Array out = g.in[0];
  const Index rows = rows_of(indices);
  for_each_index(updates.dims, [&](const Index& index) {
    const auto split = index.begin() + static_cast<int64_t>(rows.size());
    const Index to = spelled(indices, Index(index.begin(), split), Index(split, index.end()));
    out.values[flat_position(out, to)] = at(updates, index);
  });
  return {out};
}

std::vector<Array> band(const Given& g) {
  const int64_t lower = integer(g.in[1]), upper = integer(g.in[2]);
  return {make(g.in[0].dims, [&](const Index& index) {
    const int64_t row = index[index.size() - 2], column = index.back();
    const bool inside = (lower < 0 || row - column <= lower) && (upper < 0 || column - row <= upper);
    return inside ? at(g.in[0], index) : 0;
  })};
}

const Family positions(
    "array",
    {
        {"GatherNd",
         {.samples = {{.in = {draw({3, 4}), array({2, 2}, {0, 1, 2, 3})}},
                      {.in = {draw({3, 4}), array({2, 1}, {2, 0})}},
                      {.in = {draw({3, 4, 2}), array({2, 2, 2}, {0, 1, 2, 3, 0, 1, 1, 0})}},
                      {.in = {draw({5}), array({1}, {4})}},
                      {.in = {draw({2, 2}), array({3, 0}, {})}},
                      {.in = {draw({3, 4}), array({0, 2}, {})}}},
          .reference = gathered,
          .errors = {{.in = {draw({3}), array({1, 2}, {0, 0})},
                      .text = "last dimension of indices: expected at most 1, the number of dimensions, got 2"},
                     {.in = {draw({3, 4}), array({2, 2}, {0, 0, 1, 4})},
                      .text = "indices[1, 1]: expected one in [0, 4), got 4"},
                     {.in = {draw({3}), scalar(0)}, .text = "indices: expected a rank of at least 1, got shape []"}}}},
        {"ScatterNd",
         {.samples = {{.in = {array({2, 1}, {4, 1}), draw({2}), list({6})}},
                      {.in = {array({3, 1}, {1, 1, 0}), draw({3, 2}), list({2, 2})}},
                      {.in = {array({2, 2}, {0, 1, 2, 3}), draw({2}), list({3, 4})}},
                      {.in = {array({0, 1}, {}), draw({0}), list({3})}},
                      {.in = {array({2, 0}, {}), draw({2, 3}), list({3})}}},
          .reference = scattered,
          .errors = {{.in = {array({2, 1}, {0, 3}), draw({2}), list({3})},
                      .text = "indices[1, 0]: expected one in [0, 3), got 3"},
                     {.in = {array({2, 1}, {0, 1}), draw({3}), list({3})},
                      .text = "updates: expected shape [2], got [3]"},
                     {.in = {array({1, 2}, {0, 0}), draw({1}), list({3})},
                      .text = "last dimension of indices: expected at most 1, the number of dimensions, got 2"}}}},
        {"TensorScatterUpdate",
         {.samples = {{.in = {draw({6}), array({2, 1}, {4, 1}), draw({2}, -2, 2, 1)}},
                      {.in = {draw({3, 2}), array({2, 1}, {2, 0}), draw({2, 2}, -2, 2, 1)}},
                      {.in = {draw({3, 4}), array({2, 2}, {0, 1, 2, 3}), draw({2}, -2, 2, 1)}},
                      {.in = {draw({3}), array({0, 1}, {}), draw({0})}},
                      {.in = {draw({3}), array({1, 0}, {}), draw({1, 3}, -2, 2, 1)}}},
          .reference = updated,
          .errors = {{.in = {draw({3}), array({1, 1}, {-1}), draw({1})},
                      .text = "indices[0, 0]: expected one in [0, 3), got -1"},
                     {.in = {draw({3}), array({1, 1}, {0}), draw({2})},
                      .text = "updates: expected shape [1], got [2]"}}}},
        {"TensorScatterUpdate",
         {.samples = {{.in = {draw({3}), array({2, 1}, {1, 1}), draw({2}, -2, 2, 1)}}},
          .reference = updated,
          .label = "twice"}},
        {"MatrixBandPart",
         {.samples = {{.in = {draw({4, 4}), scalar(-1), scalar(0)}},
                      {.in = {draw({4, 4}), scalar(0), scalar(-1)}},
                      {.in = {draw({2, 3, 5}), scalar(1), scalar(2)}},
                      {.in = {draw({5, 3}), scalar(0), scalar(0)}},
                      {.in = {draw({3, 3}), scalar(100), scalar(100)}},
                      {.in = {draw({0, 3}), scalar(0), scalar(1)}}},
          .reference = band,
          .errors = {{.in = {draw({3}), scalar(0), scalar(0)},
                      .text = "input: expected a rank of at least 2, got shape [3]"},
                     {.in = {draw({3, 3}), list({0}), scalar(0)}, .text = "num_lower: expected a scalar"}}}},
    });

}  // namespace
}  // namespace panto::test::array_order_rows
