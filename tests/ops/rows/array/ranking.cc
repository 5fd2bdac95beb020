// Samples of ops that ask where elements stand in an order, and that count or leave out elements. References count.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::ranking_rows {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<Array> nth(const Given& g) {
  const Array& x = g.in[0];
  Array y;
  y.dims.assign(x.dims.begin(), x.dims.end() - 1);
  for (int64_t r = 0; r < y.numel(); ++r) {
    const auto begin = x.values.begin() + r * x.dims.back();
    std::vector<double> row(begin, begin + x.dims.back());
    std::ranges::sort(row);
    if (g.flag("reverse")) std::ranges::reverse(row);
    y.values.push_back(row[static_cast<size_t>(integer(g.in[1]))]);
  }
  return {y};
}

std::vector<Array> among_first(const Given& g) {
  const Array &x = g.in[0], &targets = g.in[1];
  const int64_t k = g.in.size() > 2 ? integer(g.in[2]) : g.integer("k");
  Array y;
  y.dims = targets.dims;
  for (int64_t r = 0; r < targets.dims[0]; ++r) {
    const int64_t target = integer(targets, static_cast<size_t>(r));
    int64_t larger = 0;
    bool among = target >= 0 && target < x.dims[1];
    for (int64_t i = 0; among && i < x.dims[1]; ++i) larger += at(x, {r, i}) > at(x, {r, target}) ? 1 : 0;
    for (int64_t i = 0; among && i < x.dims[1]; ++i) among = std::isfinite(at(x, {r, i}));
    y.values.push_back(among && larger < k ? 1 : 0);
  }
  return {y};
}

// How many elements of the row are less (or not greater).
template <bool kUpper>
std::vector<Array> bound(const Given& g) {
  const Array &sorted = g.in[0], &values = g.in[1];
  return {make(values.dims, [&](const Index& index) {
    double count = 0;
    for (int64_t i = 0; i < sorted.dims[1]; ++i) {
      const double element = at(sorted, {index[0], i}), value = at(values, index);
      count += element < value || (kUpper && element == value) ? 1 : 0;
    }
    return count;
  })};
}

const std::vector<ErrorSample> kBoundErrors = {
    {.in = {draw({2, 3}), draw({1, 3})}, .text = "rows of sorted_inputs and values: expected 2, got 1"},
    {.in = {draw({3}), draw({1, 3})}, .text = "sorted_inputs: expected a matrix, got shape [3]"},
    {.in = {draw({1, 3}), draw({3})}, .text = "values: expected a matrix, got shape [3]"}};

// By sorting all.
std::vector<Array> nearest(const Given& g) {
  const Array &points = g.in[0], &centers = g.in[1];
  const int64_t count = std::min(integer(g.in[2]), centers.dims[0]);
  std::vector<double> numbers, distances;
  for (int64_t i = 0; i < points.dims[0]; ++i) {
    std::vector<std::pair<double, int64_t>> all;
    for (int64_t j = 0; j < centers.dims[0]; ++j) {
      double distance = 0;
      for (int64_t d = 0; d < points.dims[1]; ++d) distance += std::pow(at(points, {i, d}) - at(centers, {j, d}), 2);
      all.emplace_back(distance, j);
    }
    std::ranges::sort(all);
    for (int64_t k = 0; k < count; ++k) {
      numbers.push_back(static_cast<double>(all[static_cast<size_t>(k)].second));
      distances.push_back(all[static_cast<size_t>(k)].first);
    }
  }
  return {array({points.dims[0], count}, numbers), array({points.dims[0], count}, distances)};
}

