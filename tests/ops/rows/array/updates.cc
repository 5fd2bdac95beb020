// Samples of ops that put parts into tensors, or tensors together, and of those that look for equal slices.
#include <algorithm>
#include <map>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::updates_rows {
namespace {

std::vector<Array> padded(const Given& g) {
  const Array& x = g.in[0];
  Index dims = x.dims;
  for (size_t k = 0; k < dims.size(); ++k) dims[k] += integer(g.in[1], 2 * k) + integer(g.in[1], 2 * k + 1);
  return {make(dims, [&](const Index& index) {
    Index from = index;
    for (size_t k = 0; k < from.size(); ++k) {
      from[k] -= integer(g.in[1], 2 * k);
      if (from[k] < 0 || from[k] >= x.dims[k]) return g.in[2].values[0];
    }
    return at(x, from);
  })};
}

size_t flat_position(const Index& dims, const Index& index) {
  size_t flat = 0;
  for (size_t k = 0; k < dims.size(); ++k) flat = flat * static_cast<size_t>(dims[k]) + static_cast<size_t>(index[k]);
  return flat;
}

// All dimensions have an index; one that is shrunk is the first one.
std::vector<Array> updated_slice(const Given& g) {
  Array whole = g.in[0];
  whole.is_variable = false;
  Index begin = integers(g.in[1]), end = integers(g.in[2]);
  const Index strides = integers(g.in[3]);
  Index dims;  // of the part
  for (size_t k = 0; k < begin.size(); ++k) {
    if (begin[k] < 0) begin[k] += whole.dims[k];
    if (end[k] < 0) end[k] = strides[k] < 0 ? -1 : end[k] + whole.dims[k];
    int64_t count = 0;
    for (int64_t i = begin[k]; strides[k] > 0 ? i < end[k] : i > end[k]; i += strides[k]) ++count;
    dims.push_back(count);
  }
  size_t i = 0;
  for_each_index(dims, [&](const Index& index) {
    Index to = index;
    for (size_t k = 0; k < to.size(); ++k) to[k] = begin[k] + index[k] * strides[k];
    whole.values[flat_position(whole.dims, to)] = g.in[4].values[i++ % g.in[4].values.size()];
  });
  return {whole};
}

template <class F>
Reference rows_changed(F f) {
  return [f](const Given& g) {
    Array x = g.in[0];
    const auto rows = x.dims[0];
    const size_t width = g.in[2].values.empty() ? 0 : g.in[2].values.size() / g.in[1].values.size();
    for (size_t i = 0; i < g.in[1].values.size(); ++i) {
      const auto row = static_cast<size_t>(((integer(g.in[1], i) % rows) + rows) % rows);
      for (size_t k = 0; k < width; ++k) {
        double& value = x.values[row * width + k];
        value = f(value, g.in[2].values[i * width + k]);
      }
    }
    return std::vector<Array>{x};
  };
}

const std::vector<Sample> kRowChanges = {{.in = {draw({4, 3}), list({1, -1}), draw({2, 3}, -2, 2, 1)}},
                                         {.in = {draw({3}), list({5}), draw({1}, -2, 2, 1)}},
                                         {.in = {draw({3, 2, 2}), list({0, 2}), draw({2, 2, 2}, -2, 2, 1)}},
                                         {.in = {draw({3, 2}), list({}), draw({0, 2})}}};
const std::vector<ErrorSample> kRowErrors = {
    {.in = {draw({3, 2}), list({0, 1}), draw({2, 3})}, .text = "updates: expected shape [2,2], got [2,3]"},
    {.in = {draw({3, 2}), scalar(0), draw({2})}, .text = "input: expected shape [?], got []"},
    {.in = {draw({}), list({0}), draw({1})}, .text = "indices[0]: expected one in [0, 0), got 0"}};

std::vector<Array> untiled(const Given& g) {
  Index dims = g.in[0].dims;
  for (size_t k = 0; k < dims.size(); ++k) dims[k] /= integer(g.in[1], k);
  Array sum = filled(dims, 0);
  for_each_index(g.in[0].dims, [&](const Index& index) {
    Index to = index;
    for (size_t k = 0; k < to.size(); ++k) to[k] %= dims[k];
    sum.values[flat_position(dims, to)] += at(g.in[0], index);
  });
  return {sum};
}

std::vector<Array> stacked(const Given& g) {
  Array all = g.in[0];
  all.dims[0] = static_cast<int64_t>(g.in.size());
  for (size_t i = 1; i < g.in.size(); ++i)
    all.values.insert(all.values.end(), g.in[i].values.begin(), g.in[i].values.end());
  return {all};
}

std::vector<Array> diagonal(const Given& g) {
  Index dims = g.in[0].dims;
  dims.insert(dims.end(), g.in[0].dims.begin(), g.in[0].dims.end());
  return {make(dims, [&](const Index& index) {
    const Index first(index.begin(), index.begin() + static_cast<int64_t>(index.size() / 2));
    return std::equal(first.begin(), first.end(), index.begin() + static_cast<int64_t>(first.size()))
               ? at(g.in[0], first)
               : 0.0;
  })};
}

std::vector<Array> diagonal_part(const Given& g) {
  const Index dims(g.in[0].dims.begin(), g.in[0].dims.begin() + static_cast<int64_t>(g.in[0].dims.size() / 2));
  return {make(dims, [&](const Index& index) {
    Index both = index;
    both.insert(both.end(), index.begin(), index.end());
    return at(g.in[0], both);
  })};
}

std::vector<Array> unraveled(const Given& g) {
  const Index dims = integers(g.in[1]);
  Index shape = {static_cast<int64_t>(dims.size())};
  shape.insert(shape.end(), g.in[0].dims.begin(), g.in[0].dims.end());
  return {make(shape, [&](const Index& index) {
    int64_t rest = integer(g.in[0], index.size() > 1 ? static_cast<size_t>(index[1]) : 0);
    int64_t digit = 0;
    for (size_t k = dims.size(); k-- > static_cast<size_t>(index[0]); rest /= dims[k]) digit = rest % dims[k];
    return static_cast<double>(digit);
  })};
}

// Slices along the axis, told apart by their values in order.
std::vector<Array> unique_slices(const Given& g) {
  const Array& x = g.in[0];
  const size_t axis = g.in[1].values.empty() ? 0 : normal_axis(integer(g.in[1]), x.dims.size());
  std::vector<std::vector<double>> slices(static_cast<size_t>(x.dims[axis]));
  for_each_index(x.dims, [&](const Index& index) { slices[static_cast<size_t>(index[axis])].push_back(at(x, index)); });
  std::map<std::vector<double>, size_t> numbers;
  std::vector<size_t> first;
  Array idx, counts;
  for (size_t i = 0; i < slices.size(); ++i) {
    const auto [known, is_new] = numbers.emplace(slices[i], first.size());
    if (is_new) first.push_back(i), counts.values.push_back(0);
    idx.values.push_back(static_cast<double>(known->second));
    ++counts.values[known->second];
  }
  idx.dims = {x.dims[axis]};
  counts.dims = {static_cast<int64_t>(first.size())};
  Index dims = x.dims;
  dims[axis] = static_cast<int64_t>(first.size());
  const Array y = make(dims, [&](const Index& index) {
    Index from = index;
    from[axis] = static_cast<int64_t>(first[static_cast<size_t>(index[axis])]);
    return at(x, from);
  });
  if (g.op.name() == "UniqueV2") return {y, idx};
  return {y, idx, counts};
}

const std::vector<Sample> kSlices = {{.in = {list({3, 1, 3, 0, 1}), list({})}},
                                     {.in = {array({3, 2}, {1, 0, 2, 1, 1, 0}), list({0})}},
                                     {.in = {array({2, 3}, {1, 0, 1, 0, 1, 0}), list({1})}},
                                     {.in = {array({2, 3, 2}, {1, 0, 0, 1, 1, 0, 2, 1, 1, 0, 2, 1}), list({-2})}},
                                     {.in = {array({0, 2}, {}), list({0})}},
                                     {.in = {array({3, 0}, {}), list({0})}}};
const std::vector<ErrorSample> kSliceErrors = {
    {.in = {array({1, 2}, {1, 2}), list({})}, .text = "x: expected a vector, got shape [1,2]"},
    {.in = {list({1, 2}), list({0, 0})}, .text = "axis: expected one at most, got 2"},
    {.in = {list({1, 2}), list({1})}, .text = "axis: expected one in [-1, 1), got 1"},
    {.in = {list({1, 2}), scalar(0)}, .text = "axis: expected a vector, got shape []"}};

const Family updates(
    "array",
    {
        {"PadV2",
         {.samples = {{.in = {draw({2, 3}), array({2, 2}, {1, 0, 2, 1}), scalar(3)}},
                      {.in = {draw({4}), array({1, 2}, {0, 0}), scalar(3)}},
                      {.in = {draw({0, 2}), array({2, 2}, {1, 1, 0, 1}), scalar(1)}},
                      {.in = {draw({}), array({0, 2}, {}), scalar(1)}}},
          .reference = padded,
          .errors = {{.in = {draw({2}), array({1, 2}, {1, -1}), scalar(0)},
                      .text = "paddings[0, 1]: expected at least 0, got -1"},
                     {.in = {draw({2}), array({1, 2}, {1, 1}), list({0})},
                      .text = "constant_values: expected a scalar, got shape [1]"}}}},
        {"TensorStridedSliceUpdate",
         {.samples = {{.in = {draw({4, 5}), list({1, 0}), list({3, 5}), list({1, 2}), draw({2, 3}, -2, 2, 1)}},
                      {.in = {draw({4}), list({-1}), list({-5}), list({-2}), draw({2}, -2, 2, 1)}},
                      {.in = {draw({3, 2}), list({1, 0}), list({2, 2}), list({1, 1}), draw({2}, -2, 2, 1)},
                       .attrs = {{"shrink_axis_mask", 1}}},
                      {.in = {draw({4, 3}), list({1, 0}), list({4, 3}), list({2, 1}), draw({3}, -2, 2, 1)}},
                      {.in = {draw({4}), list({2}), list({2}), list({1}), draw({0})}}},
          .reference = updated_slice,
          .errors = {{.in = {draw({4}), list({0}), list({2}), list({1}), draw({3})},
                      .text = "value: expected one that broadcasts to the shape of the slice, [2], got [3]"},
                     {.in = {draw({4}), list({0}), list({2}), list({0}), draw({2})},
                      .text = "strides[0]: expected a number other than 0, got 0"}}}},
        {"InplaceUpdate",
         {.samples = kRowChanges, .reference = rows_changed([](double, double v) { return v; }), .errors = kRowErrors}},
        {"InplaceAdd",
         {.samples = kRowChanges,
          .reference = rows_changed([](double x, double v) { return x + v; }),
          .errors = kRowErrors,
          .types = dtypes::kNumeric}},
        {"InplaceSub",
         {.samples = kRowChanges,
          .reference = rows_changed([](double x, double v) { return x - v; }),
          .errors = kRowErrors,
          .types = dtypes::kNumeric - DTypeSet{kUint8, kUint16, kUint32, kUint64}}},
        {"TileGrad",
         {.samples = {{.in = {draw({4, 3}), list({2, 1})}},
                      {.in = {draw({6}), list({3})}},
                      {.in = {draw({2, 4, 3}), list({1, 2, 3})}},
                      {.in = {draw({}), list({})}}},
          .reference = untiled,
          .errors = {{.in = {draw({5}), list({2})}, .text = "dimension 0 of input: expected a multiple of 2, got 5"},
                     {.in = {draw({4}), list({0})}, .text = "multiples[0]: expected at least 1, got 0"}}}},
        {"ParallelConcat",
         {.samples = {{.in = {draw({1, 3}), draw({1, 3}, -2, 2, 1)}, .attrs = {{"shape", PartialShape{2, 3}}}},
                      {.in = {draw({1})}, .attrs = {{"shape", PartialShape{1}}}}},
          .reference = stacked,
          .errors = {{.in = {draw({1}), draw({1})},
                      .attrs = {{"shape", PartialShape{3}}},
                      .text = "dimension 0 of shape: expected 2, the number of values, got 3"},
                     {.in = {draw({2})},
                      .attrs = {{"shape", PartialShape{1}}},
                      .text = "values[0]: expected shape [1], got [2]"}}}},
        {"Diag",
         {.samples = {{.in = {draw({3})}}, {.in = {draw({2, 3})}}, {.in = {draw({0})}}},
          .reference = diagonal,
          .errors = {{.in = {draw({})}, .text = "diagonal: expected a rank of at least 1, got shape []"}}}},
        {"DiagPart",
         {.samples = {{.in = {draw({3, 3})}}, {.in = {draw({2, 3, 2, 3})}}, {.in = {draw({0, 0})}}},
          .reference = diagonal_part,
          .errors = {{.in = {draw({3})}, .text = "input: expected an even rank of at least 2, got shape [3]"},
                     {.in = {draw({2, 3})}, .text = "dimension 0 of both halves: expected 2, got 3"}}}},
        {"UnravelIndex",
         {.samples = {{.in = {list({5, 0, 23}), list({2, 3, 4})}},
                      {.in = {scalar(7), list({2, 5})}},
                      {.in = {list({}), list({2, 5})}}},
          .reference = unraveled,
          .errors = {{.in = {list({6}), list({2, 3})}, .text = "indices[0]: expected one in [0, 6), got 6"},
                     {.in = {list({-1}), list({2, 3})}, .text = "indices[0]: expected one in [0, 6), got -1"},
                     {.in = {list({0}), list({2, 0})}, .text = "dims[1]: expected at least 1, got 0"},
                     {.in = {array({1, 1}, {0}), list({2})},
                      .text = "indices: expected a scalar or a vector, got shape [1,1]"}}}},
        {"UniqueV2",
         {.samples = kSlices, .reference = unique_slices, .errors = kSliceErrors, .data_dependent_shape = true}},
        {"UniqueWithCountsV2",
         {.samples = kSlices,
          .reference = unique_slices,
          .errors = kSliceErrors,
          .gradient = false,
          .data_dependent_shape = true}},
        {"Empty",
         {.samples = {{.in = {list({2, 3})}}, {.in = {list({0})}}, {.in = {list({})}}},
          .reference = [](const Given& g) { return std::vector<Array>{filled(integers(g.in[0]), 0)}; },
          .errors = {{.in = {list({-1})}, .text = "dims[0]: expected at least 0, got -1"}},
          .gradient = false}},
    });

// ---- Sums and comparisons -------------------------------------------------------------------------------------------

std::vector<Array> sum_of_all(const Given& g) {
  Array sum = g.in[0];
  for (size_t i = 1; i < g.in.size(); ++i) {
    for (size_t k = 0; k < sum.values.size(); ++k) sum.values[k] += g.in[i].values[k];
  }
  return {sum};
}

std::vector<Array> near(const Given& g) {
  Array z = g.in[0];
  for (size_t i = 0; i < z.values.size(); ++i)
    z.values[i] = std::abs(g.in[0].values[i] - g.in[1].values[i]) <= g.real("tolerance") ? 1 : 0;
  return {z};
}

const Family sums(
    "math", {{"AccumulateNV2",
              {.samples = {{.in = {draw({2, 3}), draw({2, 3}, -2, 2, 1), draw({2, 3}, -2, 2, 2)},
                            .attrs = {{"shape", PartialShape{2, 3}}}},
                           {.in = {draw({4})}, .attrs = {{"shape", PartialShape{-1}}}},
                           {.in = {draw({0}), draw({0})}, .attrs = {{"shape", PartialShape{0}}}}},
               .reference = sum_of_all,
               .errors = {{.in = {draw({2}), draw({2})},
                           .attrs = {{"shape", PartialShape{3}}},
                           .text = "input: expected shape [3], got [2]"}}}},
             {"ApproximateEqual",
              {.samples = {{.in = {list({1, 2, 3, 0}), list({1, 2.5, 3, -1})}},
                           {.in = {list({1, 2, 3}), list({1, 2.5, 5})}, .attrs = {{"tolerance", 1.0}}},
                           {.in = {draw({0}), draw({0})}}},
               .reference = near,
               .errors = {{.in = {list({1}), list({1, 2})}, .text = ""}},
               .types = dtypes::kFloating,
               .gradient = false}},
             {"NextAfter",
              {.samples = {{.in = {list({1, 1, 0, -2}), list({2, -2, 0, -3})}}, {.in = {draw({2, 3}), scalar(5)}}},
               .reference =
                   [](const Given& g) {
                     Array y = g.in[0];
                     for (size_t i = 0; i < y.values.size(); ++i) {
                       const double to = g.in[1].values[g.in[1].values.size() == 1 ? 0 : i];
                       const auto x = y.values[i];
                       y.values[i] = g.type == kFloat32 ? std::nextafterf(static_cast<float>(x), static_cast<float>(to))
                                                        : std::nextafter(x, to);
                     }
                     return std::vector<Array>{y};
                   },
               .units = 2}}});

const Family variables(
    "state",
    {{"ResourceStridedSliceAssign",
      {.samples = {{.in = {variable(draw({4, 5})), list({1, 0}), list({3, 5}), list({1, 2}), draw({2, 3}, -2, 2, 1)}},
                   {.in = {variable(draw({4})), list({-1}), list({-5}), list({-2}), draw({2}, -2, 2, 1)}},
                   {.in = {variable(draw({3, 2})), list({1, 0}), list({2, 2}), list({1, 1}), draw({2}, -2, 2, 1)},
                    .attrs = {{"shrink_axis_mask", 1}}}},
       .after = updated_slice,
       .errors = {{.in = {variable(draw({4})), list({0}), list({2}), list({1}), draw({3})},
                   .text = "value: expected one that broadcasts to the shape of the slice, [2], got [3]"},
                  {.in = {variable(draw({4})), list({0}), list({2}), list({0}), draw({2})},
                   .text = "strides[0]: expected a number other than 0, got 0"}},
       .effect = true}}});

}  // namespace
}  // namespace panto::test::updates_rows
