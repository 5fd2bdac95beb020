// Samples of ops that cut tensors in unequal parts, deal slices out and put them together, and mirror what is at edges.
#include <algorithm>

#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::partition_rows {
namespace {

std::vector<Array> split_by_size(const Given& g) {
  const Array& x = g.in[0];
  const size_t axis = normal_axis(integer(g.in[2]), x.dims.size());
  int64_t rest = x.dims[axis];
  for (const double size : g.in[1].values) rest -= std::max<int64_t>(static_cast<int64_t>(size), 0);
  std::vector<Array> parts;
  int64_t first = 0;
  for (const double given : g.in[1].values) {
    Index dims = x.dims;
    dims[axis] = given < 0 ? rest : static_cast<int64_t>(given);
    parts.push_back(make(dims, [&](Index index) {
      index[axis] += first;
      return at(x, index);
    }));
    first += dims[axis];
  }
  return parts;
}

// The element of a dimension of `size` elements that is seen at position k, which may be outside.
int64_t mirrored(int64_t k, int64_t size, bool reflect) {
  if (k < 0) return reflect ? -k : -k - 1;
  if (k >= size) return reflect ? 2 * (size - 1) - k : 2 * size - 1 - k;
  return k;
}

std::vector<Array> mirror_pad(const Given& g) {
  const Array& x = g.in[0];
  Index dims = x.dims;
  for (size_t k = 0; k < dims.size(); ++k) dims[k] += integer(g.in[1], 2 * k) + integer(g.in[1], 2 * k + 1);
  return {make(dims, [&](Index index) {
    for (size_t k = 0; k < index.size(); ++k) {
      index[k] = mirrored(index[k] - integer(g.in[1], 2 * k), x.dims[k], g.text("mode") == "REFLECT");
    }
    return at(x, index);
  })};
}

// Each element of what is left is the sum of all that it was seen at.
std::vector<Array> mirror_pad_grad(const Given& g) {
  const Array& dy = g.in[0];
  Index dims = dy.dims;
  for (size_t k = 0; k < dims.size(); ++k) dims[k] -= integer(g.in[1], 2 * k) + integer(g.in[1], 2 * k + 1);
  return {make(dims, [&](const Index& index) {
    double sum = 0;
    for_each_index(dy.dims, [&](const Index& padded) {
      for (size_t k = 0; k < padded.size(); ++k) {
        const int64_t from = padded[k] - integer(g.in[1], 2 * k);
        if (mirrored(from, dims[k], g.text("mode") == "REFLECT") != index[k]) return;
      }
      sum += at(dy, padded);
    });
    return sum;
  })};
}

std::vector<Array> reverse_sequence(const Given& g) {
  const Array& x = g.in[0];
  const size_t along = normal_axis(g.integer("seq_dim"), x.dims.size());
  const size_t batch = normal_axis(g.integer("batch_dim"), x.dims.size());
  return {make(x.dims, [&](Index index) {
    const int64_t length = integer(g.in[1], static_cast<size_t>(index[batch]));
    if (index[along] < length) index[along] = length - 1 - index[along];
    return at(x, index);
  })};
}

std::vector<Array> dynamic_partition(const Given& g) {
  const Array &data = g.in[0], &numbers = g.in[1];
  const size_t row = data.values.size() / std::max<size_t>(1, numbers.values.size());
  std::vector<Array> parts(static_cast<size_t>(g.integer("num_partitions")));
  for (size_t k = 0; k < parts.size(); ++k) {
    parts[k].dims.assign(data.dims.begin() + static_cast<int64_t>(numbers.dims.size()), data.dims.end());
    parts[k].dims.insert(parts[k].dims.begin(), std::ranges::count(numbers.values, static_cast<double>(k)));
  }
  for (size_t i = 0; i < numbers.values.size(); ++i) {
    Array& part = parts[static_cast<size_t>(numbers.values[i])];
    for (size_t j = 0; j < row; ++j) part.values.push_back(data.values[i * row + j]);
  }
  return parts;
}

std::vector<Array> dynamic_stitch(const Given& g) {
  const size_t n = g.in.size() / 2;
  Index dims(g.in[n].dims.begin() + static_cast<int64_t>(g.in[0].dims.size()), g.in[n].dims.end());
  int64_t row = 1, size = 0;
  for (const int64_t d : dims) row *= d;
  for (size_t k = 0; k < n; ++k) {
    for (const double p : g.in[k].values) size = std::max(size, static_cast<int64_t>(p) + 1);
  }
  dims.insert(dims.begin(), size);
  Array merged = filled(dims, 0);
  for (size_t k = 0; k < n; ++k) {
    for (size_t i = 0; i < g.in[k].values.size(); ++i) {
      for (int64_t j = 0; j < row; ++j) {
        const auto to = static_cast<size_t>(integer(g.in[k], i) * row + j);
        merged.values[to] = g.in[n + k].values[i * static_cast<size_t>(row) + static_cast<size_t>(j)];
      }
    }
  }
  return {merged};
}

Attr parts(int n) { return {"num_split", n}; }
Attr mode(const char* name) { return {"mode", name}; }
Attr along(int axis) { return {"seq_dim", axis}; }

const Family unequal(
    "array",
    {
        {"SplitV",
         {.samples = {{.in = {draw({5, 3}), list({2, 3}), scalar(0)}, .attrs = {parts(2)}},
                      {.in = {draw({2, 6}), list({1, -1, 2}), scalar(-1)}, .attrs = {parts(3)}},
                      {.in = {draw({2, 4, 3}), list({0, 3, 1}), scalar(1)}, .attrs = {parts(3)}},
                      {.in = {draw({3}), list({3}), scalar(0)}, .attrs = {parts(1)}},
                      {.in = {draw({3}), list({-1}), scalar(0)}, .attrs = {parts(1)}},
                      {.in = {draw({0, 2}), list({0, -1}), scalar(0)}, .attrs = {parts(2)}}},
          .reference = split_by_size,
          .errors = {{.in = {draw({5}), list({2, 2}), scalar(0)},
                      .attrs = {parts(2)},
                      .text = "size_splits: expected a sum of 5, dimension 0 of value, got 4"},
                     {.in = {draw({5}), list({6, -1}), scalar(0)},
                      .attrs = {parts(2)},
                      .text = "size_splits: expected a sum of at most 5, dimension 0 of value, got 6"},
                     {.in = {draw({5}), list({-1, -1}), scalar(0)},
                      .attrs = {parts(2)},
                      .text = "size_splits: expected at most one -1, got them at 0 and 1"},
                     {.in = {draw({5}), list({-2, 7}), scalar(0)},
                      .attrs = {parts(2)},
                      .text = "size_splits[0]: expected at least -1, got -2"},
                     {.in = {draw({5}), list({5}), scalar(0)},
                      .attrs = {parts(2)},
                      .text = "size_splits: expected 2 sizes, num_split, got 1"},
                     {.in = {draw({5}), list({5}), scalar(1)},
                      .attrs = {parts(1)},
                      .text = "split_dim: expected one in [-1, 1), got 1"},
                     {.in = {draw({}), list({1}), scalar(0)},
                      .attrs = {parts(1)},
                      .text = "value: expected a rank of at least 1, got a scalar"}}}},
        {"MirrorPad",
         {.samples = {{.in = {draw({2, 3}), array({2, 2}, {1, 0, 0, 2})}, .attrs = {mode("REFLECT")}},
                      {.in = {draw({2, 3}), array({2, 2}, {2, 1, 3, 2})}, .attrs = {mode("SYMMETRIC")}},
                      {.in = {draw({5}), array({1, 2}, {4, 4})}, .attrs = {mode("REFLECT")}},
                      {.in = {draw({}), array({0, 2}, {})}, .attrs = {mode("SYMMETRIC")}},
                      {.in = {draw({0, 2}), array({2, 2}, {0, 0, 1, 1})}, .attrs = {mode("REFLECT")}},
                      {.in = {draw({2, 2, 2}), array({3, 2}, {0, 1, 1, 0, 1, 1})}, .attrs = {mode("SYMMETRIC")}}},
          .reference = mirror_pad,
          .errors =
              {{.in = {draw({3}), array({1, 2}, {3, 0})},
                .attrs = {mode("REFLECT")},
                .text = "paddings[0, 0]: expected at most 2, what there is to mirror, got 3"},
               {.in = {draw({3}), array({1, 2}, {0, 4})},
                .attrs = {mode("SYMMETRIC")},
                .text = "paddings[0, 1]: expected at most 3, what there is to mirror, got 4"},
               {.in = {draw({3}), array({1, 2}, {-1, 0})},
                .attrs = {mode("REFLECT")},
                .text = "paddings[0, 0]: expected at least 0, got -1"},
               {.in = {draw({3}), array({2, 2}, {0, 0, 0, 0})},
                .attrs = {mode("REFLECT")},
                .text = "paddings: expected 1 rows"},
               {.in = {draw({3}), array({1, 2}, {0, 0})}, .attrs = {mode("CONSTANT")}, .text = "mode: expected"}}}},
        {"MirrorPadGrad",
         {.samples = {{.in = {draw({3, 5}), array({2, 2}, {1, 0, 0, 2})}, .attrs = {mode("REFLECT")}},
                      {.in = {draw({5, 8}), array({2, 2}, {2, 1, 3, 2})}, .attrs = {mode("SYMMETRIC")}},
                      {.in = {draw({13}), array({1, 2}, {4, 4})}, .attrs = {mode("REFLECT")}},
                      {.in = {draw({}), array({0, 2}, {})}, .attrs = {mode("SYMMETRIC")}},
                      {.in = {draw({0, 4}), array({2, 2}, {0, 0, 1, 1})}, .attrs = {mode("REFLECT")}}},
          .reference = mirror_pad_grad,
          .errors = {{.in = {draw({3}), array({1, 2}, {2, 2})},
                      .attrs = {mode("REFLECT")},
                      .text = "paddings of dimension 0: expected at most its size 3, got 2 and 2"},
                     {.in = {draw({5}), array({1, 2}, {2, 2})},
                      .attrs = {mode("REFLECT")},
                      .text = "paddings[0, 0]: expected at most 0, what there is to mirror, got 2"}}}},
        {"ReverseSequence",
         {.samples = {{.in = {draw({3, 4}), list({2, 0, 4})}, .attrs = {along(1)}},
                      {.in = {draw({4, 3}), list({1, 3, 4})}, .attrs = {along(0), {"batch_dim", 1}}},
                      {.in = {draw({2, 2, 5, 3}), list({3, 5})}, .attrs = {along(2), {"batch_dim", 1}}},
                      {.in = {draw({5, 2, 2}), list({4, 2})}, .attrs = {along(0), {"batch_dim", 2}}},
                      {.in = {draw({0, 4}), list({})}, .attrs = {along(1)}}},
          .reference = reverse_sequence,
          .errors = {{.in = {draw({2, 3}), list({1, 4})},
                      .attrs = {along(1)},
                      .text = "seq_lengths[1]: expected one in [0, 3], got 4"},
                     {.in = {draw({2, 3}), list({1})},
                      .attrs = {along(1)},
                      .text = "seq_lengths: expected 2 lengths, dimension 0 of input, got 1"},
                     {.in = {draw({2, 3}), list({1, 1})},
                      .attrs = {along(0)},
                      .text = "batch_dim: expected another dimension than seq_dim, got 0"},
                     {.in = {draw({2, 3}), list({1, 1})},
                      .attrs = {along(2)},
                      .text = "seq_dim: expected one in [-2, 2), got 2"}}}},
        {"DynamicPartition",
         {.samples = {{.in = {draw({5}), list({0, 2, 0, 2, 2})}, .attrs = {{"num_partitions", 3}}},
                      {.in = {draw({4, 3}), list({1, 0, 0, 1})}, .attrs = {{"num_partitions", 2}}},
                      {.in = {draw({2, 2, 2}), array({2, 2}, {1, 1, 0, 1})}, .attrs = {{"num_partitions", 2}}},
                      {.in = {draw({2}), scalar(0)}, .attrs = {{"num_partitions", 1}}},
                      {.in = {draw({0, 3}), list({})}, .attrs = {{"num_partitions", 2}}}},
          .reference = dynamic_partition,
          .errors = {{.in = {draw({2}), list({0, 2})},
                      .attrs = {{"num_partitions", 2}},
                      .text = "partitions[1]: expected one in [0, 2), got 2"},
                     {.in = {draw({2}), list({0, -1})},
                      .attrs = {{"num_partitions", 2}},
                      .text = "partitions[1]: expected one in [0, 2), got -1"},
                     {.in = {draw({2, 3}), list({0, 1, 0})},
                      .attrs = {{"num_partitions", 2}},
                      .text = "data: expected a shape that begins with [3], got [2,3]"}},
          .data_dependent_shape = true}},
        {"DynamicStitch",
         {.samples = {{.in = {list({2, 0}), list({1}), draw({2, 3}), draw({1, 3}, -2, 2, 1)}},
                      {.in = {array({2, 2}, {3, 1, 0, 2}), draw({2, 2})}},
                      {.in = {scalar(1), list({0, 2}), draw({2}), draw({2, 2}, -2, 2, 1)}},
                      {.in = {list({4, 1}), draw({2})}},
                      {.in = {list({}), draw({0, 2})}}},
          .reference = dynamic_stitch,
          .errors = {{.in = {list({0, -1}), draw({2})}, .text = "indices[0][1]: expected at least 0, got -1"},
                     {.in = {list({0, 1}), draw({3})}, .text = "data: expected a shape that begins with [2], got [3]"},
                     {.in = {list({0}), list({1}), draw({1, 2}), draw({1, 3})},
                      .text = "data[1]: expected slices of shape [?,2], as before, got [?,3]"}},
          .types = dtypes::kPlain,
          .data_dependent_shape = true}},
        {"DynamicStitch",
         {.samples = {{.in = {list({2, 0}), texts({2}, {"c", "a"})}, .out = {texts({3}, {"a", "", "c"})}}},
          .label = "strings",
          .types = {kString},
          .data_dependent_shape = true}},
        {"DynamicStitch",
         {.samples = {{.in = {list({0, 1, 0}), list({1}), draw({3}), draw({1}, -2, 2, 1)}}},
          .reference = dynamic_stitch,
          .label = "twice",
          .data_dependent_shape = true}},
    });

}  // namespace
}  // namespace panto::test::partition_rows