const Family ranking(
    "array",
    {
        {"NearestNeighbors",
         {.samples = {{.in = {draw({4, 3}), draw({5, 3}, -2, 2, 1), scalar(2).as(kInt64)}},
                      {.in = {draw({2, 3}), draw({3, 3}, -2, 2, 1), scalar(7).as(kInt64)}},
                      {.in = {draw({0, 3}), draw({3, 3}, -2, 2, 1), scalar(1).as(kInt64)}},
                      {.in = {draw({2, 3}), draw({3, 3}, -2, 2, 1), scalar(0).as(kInt64)}}},
          .reference = nearest,
          .units = 32,
          .floor = 8}},
        {"NthElement",
         {.samples = {{.in = {draw({7}), scalar(3)}},
                      {.in = {draw({2, 3, 5}), scalar(0)}},
                      {.in = {draw({3, 5}), scalar(4)}},
                      {.in = {draw({3, 5}), scalar(1)}, .attrs = {{"reverse", true}}},
                      {.in = {draw({0, 5}), scalar(1)}}},
          .reference = nth,
          .errors = {{.in = {draw({}), scalar(0)}, .text = "input: expected a rank of at least 1, got shape []"},
                     {.in = {draw({3}), scalar(3)},
                      .text = "n: expected less than 3, the size of the last dimension, got 3"},
                     {.in = {draw({3}), scalar(-1)}, .text = "n: expected at least 0, got -1"},
                     {.in = {draw({3}), list({1})}, .text = "n: expected a scalar, got shape [1]"}}}},
        {"NthElement",
         {.samples = {{.in = {list({1, 3, 3, 2, 3}), scalar(3)}, .out = {scalar(3)}},
                      {.in = {list({1, 3, 3, 2, 3}), scalar(3)}, .attrs = {{"reverse", true}}, .out = {scalar(2)}}},
          .label = "equal",
          .gradient = false}},
        {"NthElement",
         {.samples = {{.in = {list({1, kNan, 3, kNan, -2}), scalar(2)}, .out = {scalar(3)}},
                      {.in = {list({1, kNan, 3, kInfinity, -2}), scalar(4)}, .out = {scalar(kNan)}},
                      {.in = {list({1, kNan, 3, kInfinity}), scalar(1)},
                       .attrs = {{"reverse", true}},
                       .out = {scalar(kInfinity)}}},
          .label = "special",
          .types = dtypes::kFloating,
          .gradient = false}},
        {"InTopKV2",
         {.samples = {{.in = {draw({4, 5}), list({0, 4, 2, 2}), scalar(2)}},
                      {.in = {draw({4, 5}), list({0, -1, 5, 2}), scalar(5)}},
                      {.in = {draw({2, 5}), list({0, 1}), scalar(0)}},
                      {.in = {array({4, 3}, {1, 2, 2, 1, kNan, 3, kInfinity, 2, 1, 0, 0, -kInfinity}),
                              list({1, 2, 0, 0}), scalar(1)}},
                      {.in = {draw({0, 5}), list({}), scalar(1)}}},
          .reference = among_first,
          .errors = {{.in = {draw({2, 3}), list({0}), scalar(1)},
                      .text = "rows of predictions and targets: expected 2, got 1"},
                     {.in = {draw({3}), list({0}), scalar(1)}, .text = "predictions: expected a matrix, got shape [3]"},
                     {.in = {draw({1, 3}), list({0}), list({1})}, .text = "k: expected a scalar, got shape [1]"}}}},
        {"InTopK",
         {.samples = {{.in = {draw({4, 5}), list({0, 4, 2, 2})}, .attrs = {{"k", 2}}},
                      {.in = {draw({4, 5}), list({0, -1, 5, 2})}, .attrs = {{"k", 5}}}},
          .reference = among_first,
          .errors = {{.in = {draw({2, 3}), list({0})},
                      .attrs = {{"k", 1}},
                      .text = "rows of predictions and targets: expected 2, got 1"}},
          .types = {kInt32, kInt64}}},
        // The first is TensorFlow's own example.
        {"LowerBound",
         {.samples = {{.in = {array({2, 5}, {0, 3, 9, 9, 10, 1, 2, 3, 4, 5}), array({2, 3}, {2, 4, 9, 0, 2, 6})},
                       .out = {array({2, 3}, {1, 2, 2, 0, 1, 5})}},
                      {.in = {array({1, 3}, {1, 1, 2}), draw({1, 9})}},
                      {.in = {array({2, 0}, {}), draw({2, 2})}},
                      {.in = {draw({2, 1}), draw({2, 0})}}},
          .reference = bound<false>,
          .errors = kBoundErrors}},
        {"UpperBound",
         {.samples = {{.in = {array({2, 5}, {0, 3, 9, 9, 10, 1, 2, 3, 4, 5}), array({2, 3}, {2, 4, 9, 0, 2, 6})},
                       .out = {array({2, 3}, {1, 2, 4, 0, 2, 5})}},
                      {.in = {array({1, 3}, {1, 1, 2}), draw({1, 9})}},
                      {.in = {array({2, 0}, {}), draw({2, 2})}},
                      {.in = {draw({2, 1}), draw({2, 0})}}},
          .reference = bound<true>,
          .errors = kBoundErrors}},
        {"Bucketize",
         {.samples = {{.in = {list({-5, 10000, 150, 10, 5, 100})},
                       .attrs = {{"boundaries", std::vector<float>{0, 10, 100}}},
                       .out = {list({0, 3, 3, 2, 1, 3})}},
                      {.in = {array({2, 2}, {-1, 0, 1, 2})},
                       .attrs = {{"boundaries", std::vector<float>{0.5F, 0.5F, 1.5F}}},
                       .out = {array({2, 2}, {0, 0, 2, 3})}},
                      {.in = {list({1, 2})}, .attrs = {{"boundaries", std::vector<float>{}}}, .out = {list({0, 0})}},
                      {.in = {list({})}, .attrs = {{"boundaries", std::vector<float>{1}}}, .out = {list({})}}},
          .errors = {{.in = {list({1})},
                      .attrs = {{"boundaries", std::vector<float>{1, 3, 2}}},
                      .text = "boundaries[2]: expected at least 3, the one before, got 2"}}}},
        {"Bucketize",
         {.samples = {{.in = {list({kNan, kInfinity, -kInfinity})},
                       .attrs = {{"boundaries", std::vector<float>{0, 1}}},
                       .out = {list({2, 2, 0})}}},
          .label = "special",
          .types = dtypes::kFloating}},
    });

