// Samples of EditDistance. The reference tries every way, for each sequence by itself.
#include <algorithm>
#include <limits>
#include <map>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::edit_distance_rows {
namespace {

using Sequence = std::vector<double>;

// By the recursive definition.
int64_t distance(const Sequence& a, const Sequence& b, size_t i, size_t k) {
  if (i == a.size()) return static_cast<int64_t>(b.size() - k);
  if (k == b.size()) return static_cast<int64_t>(a.size() - i);
  const int64_t kept = distance(a, b, i + 1, k + 1) + (a[i] == b[k] ? 0 : 1);
  return std::min({kept, distance(a, b, i + 1, k) + 1, distance(a, b, i, k + 1) + 1});
}

std::map<Index, Sequence> sequences(const Given& g, size_t first) {
  std::map<Index, Sequence> result;
  const Array& indices = g.in[first];
  for (int64_t i = 0; i < indices.dims[0]; ++i) {
    Index place;
    for (int64_t k = 0; k + 1 < indices.dims[1]; ++k) place.push_back(static_cast<int64_t>(at(indices, {i, k})));
    result[place].push_back(g.in[first + 1].values[static_cast<size_t>(i)]);
  }
  return result;
}

std::vector<Array> distances(const Given& g) {
  auto hypothesis = sequences(g, 0), truth = sequences(g, 3);
  Index dims;
  for (size_t k = 0; k + 1 < g.in[2].values.size(); ++k) {
    dims.push_back(std::max(integer(g.in[2], k), integer(g.in[5], k)));
  }
  return {make(dims, [&](const Index& place) {
    const Sequence &a = hypothesis[place], &b = truth[place];
    const auto far = static_cast<double>(distance(a, b, 0, 0));
    if (!g.flag("normalize") || far == 0) return far;
    return b.empty() ? std::numeric_limits<double>::infinity() : far / static_cast<double>(b.size());
  })};
}

Array none(int64_t rank) { return array({0, rank}, {}); }

const Array kPlaces = array({3, 2}, {0, 0, 0, 1, 1, 0});
const Array kOthers = array({3, 2}, {0, 0, 2, 0, 2, 1});
const Sample kThree = {.in = {kPlaces, list({1, 2, 3}), list({2, 2}), kOthers, list({1, 5, 6}), list({3, 2})}};
const Array kOne = array({1, 2}, {0, 0});

Sample counted(Sample sample) {
  sample.attrs = {{"normalize", false}};
  return sample;
}

const Family edits(
    "strings",
    {
        {"EditDistance",
         {.samples = {kThree,
                      counted(kThree),
                      {.in = {array({5, 2}, {0, 0, 0, 1, 0, 2, 0, 3, 0, 4}), list({1, 2, 3, 4, 5}), list({1, 5}),
                              array({4, 2}, {0, 0, 0, 1, 0, 2, 0, 3}), list({2, 3, 9, 5}), list({1, 4})}},
                      // The order of the last column does not count.
                      {.in = {array({2, 2}, {0, 1, 0, 0}), list({1, 2}), list({2, 2}), array({2, 2}, {0, 0, 0, 9}),
                              list({2, 1}), list({1, 2})}},
                      {.in = {array({3, 2}, {1, 0, 0, 0, 1, 1}), list({1, 2, 3}), list({2, 2}),
                              array({2, 2}, {0, 0, 1, 0}), list({2, 3}), list({2, 2})}},
                      {.in = {array({1, 3}, {0, 0, 0}), list({1}), list({1, 1, 1}), array({1, 3}, {1, 1, 0}), list({1}),
                              list({2, 2, 2})}},
                      {.in = {none(2), list({}), list({2, 2}), none(2), list({}), list({2, 2})}}},
          .reference = distances,
          .errors = {{.in = {array({1, 1}, {0}), list({1}), list({1}), array({1, 1}, {0}), list({1}), list({1})},
                      .text = "rank: expected at least 2, got 1"},
                     {.in = {kOne, list({1}), list({1, 1}), array({1, 3}, {0, 0, 0}), list({1}), list({1, 1, 1})},
                      .text = "ranks of hypothesis and truth: expected"},
                     {.in = {kOne, list({1, 2}), list({1, 1}), kOne, list({1}), list({1, 1})},
                      .text = "values of hypothesis: expected 1, got 2"},
                     {.in = {kOne, list({1}), list({1, 1}), kOne, list({1}), list({1})},
                      .text = "rank of truth: expected"},
                     {.in = {array({1, 2}, {5, 0}), list({1}), list({1, 1}), kOne, list({1}), list({1, 1})},
                      .text = "hypothesis_indices[0, 0]: expected one in [0, 1), got 5"},
                     {.in = {kOne, list({1}), list({1, 1}), array({1, 2}, {-1, 0}), list({1}), list({1, 1})},
                      .text = "truth_indices[0, 0]: expected one in [0, 1), got -1"},
                     {.in = {kOne, list({1}), list({-1, 1}), kOne, list({1}), list({1, 1})},
                      .text = "hypothesis_shape[0]: expected at least 0, got -1"},
                     {.in = {none(2), list({}), list({0, 2}), none(2), list({}), list({0, 2})},
                      .text = "shapes: expected sequences in every dimension, got none"},
                     {.in = {array({0, 3}, {}), list({}), wholes({3}, {INT64_MAX, INT64_MAX, 1}), none(3), list({}),
                             list({1, 1, 1})},
                      .text = ""}}}},
        {"EditDistance",
         {.samples = {{.in = {array({3, 2}, {0, 0, 0, 1, 0, 2}), texts({3}, {"a", "b", "c"}), list({1, 3}),
                              array({2, 2}, {0, 0, 0, 1}), texts({2}, {"a", "c"}), list({1, 2})},
                       .out = {list({0.5})}}},
          .label = "strings",
          .types = {kString}}},
        {"EditDistance",
         {.samples = {{.in = {kOne, list({std::numeric_limits<double>::quiet_NaN()}), list({1, 1}), kOne,
                              list({std::numeric_limits<double>::quiet_NaN()}), list({1, 1})}}},
          .reference = distances,
          .label = "nan",
          .types = dtypes::kFloating}},
    });

}  // namespace
}  // namespace panto::test::edit_distance_rows
