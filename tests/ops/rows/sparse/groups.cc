// Samples of entries that are joined along dimensions. The reference keeps them in a map by what is left of the index.
#include <algorithm>
#include <map>
#include <string>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::groups_rows {
namespace {

using Join = double (*)(double, double);
double sum(double a, double b) { return a + b; }
double largest(double a, double b) { return std::max(a, b); }

Reference joined(Join join) {
  return [join](const Given& g) {
    const Index dims = integers(g.in[2]);
    const size_t rank = dims.size();
    std::vector<bool> reduced(rank);
    for (size_t i = 0; i < g.in[3].values.size(); ++i) reduced[normal_axis(integer(g.in[3], i), rank)] = true;
    const auto left = [&](auto&& element) {
      Index result;
      for (size_t d = 0; d < rank; ++d) {
        if (!reduced[d] || g.flag("keep_dims")) result.push_back(element(d, reduced[d]));
      }
      return result;
    };
    std::map<Index, double> entries;
    for (size_t i = 0; i < g.in[1].values.size(); ++i) {
      const Index index = left([&](size_t d, bool gone) { return gone ? 0 : integer(g.in[0], i * rank + d); });
      const auto [it, is_new] = entries.emplace(index, g.in[1].values[i]);
      if (!is_new) it->second = join(it->second, g.in[1].values[i]);
    }
    const Index out_dims = left([&](size_t d, bool gone) { return gone ? 1 : dims[d]; });
    Array indices, values, shape;
    for (const auto& [index, value] : entries) {
      indices.values.insert(indices.values.end(), index.begin(), index.end());
      values.values.push_back(value);
    }
    values.dims = {static_cast<int64_t>(entries.size())};
    shape.dims = {static_cast<int64_t>(out_dims.size())};
    shape.values.assign(out_dims.begin(), out_dims.end());
    indices.dims = {values.dims[0], shape.dims[0]};
    return std::vector<Array>{indices, values, shape};
  };
}

const Array kIndices = array({3, 2}, {0, 0, 0, 2, 1, 1}), kShape = list({2, 3});
const Array kCube = array({5, 3}, {1, 0, 2, 0, 1, 0, 1, 1, 1, 0, 1, 2, 0, 1, 0});
const std::vector<Sample> kSamples = {
    {.in = {kIndices, draw({3}), kShape, list({0})}},
    {.in = {kIndices, draw({3}), kShape, list({-1})}, .attrs = {{"keep_dims", true}}},
    {.in = {kIndices, draw({3}), kShape, scalar(1)}},
    {.in = {kIndices, draw({3}), kShape, list({1, -2})}},
    {.in = {kIndices, draw({3}), kShape, list({1, -1})}, .attrs = {{"keep_dims", true}}},
    {.in = {kIndices, draw({3}), kShape, list({})}},
    {.in = {kCube, draw({5}), list({2, 2, 3}), list({0, 2})}},
    {.in = {kCube, draw({5}), list({2, 2, 3}), list({1})}},
    {.in = {kCube, draw({5}), list({2, 2, 3}), list({1})}, .attrs = {{"keep_dims", true}}},
    {.in = {kCube, draw({5}), list({2, 2, 3}), list({0})}},
    {.in = {kCube, draw({5}), list({2, 2, 3}), list({0, 1, 2})}, .attrs = {{"keep_dims", true}}},
    {.in = {array({0, 2}, {}), list({}), kShape, list({1})}}};
const std::vector<ErrorSample> kErrors = {
    {.in = {kIndices, draw({3}), list({1, 3}), list({1})}, .text = "input_indices[2,0]: expected one in [0, 1), got 1"},
    {.in = {kIndices, draw({3}), kShape, list({2})}, .text = "reduction_axes: expected one in [-2, 2), got 2"},
    {.in = {kIndices, draw({3}), kShape, array({1, 1}, {0})},
     .text = "reduction_axes: expected a scalar or vector, got shape [1,1]"},
    {.in = {kIndices, draw({3}), list({-2, 3}), list({1})},
     .text = "input_shape: expected dimensions of at least 0, got -2"},
    {.in = {kIndices, draw({2}), kShape, list({1})}, .text = "number of indices and values"},
    {.in = {kIndices, draw({3}), list({2, 3, 4}), list({1})}, .text = "rank of indices and shape"},
    {.in = {kIndices, draw({3}), list({1099511627776.0, 1099511627776.0}), list({1})}}};

const Family groups(
    "sparse",
    {
        {"SparseReduceSumSparse",
         {.samples = kSamples, .reference = joined(sum), .errors = kErrors, .data_dependent_shape = true}},
        {"SparseReduceMaxSparse",
         {.samples = kSamples, .reference = joined(largest), .errors = kErrors, .data_dependent_shape = true}},
    });

}  // namespace
}  // namespace panto::test::groups_rows