const Family counts(
    "array",
    {
        {"Bincount",
         {.samples = {{.in = {array({2, 2}, {1, 2, 7, 1}), scalar(4), list({})}, .out = {list({0, 2, 1, 0})}},
                      {.in = {array({2, 2}, {1, 2, 7, 1}), scalar(4), array({2, 2}, {3, 5, 7, 9})},
                       .out = {list({0, 12, 5, 0})}},
                      {.in = {scalar(1), scalar(2), list({})}, .out = {list({0, 1})}},
                      {.in = {list({}), scalar(2), list({})}, .out = {list({0, 0})}}},
          .errors = {{.in = {list({1, -1}), scalar(3), list({})}, .text = "input[1]: expected at least 0, got -1"},
                     {.in = {list({1}), scalar(-1), list({})}, .text = "size: expected at least 0, got -1"}},
          .gradient = false}},  // as of DenseBincount
        // The first is TensorFlow's own example.
        {"HistogramFixedWidth",
         {.samples = {{.in = {list({-1, 0, 1.5, 2, 5, 15}), list({0, 5}), scalar(5)}, .out = {list({2, 1, 1, 0, 2})}},
                      {.in = {array({2, 3}, {-1, 0, 1, 2, 5, 15}), list({0, 5}), scalar(3)}, .out = {list({3, 1, 2})}},
                      {.in = {list({}), list({-1, 1}), scalar(2)}, .out = {list({0, 0})}},
                      {.in = {scalar(4), list({-1, 1}), scalar(1)}, .out = {list({1})}}},
          .errors = {{.in = {list({1}), list({5, 5}), scalar(3)},
                      .text = "value_range: expected a lower end below the upper one, got 5 and 5"},
                     {.in = {list({1}), list({0, 5}), scalar(0)}, .text = "nbins: expected at least 1, got 0"},
                     {.in = {list({1}), list({5}), scalar(3)}, .text = "numbers in value_range: expected 2, got 1"}}}},
        {"HistogramFixedWidth",
         {.samples = {{.in = {list({-kInfinity, kInfinity, 0.75}), list({0, 1}), scalar(4)},
                       .out = {list({1, 0, 0, 2})}}},
          .errors = {{.in = {list({1, kNan}), list({0, 5}), scalar(3)},
                      .text = "values[1]: expected a number, got NaN"}},
          .label = "special",
          .types = dtypes::kFloating}},
        {"ListDiff",
         {.samples = {{.in = {list({1, 2, 3, 4, 5, 6}), list({1, 3, 5})}, .out = {list({2, 4, 6}), list({1, 3, 5})}},
                      {.in = {list({1, 2, 2, 3, 1}), list({1})}, .out = {list({2, 2, 3}), list({1, 2, 3})}},
                      {.in = {list({1, 0}), list({1, 0})}, .out = {list({}), list({})}},
                      {.in = {list({1, 0}), list({})}, .out = {list({1, 0}), list({0, 1})}},
                      {.in = {list({}), list({1})}, .out = {list({}), list({})}}},
          .errors = {{.in = {draw({2, 2}), list({1})}, .text = "x: expected a vector, got shape [2,2]"},
                     {.in = {list({1}), draw({})}, .text = "y: expected a vector, got shape []"}},
          .data_dependent_shape = true}},
        {"ListDiff",
         {.samples = {{.in = {texts({3}, {"b", "a", ""}), texts({1}, {"a"})},
                       .out = {texts({2}, {"b", ""}), list({0, 2})}}},
          .label = "strings",
          .types = {kString},
          .data_dependent_shape = true}},
        {"UniqueWithCounts",
         {.samples = {{.in = {list({3, 1, 3, 2, 1, 1})},
                       .out = {list({3, 1, 2}), list({0, 1, 0, 2, 1, 1}), list({2, 3, 1})}},
                      {.in = {list({})}, .out = {list({}), list({}), list({})}}},
          .errors = {{.in = {draw({2, 2})}, .text = "x: expected a vector, got shape [2,2]"}},
          .gradient = false,  // as of Unique
          .data_dependent_shape = true}},
    });

}  // namespace
}  // namespace panto::test::ranking_rows
