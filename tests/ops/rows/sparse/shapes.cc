// Samples of ops that move the entries of sparse tensors to other shapes. References count elements one by one.
#include <algorithm>
#include <optional>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::sparse_shapes_rows {
namespace {

const Array kIndices = array({3, 2}, {0, 0, 0, 2, 1, 1}), kNone = array({0, 2}, {});
const Array kShape = list({2, 3});

std::vector<Array> reshaped(const Given& g) {
  const Index from = integers(g.in[1]);
  Index to = integers(g.in[2]);
  int64_t elements = 1, others = 1;
  for (const int64_t d : from) elements *= d;
  for (const int64_t d : to) others *= d == -1 ? 1 : d;
  for (int64_t& d : to) d = d == -1 ? elements / others : d;
  // The index in the new shape of each index in the old one.
  std::vector<Index> before, after;
  for_each_index(from, [&](const Index& index) { before.push_back(index); });
  for_each_index(to, [&](const Index& index) { after.push_back(index); });
  Array indices, dims;
  indices.dims = {g.in[0].dims[0], static_cast<int64_t>(to.size())};
  for (int64_t i = 0; i < g.in[0].dims[0]; ++i) {
    Index index;
    for (size_t d = 0; d < from.size(); ++d)
      index.push_back(integer(g.in[0], static_cast<size_t>(i) * from.size() + d));
    const Index& moved = after[static_cast<size_t>(std::ranges::find(before, index) - before.begin())];
    indices.values.insert(indices.values.end(), moved.begin(), moved.end());
  }
  dims.dims = {static_cast<int64_t>(to.size())};
  dims.values.assign(to.begin(), to.end());
  return {indices, dims};
}

const std::vector<Sample> kReshape = {
    {.in = {kIndices, kShape, list({3, 2})}},         {.in = {kIndices, kShape, list({-1})}},
    {.in = {kIndices, kShape, list({1, -1, 2})}},     {.in = {kIndices, kShape, kShape}},
    {.in = {kNone, list({0, 3}), list({-1, 3})}},     {.in = {kNone, kShape, list({6})}},
    {.in = {array({1, 1}, {0}), list({1}), list({})}}};
const std::vector<ErrorSample> kReshapeErrors = {
    {.in = {kIndices, kShape, list({4})}, .text = "new_shape: expected one of 6 elements, got 4"},
    {.in = {kIndices, kShape, list({-1, 4})}, .text = "new_shape: expected dimensions that divide 6 elements, got 4"},
    {.in = {kIndices, kShape, list({-1, -1})}, .text = "new_shape: expected at most one dimension of -1, got several"},
    {.in = {kIndices, kShape, list({0, -1})}, .text = "new_shape: expected no dimensions of 0 beside -1, got [0,1]"},
    {.in = {kIndices, kShape, list({-2, 3})}},
    {.in = {kNone, list({2, -3}), list({-6})}},
    {.in = {kIndices, list({0, 3}), list({3, 0})}},
    {.in = {kIndices, list({2, 3, 1}), list({6})}, .text = "rank of indices and shape"},
    {.in = {kNone, list({1099511627776.0, 1099511627776.0}), list({1})}}};

std::vector<Array> sliced(const Given& g) {
  const size_t rank = g.in[2].values.size();
  Array indices, values, dims = g.in[2];
  for (size_t i = 0; i < g.in[1].values.size(); ++i) {
    std::vector<double> moved;
    bool inside = true;
    for (size_t d = 0; d < rank; ++d) {
      moved.push_back(g.in[0].values[i * rank + d] - g.in[3].values[d]);
      inside = inside && moved.back() >= 0 && moved.back() < g.in[4].values[d];
    }
    if (!inside) continue;
    indices.values.insert(indices.values.end(), moved.begin(), moved.end());
    values.values.push_back(g.in[1].values[i]);
  }
  const auto count = static_cast<int64_t>(values.values.size());
  indices.dims = {count, static_cast<int64_t>(rank)};
  values.dims = {count};
  for (size_t d = 0; d < rank; ++d) {
    dims.values[d] = std::max(0.0, std::min(g.in[4].values[d], g.in[2].values[d] - g.in[3].values[d]));
  }
  return {indices, values, dims};
}

const std::vector<Sample> kSlice = {{.in = {kIndices, draw({3}), kShape, list({0, 1}), list({2, 2})}},
                                    {.in = {kIndices, draw({3}), kShape, list({1, 1}), list({9, 9})}},
                                    {.in = {kIndices, draw({3}), kShape, list({5, 0}), list({1, 1})}},
                                    {.in = {kIndices, draw({3}), kShape, list({-1, 0}), list({2, 2})}},
                                    {.in = {kIndices, draw({3}), kShape, list({0, 0}), list({0, 2})}},
                                    {.in = {kIndices, draw({3}), kShape, list({0, 0}), kShape}},
                                    {.in = {kIndices, draw({3}), kShape, list({1, 0}), list({4e18, 4e18})}},
                                    {.in = {kNone, list({}), kShape, list({0, 0}), list({1, 1})}}};
const std::vector<ErrorSample> kSliceErrors = {
    {.in = {kIndices, draw({3}), kShape, list({0, 0}), list({-1, 2})}, .text = "size[0]: expected at least 0, got -1"},
    {.in = {kIndices, draw({3}), kShape, list({0}), list({1, 1})}, .text = "rank of indices and start"},
    {.in = {kIndices, draw({3}), kShape, list({0, 0}), list({1})}, .text = "rank of indices and size"},
    {.in = {kIndices, draw({2}), kShape, list({0, 0}), list({1, 1})}, .text = "number of indices and values"}};

std::vector<Array> slice_gradients(const Given& g) {
  const size_t rank = g.in[2].values.size();
  Array y;
  y.dims = {g.in[1].dims[0]};
  y.values.assign(static_cast<size_t>(y.dims[0]), 0);
  for (size_t i = 0; i < y.values.size(); ++i) {
    for (size_t j = 0; j < g.in[0].values.size(); ++j) {
      bool same = true;
      for (size_t d = 0; d < rank; ++d) {
        same = same && g.in[1].values[i * rank + d] == g.in[3].values[j * rank + d] + g.in[2].values[d];
      }
      if (same) y.values[i] = g.in[0].values[j];
    }
  }
  return {y};
}

const std::vector<Sample> kSliceGrad = {{.in = {draw({2}), kIndices, list({0, 1}), array({2, 2}, {0, 1, 1, 0})}},
                                        {.in = {draw({3}), kIndices, list({-1, 0}), array({3, 2}, {1, 0, 1, 2, 2, 1})}},
                                        {.in = {list({}), kIndices, list({0, 1}), kNone}}};
const std::vector<ErrorSample> kSliceGradErrors = {
    {.in = {draw({1}), kIndices, list({0, 0}), array({1, 2}, {0, 1})},
     .text = "output_indices[0]: expected an entry that is also in input_indices, got another"},
    {.in = {draw({1}), kIndices, list({0, 1}), array({2, 2}, {0, 1, 1, 0})},
     .text = "number of gradients and output_indices"},
    {.in = {draw({2}), kIndices, list({0}), array({2, 2}, {0, 1, 1, 0})},
     .text = "rank of input_indices and input_start"}};

const Family shapes(
    "sparse",
    {
        {"SparseReshape", {.samples = kReshape, .reference = reshaped, .errors = kReshapeErrors}},
        {"SparseSlice", {.samples = kSlice, .reference = sliced, .errors = kSliceErrors, .data_dependent_shape = true}},
        {"SparseSliceGrad",
         {.samples = kSliceGrad,
          .reference = slice_gradients,
          .errors = kSliceGradErrors,
          .fixed = {1, 2, 3}}},  // the slice's entries are among those of the whole
    });

}  // namespace
}  // namespace panto::test::sparse_shapes_rows
