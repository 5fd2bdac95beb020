// Samples of ops that move elements without computing.
#include <algorithm>

#include "panto/tests/expect.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/saved.h"
#include "panto/tests/ops/table.h"

namespace panto::test::array_rows {
namespace {

Array with_dims(const Array& a, Index dims) {
  Array result = a;
  result.dims = std::move(dims);
  return result;
}

// ---- Shapes only ------------------------------------------------------------------------------------------------

std::vector<Array> reshape(const Given& g) {
  Index dims = integers(g.in[1]);
  int64_t known = 1;
  for (const int64_t d : dims) known *= d < 0 ? 1 : d;
  for (int64_t& d : dims) d = d < 0 ? g.in[0].numel() / known : d;
  return {with_dims(g.in[0], dims)};
}

std::vector<Array> expand_dims(const Given& g) {
  Index dims = g.in[0].dims;
  dims.insert(dims.begin() + static_cast<int64_t>(normal_axis(integer(g.in[1]), dims.size() + 1)), 1);
  return {with_dims(g.in[0], dims)};
}

std::vector<Array> squeeze(const Given& g) {
  const Index axes = g.integers("squeeze_dims");
  const size_t rank = g.in[0].dims.size();
  Index dims;
  for (size_t k = 0; k < rank; ++k) {
    const bool named = std::ranges::any_of(axes, [&](int64_t a) { return normal_axis(a, rank) == k; });
    if (axes.empty() ? g.in[0].dims[k] != 1 : !named) dims.push_back(g.in[0].dims[k]);
  }
  return {with_dims(g.in[0], dims)};
}

std::vector<Array> transpose(const Given& g) {
  Index perm = integers(g.in[1]);
  Index dims;
  for (int64_t& p : perm) p = static_cast<int64_t>(normal_axis(p, perm.size()));
  for (const int64_t p : perm) dims.push_back(g.in[0].dims[static_cast<size_t>(p)]);
  return {make(dims, [&](const Index& index) {
    Index from(index.size());
    for (size_t k = 0; k < perm.size(); ++k) from[static_cast<size_t>(perm[k])] = index[k];
    return at(g.in[0], from);
  })};
}

std::vector<Array> broadcast_to(const Given& g) {
  Array y;
  y.dims = integers(g.in[1]);
  for (size_t i = 0; i < static_cast<size_t>(y.numel()); ++i) {
    y.values.push_back(g.in[0].values[g.in[0].broadcast_position(y.dims, i)]);
  }
  return {y};
}

std::vector<Array> tile(const Given& g) {
  const Array& x = g.in[0];
  Index dims = x.dims;
  for (size_t k = 0; k < dims.size(); ++k) dims[k] *= integer(g.in[1], k);
  return {make(dims, [&](Index index) {
    for (size_t k = 0; k < index.size(); ++k) index[k] %= x.dims[k];
    return at(x, index);
  })};
}

const Family shapes(
    "array",
    {
        {"Reshape",
         {.samples = {{.in = {draw({2, 3}), list({3, 2})}},
                      {.in = {draw({2, 3}), list({6})}},
                      {.in = {draw({2, 3, 4}), list({4, -1})}},
                      {.in = {draw({1}), list({})}},
                      {.in = {draw({}), list({1, 1})}},
                      {.in = {draw({0, 3}), list({3, 0, 2})}},
                      {.in = {draw({0, 3}), list({-1, 3})}}},
          .reference = reshape,
          .errors =
              {{.in = {draw({2, 3}), list({4, 2})}, .text = "number of elements: expected 6, got 8"},
               {.in = {draw({2, 3}), list({-1, -1})}, .text = "shape: expected at most one -1, got them at 0 and 1"},
               {.in = {draw({2, 3}), list({-1, 4})}, .text = "shape: expected a number of elements that divides 6"},
               {.in = {draw({2, 3}), list({-2, 3})}, .text = "shape[0]: expected at least -1, got -2"},
               {.in = {draw({0}), list({-1, 0})}, .text = "shape: expected dimensions other than 0 beside -1"},
               {.in = {draw({2}), array({1, 1}, {2})}, .text = "shape: expected a vector, got shape [1,1]"}}}},
        {"ExpandDims",
         {.samples = {{.in = {draw({2, 3}), scalar(0)}},
                      {.in = {draw({2, 3}), scalar(-1)}},
                      {.in = {draw({2, 3}), scalar(1)}},
                      {.in = {draw({}), scalar(0)}},
                      {.in = {draw({0}), scalar(1)}}},
          .reference = expand_dims,
          .errors = {{.in = {draw({2, 3}), scalar(3)}, .text = "dim: expected one in [-3, 3), got 3"},
                     {.in = {draw({2, 3}), list({0, 1})}, .text = "dim: expected one integer, got shape [2]"}}}},
        {"Squeeze",
         {.samples = {{.in = {draw({1, 3, 1})}},
                      {.in = {draw({1, 3, 1})}, .attrs = {{"squeeze_dims", Index{0}}}},
                      {.in = {draw({1, 3, 1})}, .attrs = {{"squeeze_dims", Index{-1, 0}}}},
                      {.in = {draw({2, 3})}},
                      {.in = {draw({1, 0})}}},
          .reference = squeeze,
          .errors = {{.in = {draw({1, 3})},
                      .attrs = {{"squeeze_dims", Index{1}}},
                      .text = "dimension 1, which is to be squeezed: expected 1, got 3"},
                     {.in = {draw({1, 3})},
                      .attrs = {{"squeeze_dims", Index{2}}},
                      .text = "squeeze_dims: expected one in [-2, 2), got 2"}}}},
        {"Transpose",
         {.samples = {{.in = {draw({2, 3}), list({1, 0})}},
                      {.in = {draw({2, 3, 4}), list({2, 0, 1})}},
                      {.in = {draw({2, 3, 4}), list({0, 2, 1})}},
                      {.in = {draw({2, 3, 4}), list({0, 1, 2})}},
                      {.in = {draw({2, 1, 3, 2}), list({3, 1, 0, 2})}},
                      {.in = {draw({17, 19}), list({1, 0})}},
                      {.in = {draw({2, 3}), list({-1, -2})}},
                      {.in = {draw({2, 3, 4}), list({-2, 2, -3})}},
                      {.in = {draw({}), list({})}},
                      {.in = {draw({0, 3}), list({1, 0})}}},
          .reference = transpose,
          .errors = {{.in = {draw({2, 3}), list({0})},
                      .text = "perm: expected 2 axes, one for each dimension of x, got 1"},
                     {.in = {draw({2, 3}), list({0, 0})}, .text = "perm: expected every axis once, got 0 twice"},
                     {.in = {draw({2, 3}), list({0, 2})}, .text = "perm[1]: expected an axis in [-2, 2), got 2"},
                     {.in = {draw({2, 3}), list({1, -3})}, .text = "perm[1]: expected an axis in [-2, 2), got -3"},
                     {.in = {draw({2, 3}), list({1, -1})}, .text = "perm: expected every axis once, got 1 twice"}}}},
        {"InvertPermutation",
         {.samples = {{.in = {list({2, 0, 1})}, .out = {list({1, 2, 0})}},
                      {.in = {list({3, 1, 2, 0})}, .out = {list({3, 1, 2, 0})}},
                      {.in = {list({})}, .out = {list({})}}},
          .errors = {{.in = {list({0, 3})}, .text = "x[1]: expected a number in [0, 2), got 3"},
                     {.in = {list({1, 1})}, .text = "x: expected every number once, got 1 twice"}}}},
        {"BroadcastTo",
         {.samples = {{.in = {draw({3}), list({2, 3})}},
                      {.in = {draw({2, 1}), list({2, 3})}},
                      {.in = {draw({}), list({2, 2})}},
                      {.in = {draw({1}), list({0})}},
                      {.in = {draw({2, 3}), list({2, 3})}},
                      {.in = {draw({2, 1, 2, 1}), list({3, 2, 4, 2, 3})}}},
          .reference = broadcast_to,
          .errors = {{.in = {draw({3}), list({2})}, .text = "dimension 0 of input: expected 2 or 1, got 3"},
                     {.in = {draw({2, 3}), list({3})},
                      .text = "rank: expected at most 1, that of the new shape, got 2"},
                     {.in = {draw({3}), list({-1, 3})}, .text = "shape[0]: expected at least 0, got -1"}}}},
        {"Tile",
         {.samples = {{.in = {draw({2, 3}), list({2, 1})}},
                      {.in = {draw({2, 3}), list({1, 3})}},
                      {.in = {draw({3}), list({0})}},
                      {.in = {draw({}), list({})}},
                      {.in = {draw({2, 1, 3}), list({2, 3, 2})}}},
          .reference = tile,
          .errors = {{.in = {draw({3}), list({-1})}, .text = "multiples[0]: expected at least 0, got -1"},
                     {.in = {draw({2, 3}), list({2})},
                      .text = "multiples: expected 2 numbers, one for each dimension of input, got 1"}}}},
    });

// ---- Parts of one tensor, and several made one ------------------------------------------------------------------

std::vector<Array> slice(const Given& g) {
  const Index begin = integers(g.in[1]);
  Index size = integers(g.in[2]);
  for (size_t k = 0; k < size.size(); ++k) size[k] = size[k] < 0 ? g.in[0].dims[k] - begin[k] : size[k];
  return {make(size, [&](Index index) {
    for (size_t k = 0; k < index.size(); ++k) index[k] += begin[k];
    return at(g.in[0], index);
  })};
}

std::vector<Array> pad(const Given& g) {
  const Array& x = g.in[0];
  Index dims = x.dims;
  for (size_t k = 0; k < dims.size(); ++k) dims[k] += integer(g.in[1], 2 * k) + integer(g.in[1], 2 * k + 1);
  return {make(dims, [&](Index index) {
    for (size_t k = 0; k < index.size(); ++k) {
      index[k] -= integer(g.in[1], 2 * k);
      if (index[k] < 0 || index[k] >= x.dims[k]) return 0.0;
    }
    return at(x, index);
  })};
}

std::vector<Array> concat(const Given& g) {
  const size_t axis = normal_axis(integer(g.in.back()), g.in[0].dims.size());
  Index dims = g.in[0].dims;
  dims[axis] = 0;
  for (size_t i = 0; i + 1 < g.in.size(); ++i) dims[axis] += g.in[i].dims[axis];
  return {make(dims, [&](Index index) {
    size_t i = 0;
    for (; index[axis] >= g.in[i].dims[axis]; ++i) index[axis] -= g.in[i].dims[axis];
    return at(g.in[i], index);
  })};
}

std::vector<Array> split(const Given& g) {
  const Array& x = g.in[1];
  const size_t axis = normal_axis(integer(g.in[0]), x.dims.size());
  const int64_t parts = g.integer("num_split");
  Index dims = x.dims;
  dims[axis] /= parts;
  std::vector<Array> result;
  for (int64_t p = 0; p < parts; ++p) {
    result.push_back(make(dims, [&](Index index) {
      index[axis] += p * dims[axis];
      return at(x, index);
    }));
  }
  return result;
}

std::vector<Array> pack(const Given& g) {
  Index dims = g.in[0].dims;
  const size_t axis = normal_axis(g.integer("axis"), dims.size() + 1);
  dims.insert(dims.begin() + static_cast<int64_t>(axis), static_cast<int64_t>(g.in.size()));
  return {make(dims, [&](Index index) {
    const auto i = static_cast<size_t>(index[axis]);
    index.erase(index.begin() + static_cast<int64_t>(axis));
    return at(g.in[i], index);
  })};
}

std::vector<Array> unpack(const Given& g) {
  Index dims = g.in[0].dims;
  const auto axis = static_cast<int64_t>(normal_axis(g.integer("axis"), dims.size()));
  dims.erase(dims.begin() + axis);
  std::vector<Array> result;
  for (int64_t i = 0; i < g.integer("num"); ++i) {
    result.push_back(make(dims, [&](Index index) {
      index.insert(index.begin() + axis, i);
      return at(g.in[0], index);
    }));
  }
  return result;
}

const Family parts(
    "array",
    {
        {"Slice",
         {.samples = {{.in = {draw({4, 5}), list({1, 2}), list({2, 3})}},
                      {.in = {draw({4, 5}), list({0, 0}), list({-1, 2})}},
                      {.in = {draw({4, 5}), list({2, 0}), list({2, -1})}},
                      {.in = {draw({4, 5}), list({4, 0}), list({0, 5})}},
                      {.in = {draw({2, 3, 4}), list({1, 0, 1}), list({1, 3, 2})}},
                      {.in = {draw({}), list({}), list({})}}},
          .reference = slice,
          .errors = {{.in = {draw({4}), list({5}), list({0})}, .text = "begin[0]: expected one in [0, 4], got 5"},
                     {.in = {draw({4}), list({-1}), list({0})}, .text = "begin[0]: expected one in [0, 4], got -1"},
                     {.in = {draw({4}), list({1}), list({4})},
                      .text = "size[0]: expected at most 3, what is left after begin 1, got 4"},
                     {.in = {draw({4}), list({1}), list({-2})}, .text = "size[0]: expected at least -1, got -2"},
                     {.in = {draw({4, 5}), list({1}), list({1})}, .text = "begin and size: expected 2 numbers"}}}},
        {"Pad",
         {.samples = {{.in = {draw({2, 3}), array({2, 2}, {1, 0, 0, 2})}},
                      {.in = {draw({3}), array({1, 2}, {2, 1})}},
                      {.in = {draw({}), array({0, 2}, {})}},
                      {.in = {draw({0, 2}), array({2, 2}, {1, 1, 0, 0})}},
                      {.in = {draw({2, 2, 2}), array({3, 2}, {0, 1, 1, 0, 1, 1})}}},
          .reference = pad,
          .errors = {{.in = {draw({3}), array({1, 2}, {-1, 0})}, .text = "paddings[0, 0]: expected at least 0, got -1"},
                     {.in = {draw({3}), array({2, 2}, {0, 0, 0, 0})}, .text = "paddings: expected 1 rows"}},
          .types = dtypes::kAny - DTypeSet{kString, kResource, kVariant}}},
        {"ConcatV2",
         {.samples = {{.in = {draw({2, 3}), draw({1, 3}, -2, 2, 1), scalar(0)}},
                      {.in = {draw({2, 3}), draw({2, 2}, -2, 2, 1), draw({2, 0}), scalar(-1)}},
                      {.in = {draw({0}), draw({3}), scalar(0)}},
                      {.in = {draw({2, 2, 2}), draw({2, 3, 2}, -2, 2, 1), draw({2, 1, 2}, -2, 2, 2), scalar(1)}}},
          .reference = concat,
          .errors = {{.in = {draw({2, 3}), draw({2, 2}), scalar(0)},
                      .text = "dimension 1 of values[1]: expected 3, that of values[0], got 2"},
                     {.in = {draw({2, 3}), draw({2}), scalar(0)},
                      .text = "rank of values[1]: expected 2, that of values[0], got 1"},
                     {.in = {draw({2}), draw({2}), scalar(1)}, .text = "axis: expected one in [-1, 1), got 1"},
                     {.in = {draw({}), draw({}), scalar(0)},
                      .text = "values: expected a rank of at least 1, got scalars"},
                     {.in = {draw({2}), scalar(0)}, .text = "N: expected at least 2, got 1"}}}},
        {"Split",
         {.samples = {{.in = {scalar(0), draw({4, 3})}, .attrs = {{"num_split", 2}}},
                      {.in = {scalar(-1), draw({2, 6})}, .attrs = {{"num_split", 3}}},
                      {.in = {scalar(0), draw({3})}, .attrs = {{"num_split", 1}}},
                      {.in = {scalar(1), draw({2, 0})}, .attrs = {{"num_split", 2}}}},
          .reference = split,
          .errors =
              {{.in = {scalar(0), draw({3})},
                .attrs = {{"num_split", 2}},
                .text = "num_split: expected a divisor of 3, dimension 0 of value, got 2"},
               {.in = {scalar(1), draw({3})},
                .attrs = {{"num_split", 1}},
                .text = "split_dim: expected one in [-1, 1)"},
               {.in = {scalar(0), draw({3})}, .attrs = {{"num_split", 0}}, .text = "num_split: expected at least 1"},
               {.in = {scalar(0), draw({3})}, .text = "attribute num_split: expected a value, got none"}}}},
        {"Pack",
         {.samples = {{.in = {draw({2, 3}), draw({2, 3}, -2, 2, 1)}},
                      {.in = {draw({2, 3}), draw({2, 3}, -2, 2, 1)}, .attrs = {{"axis", 1}}},
                      {.in = {draw({2, 3}), draw({2, 3}, -2, 2, 1)}, .attrs = {{"axis", -1}}},
                      {.in = {draw({}), draw({}, -2, 2, 1), draw({}, -2, 2, 2)}},
                      {.in = {draw({3})}},
                      {.in = {draw({0, 2}), draw({0, 2})}}},
          .reference = pack,
          .errors = {{.in = {draw({2}), draw({3})},
                      .text = "dimension 0 of values[1]: expected 2, that of values[0], got 3"},
                     {.in = {draw({2}), draw({2})},
                      .attrs = {{"axis", 2}},
                      .text = "axis: expected one in [-2, 2), got 2"}}}},
        {"Unpack",
         {.samples = {{.in = {draw({2, 3})}, .attrs = {{"num", 2}}},
                      {.in = {draw({2, 3})}, .attrs = {{"num", 3}, {"axis", 1}}},
                      {.in = {draw({2, 3})}, .attrs = {{"num", 3}, {"axis", -1}}},
                      {.in = {draw({3})}, .attrs = {{"num", 3}}},
                      {.in = {draw({2, 0})}, .attrs = {{"num", 2}}}},
          .reference = unpack,
          .errors =
              {{.in = {draw({2, 3})}, .attrs = {{"num", 3}}, .text = "num: expected 2, dimension 0 of value, got 3"},
               {.in = {draw({})}, .attrs = {{"num", 1}}, .text = "value: expected a rank of at least 1, got a scalar"},
               {.in = {draw({2})},
                .attrs = {{"num", 2}, {"axis", 1}},
                .text = "axis: expected one in [-1, 1), got 1"}}}},
    });

// StridedSlice and its gradient: expected values after NumPy's indexing of np.arange(24).reshape(2, 3, 4).
const Array kCube = iota({2, 3, 4});

const Family strided(
    "array", {
                 {"StridedSlice",
                  {.samples = {{.in = {iota({6}), list({1}), list({5}), list({2})}, .out = {list({1, 3})}},
                               {.in = {iota({6}), list({-1}), list({-4}), list({-1})}, .out = {list({5, 4, 3})}},
                               {.in = {iota({6}), list({4}), list({100}), list({1})}, .out = {list({4, 5})}},
                               {.in = {iota({6}), list({4}), list({2}), list({1})}, .out = {list({})}},
                               {.in = {kCube, list({1}), list({2}), list({1})}, .out = {iota({1, 3, 4}, 12)}},
                               {.in = {kCube, list({1}), list({0}), list({1})},
                                .attrs = {{"shrink_axis_mask", 1}},
                                .out = {iota({3, 4}, 12)}},
                               {.in = {kCube, list({0, 0, 0}), list({0, 0, 2}), list({1, 1, 1})},
                                .attrs = {{"begin_mask", 3}, {"end_mask", 3}, {"shrink_axis_mask", 0}},
                                .out = {array({2, 3, 2}, {0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21})}},
                               {.in = {kCube, list({0, 3}), list({0, 4}), list({1, 1})},
                                .attrs = {{"ellipsis_mask", 1}, {"shrink_axis_mask", 2}},
                                .out = {array({2, 3}, {3, 7, 11, 15, 19, 23})}},
                               {.in = {iota({3}), list({0, 0}), list({0, 0}), list({1, 1})},
                                .attrs = {{"new_axis_mask", 1}, {"begin_mask", 2}, {"end_mask", 2}},
                                .out = {iota({1, 3})}}},
                   .errors = {{.in = {iota({3}), list({3}), list({4}), list({1})},
                               .attrs = {{"shrink_axis_mask", 1}},
                               .text = "index of dimension 0: expected one in [-3, 3), got 3"},
                              {.in = {iota({3}), list({0}), list({1}), list({0})},
                               .text = "strides[0]: expected a number other than 0, got 0"},
                              {.in = {iota({3}), list({0, 0}), list({1, 1}), list({1, 1})},
                               .text = "indices: expected at most 1, one for each dimension, got 2"},
                              {.in = {iota({3}), list({0}), list({1, 1}), list({1})},
                               .text = "lengths of begin, end and strides: expected 1, got 2"},
                              {.in = {iota({3}), list({0, 0}), list({1, 1}), list({1, 1})},
                               .attrs = {{"ellipsis_mask", 3}},
                               .text = "ellipsis_mask: expected at most one, got them at 0 and 1"}}}},
                 {"StridedSliceGrad",
                  {.samples = {{.in = {list({6}), list({1}), list({5}), list({2}), list({7, 8})},
                                .out = {list({0, 7, 0, 8, 0, 0})}},
                               {.in = {list({2, 3}), list({1}), list({0}), list({1}), list({7, 8, 9})},
                                .attrs = {{"shrink_axis_mask", 1}},
                                .out = {array({2, 3}, {0, 0, 0, 7, 8, 9})}}},
                   .errors = {{.in = {list({6}), list({1}), list({5}), list({2}), list({7, 8, 9})},
                               .text = "dy: expected the shape of the slice, [2], got [3]"}},
                   .types = dtypes::kAny - DTypeSet{kString, kResource, kVariant}}},
             });

// ---- Elements by index ------------------------------------------------------------------------------------------

std::vector<Array> gather(const Given& g) {
  const Array &params = g.in[0], &indices = g.in[1];
  const auto batch = static_cast<int64_t>(normal_axis(g.integer("batch_dims"), indices.dims.size()));
  const auto axis = static_cast<int64_t>(normal_axis(integer(g.in[2]), params.dims.size()));
  const auto index_rank = static_cast<int64_t>(indices.dims.size());
  Index dims(params.dims.begin(), params.dims.begin() + axis);
  dims.insert(dims.end(), indices.dims.begin() + batch, indices.dims.end());
  dims.insert(dims.end(), params.dims.begin() + axis + 1, params.dims.end());
  return {make(dims, [&](const Index& index) {
    Index which(index.begin(), index.begin() + batch);
    which.insert(which.end(), index.begin() + axis, index.begin() + axis + index_rank - batch);
    Index from(index.begin(), index.begin() + axis);
    from.push_back(static_cast<int64_t>(at(indices, which)));
    from.insert(from.end(), index.begin() + axis + index_rank - batch, index.end());
    return at(params, from);
  })};
}

std::vector<Array> one_hot(const Given& g) {
  Index dims = g.in[0].dims;
  const int64_t given = g.integer("axis");
  const size_t axis = given < 0 ? dims.size() : static_cast<size_t>(given);
  dims.insert(dims.begin() + static_cast<int64_t>(axis), integer(g.in[1]));
  return {make(dims, [&](Index index) {
    const int64_t position = index[axis];
    index.erase(index.begin() + static_cast<int64_t>(axis));
    return at(g.in[0], index) == static_cast<double>(position) ? g.in[2].values[0] : g.in[3].values[0];
  })};
}

const Family indexed(
    "array",
    {
        {"GatherV2",
         {.samples = {{.in = {draw({4, 3}), list({2, 0, 2}), scalar(0)}},
                      {.in = {draw({4, 3}), array({2, 2}, {0, 2, 1, 1}), scalar(1)}},
                      {.in = {draw({4, 3}), scalar(3), scalar(0)}},
                      {.in = {draw({2, 3, 2}), list({1, 0}), scalar(-2)}},
                      {.in = {draw({2, 3}), array({2, 2}, {0, 2, 1, 1}), scalar(1)}, .attrs = {{"batch_dims", 1}}},
                      {.in = {draw({2, 3, 4}), array({2, 2}, {0, 2, 1, 1}), scalar(2)}, .attrs = {{"batch_dims", 1}}},
                      {.in = {draw({4, 3}), list({}), scalar(0)}},
                      {.in = {draw({4, 0}), list({1}), scalar(0)}}},
          .reference = gather,
          .errors = {{.in = {draw({4}), list({4}), scalar(0)}, .text = "indices[0]: expected one in [0, 4), got 4"},
                     {.in = {draw({4}), list({0, -1}), scalar(0)},
                      .text = "indices[1]: expected one in [0, 4), got -1"},
                     {.in = {draw({4}), list({0}), scalar(1)}, .text = "axis: expected one in [-1, 1), got 1"},
                     {.in = {draw({0}), list({0}), scalar(0)}, .text = "indices[0]: expected one in [0, 0), got 0"},
                     {.in = {draw({2, 3}), draw({3, 1}, 0, 1), scalar(1)},
                      .attrs = {{"batch_dims", 1}},
                      .text = "batch dimensions of params and indices: expected 2, got 3"}}}},
        {"OneHot",
         {.samples = {{.in = {list({0, 2, 1}), scalar(3), scalar(5), scalar(1)}},
                      {.in = {list({0, -1, 7}), scalar(3), scalar(5), scalar(1)}},
                      {.in = {array({2, 2}, {0, 1, 2, 0}), scalar(3), scalar(5), scalar(1)}, .attrs = {{"axis", 0}}},
                      {.in = {array({2, 2}, {0, 1, 2, 0}), scalar(3), scalar(5), scalar(1)}, .attrs = {{"axis", 1}}},
                      {.in = {scalar(1), scalar(3), scalar(5), scalar(1)}},
                      {.in = {list({0, 0}), scalar(0), scalar(5), scalar(1)}},
                      {.in = {list({0, 1}), scalar(2), zeros_and_ones({}, 1), zeros_and_ones({})}}},
          .reference = one_hot,
          .errors =
              {{.in = {list({0}), scalar(-1), scalar(1), scalar(0)}, .text = "depth: expected at least 0, got -1"},
               {.in = {list({0}), scalar(2), scalar(1), scalar(0)}, .attrs = {{"axis", 2}}, .text = "axis: expected"},
               {.in = {list({0}), scalar(2), list({1, 2}), scalar(0)}, .text = "on_value: expected a scalar"}}}},
    });

}  // namespace
}  // namespace panto::test::array_rows
