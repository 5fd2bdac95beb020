// Samples of ops on lists of tensors.
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/table.h"

namespace panto::test::lists_rows {
namespace {

// Items [first, last) of a list or array along its first dimension, `listed` or not.
Array items(const Array& a, int64_t first, int64_t last, bool is_list) {
  Array part = a;
  part.is_list = is_list;
  const int64_t size = a.dims[0] == 0 ? 0 : a.numel() / a.dims[0];
  part.dims[0] = last - first;
  part.values.assign(a.values.begin() + first * size, a.values.begin() + last * size);
  return part;
}

Array item(const Array& a, int64_t i) {
  Array one = items(a, i, i + 1, false);
  one.dims.erase(one.dims.begin());
  return one;
}

Array with(const Array& list, int64_t i, const Array& value) {
  Array changed = list;
  changed.dims[0] = std::max(list.dims[0], i + 1);
  const int64_t size = value.numel();
  changed.values.resize(static_cast<size_t>(changed.dims[0] * size), 0);
  std::copy(value.values.begin(), value.values.end(), changed.values.begin() + i * size);
  return changed;
}

int64_t whole(const Array& a) { return static_cast<int64_t>(a.values[0]); }

// The shape that every dimension of the elements of `dims` may have.
Array any_shape() { return scalar(-1); }

std::vector<Array> empty_list(const Given& g) {
  Array none;
  none.dims = {0};
  for (const double d : g.in[0].values) none.dims.push_back(static_cast<int64_t>(d));
  return {listed(none)};
}

std::vector<Array> reserved(const Given& g) {
  std::vector<int64_t> dims = {whole(g.in[1])};
  for (const double d : g.in[0].values) dims.push_back(static_cast<int64_t>(d));
  return {listed(filled(dims, 0))};
}

std::vector<Array> shape_of_items(const Given& g) {
  Array dims = list({});
  for (size_t k = 1; k < g.in[0].dims.size(); ++k) dims.values.push_back(static_cast<double>(g.in[0].dims[k]));
  dims.dims = {static_cast<int64_t>(dims.values.size())};
  return {dims};
}

const Attrs kOfFloats = {{"element_dtype", kFloat32}};
const ErrorSample kOtherType = {.in = {listed(draw({3, 2})), any_shape()},
                                .attrs = {{"element_dtype", kFloat64}},
                                .text = "element_dtype: expected the list's float32, got float64",
                                .type = kFloat32};

const ErrorSample kOtherTypes = {.in = {listed(draw({3, 2})), listed(draw({2, 2}))},
                                 .attrs = {{"element_dtype", kFloat64}},
                                 .text = "element_dtype: expected the list's float32, got float64"};

// A vector of lists, as TensorFlow's vectorized loops have it.
void tensors_of_lists() {
  const Tensor one = tensor_list_from_tensor(tensor({1.f, 2.f}), Shape{});
  const Tensor two = tensor_list_from_tensor(tensor({3.f}), Shape{});
  const Tensor both = pack({one, two});
  const Tensor pushed = tensor_list_push_back_batch(both, tensor({5.f, 6.f}));
  BOOST_TEST(pushed.shape().to_string() == "[2]");
  const Tensor joined = tensor_list_concat_lists(both, pushed, kFloat32);
  const auto elements = [](const Tensor& lists, int64_t i) {
    return tensor_list_stack(gather(lists, i, 0), Shape{}, kFloat32).to_string();
  };
  BOOST_TEST(elements(pushed, 0) == "[1. 2. 5.]");
  BOOST_TEST(elements(pushed, 1) == "[3. 6.]");
  BOOST_TEST(elements(joined, 0) == "[1. 2. 1. 2. 5.]");
  BOOST_TEST(elements(joined, 1) == "[3. 3. 6.]");
  BOOST_TEST(elements(both, 1) == "[3.]");
  expect_error_begins([&] { tensor_list_push_back_batch(both, tensor({5.f, 6.f, 7.f})); },
                      "InvalidArgument: tensor: expected a shape that begins with [2], got [3]");
  expect_error_begins([&] { tensor_list_concat_lists(both, one, kFloat32); },
                      "InvalidArgument: input_b: expected the shape of input_a, [2], got []");
}

const Family lists(
    "lists",
    {
        {"EmptyTensorList",
         {.samples = {{.in = {list({2, 3}), scalar(-1)}, .attrs = kOfFloats},
                      {.in = {list({}), scalar(4)}, .attrs = {{"element_dtype", kString}}}},
          .reference = empty_list,
          .errors = {{.in = {scalar(3), scalar(-1)},
                      .attrs = kOfFloats,
                      .text = "element_shape: expected a vector, or a scalar -1, got a scalar 3"},
                     {.in = {list({2, -2}), scalar(-1)},
                      .attrs = kOfFloats,
                      .text = "element_shape: expected dimensions of at least -1, got -2"}}}},
        {"TensorListReserve",
         {.samples = {{.in = {list({2, 3}), scalar(4)}, .attrs = kOfFloats},
                      {.in = {list({}), scalar(0)}, .attrs = kOfFloats}},
          .reference = reserved,
          .errors = {{.in = {list({2}), scalar(-1)},
                      .attrs = kOfFloats,
                      .text = "num_elements: expected at least 0, got -1"}}}},
        {"TensorListPushBack",
         {.samples = {{.in = {listed(draw({3, 2})), draw({2}, -2, 2, 1)}},
                      {.in = {listed(draw({2})), draw({}, -2, 2, 1)}},
                      {.in = {listed(draw({0, 2, 2})), draw({2, 2}, -2, 2, 1)}},
                      {.in = {listed(draw({2, 0})), draw({0})}}},
          .reference = [](const Given& g) { return std::vector{with(g.in[0], g.in[0].dims[0], g.in[1])}; },
          .errors = {{.in = {listed(draw({3, 2})), draw({3})},
                      .text = "element: expected the list's element shape [2], got [3]"},
                     {.in = {listed(draw({3, 2}).as(kFloat64)), draw({2}).as(kFloat32)},
                      .text = "element_dtype: expected the list's float64, got float32",
                      .type = kFloat32}},
          .types = dtypes::kPlain,
          .gradient = false}},
        {"TensorListPopBack",
         {.samples = {{.in = {listed(draw({3, 2})), list({2})}},
                      {.in = {listed(draw({1})), any_shape()}},
                      {.in = {listed(draw({2, 2, 3})), list({-1, 3})}}},
          .reference =
              [](const Given& g) {
                const int64_t last = g.in[0].dims[0] - 1;
                return std::vector{items(g.in[0], 0, last, true), item(g.in[0], last)};
              },
          .errors = {{.in = {listed(draw({0, 2})), any_shape()}, .text = "list: expected at least 1 element, got none"},
                     {.in = {listed(draw({3, 2})), list({3})},
                      .text = "element_shape: expected the list's element shape [2], got [3]"},
                     kOtherType},
          .types = dtypes::kPlain,
          .gradient = false,
          .data_dependent_shape = true}},
        {"TensorListLength",
         {.samples = {{.in = {listed(draw({3, 2}))}}, {.in = {listed(draw({0}))}}},
          .reference = [](const Given& g) { return std::vector{scalar(static_cast<double>(g.in[0].dims[0]))}; },
          .errors = {{.in = {array({2}, {1, 2})}, .text = "input_handle: expected a scalar"}}}},
        {"TensorListElementShape",
         {.samples = {{.in = {listed(draw({3, 2, 4}))}}, {.in = {listed(draw({0}))}}},
          .reference = shape_of_items,
          .data_dependent_shape = true}},
        {"TensorListGetItem",
         {.samples = {{.in = {listed(draw({3, 2})), scalar(1), list({2})}},
                      {.in = {listed(draw({2})), scalar(0), any_shape()}},
                      {.in = {listed(draw({2, 2, 3})), scalar(1), list({-1, -1})}}},
          .reference = [](const Given& g) { return std::vector{item(g.in[0], whole(g.in[1]))}; },
          .errors =
              {{.in = {listed(draw({3, 2})), scalar(3), any_shape()}, .text = "index: expected one in [0, 3), got 3"},
               {.in = {listed(draw({3, 2})), scalar(-1), any_shape()}, .text = "index: expected one in [0, 3), got -1"},
               {.in = {listed(draw({3, 2})), scalar(1), list({2, 1})},
                .text = "element_shape: expected the list's element shape [2], got [2,1]"}},
          .types = dtypes::kPlain,
          .gradient = false,
          .data_dependent_shape = true}},
        {"TensorListSetItem",
         {.samples = {{.in = {listed(draw({3, 2})), scalar(1), draw({2}, -2, 2, 1)}},
                      {.in = {listed(draw({2})), scalar(0), draw({}, -2, 2, 1)}},
                      {.in = {listed(draw({2, 3})), scalar(4), draw({3}, -2, 2, 1)},
                       .attrs = {{"resize_if_index_out_of_bounds", true}}}},
          .reference = [](const Given& g) { return std::vector{with(g.in[0], whole(g.in[1]), g.in[2])}; },
          .errors = {{.in = {listed(draw({3, 2})), scalar(3), draw({2})},
                      .text = "index: expected one in [0, 3), got 3"},
                     {.in = {listed(draw({3, 2})), scalar(0), draw({3})},
                      .text = "element: expected the list's element shape [2], got [3]"}},
          .types = dtypes::kPlain,
          .gradient = false}},
        {"TensorListResize",
         {.samples = {{.in = {listed(draw({3, 2})), scalar(2)}},
                      {.in = {listed(draw({2})), scalar(4)}},
                      {.in = {listed(draw({2, 3})), scalar(0)}}},
          .reference =
              [](const Given& g) {
                Array a = g.in[0];
                const int64_t size = a.dims[0] == 0 ? 0 : a.numel() / a.dims[0];
                a.dims[0] = whole(g.in[1]);
                a.values.resize(static_cast<size_t>(a.dims[0] * size), 0);
                return std::vector{a};
              },
          .errors = {{.in = {listed(draw({3, 2})), scalar(-1)}, .text = "size: expected at least 0, got -1"}}}},
        {"TensorListStack",
         {.samples = {{.in = {listed(draw({3, 2})), list({2})}},
                      {.in = {listed(draw({2})), any_shape()}, .attrs = {{"num_elements", 2}}},
                      {.in = {listed(draw({0, 2, 3})), list({-1, 3})}}},
          .reference = [](const Given& g) { return std::vector{items(g.in[0], 0, g.in[0].dims[0], false)}; },
          .errors = {{.in = {listed(draw({3, 2})), any_shape()},
                      .attrs = {{"num_elements", 2}},
                      .text = "num_elements: expected the list's 3, got 2"},
                     {.in = {listed(draw({3, 2})), list({4})},
                      .text = "element_shape: expected the list's element shape [2], got [4]"}},
          .types = dtypes::kPlain,
          .gradient = false,
          .data_dependent_shape = true}},
        {"TensorListFromTensor",
         {.samples = {{.in = {draw({3, 2}), list({2})}},
                      {.in = {draw({2}), any_shape()}},
                      {.in = {draw({2, 70, 3}), list({-1, 3})}},
                      {.in = {draw({0, 2}), list({2})}}},
          .reference = [](const Given& g) { return std::vector{listed(g.in[0])}; },
          .errors = {{.in = {draw({}), any_shape()}, .text = "tensor: expected a rank of at least 1, got shape []"},
                     {.in = {draw({3, 2}), list({3})},
                      .text = "tensor: expected the list's element shape [3], got [2]"}},
          .types = dtypes::kPlain,
          .gradient = false}},
        {"TensorListGather",
         {.samples = {{.in = {listed(draw({3, 2})), list({2, 0, 2}), list({2})}},
                      {.in = {listed(draw({2})), list({1}), any_shape()}},
                      {.in = {listed(draw({2, 3})), list({}), list({3})}}},
          .reference =
              [](const Given& g) {
                Array taken = items(g.in[0], 0, 0, false);
                for (const double i : g.in[1].values) {
                  const Array one = item(g.in[0], static_cast<int64_t>(i));
                  taken.values.insert(taken.values.end(), one.values.begin(), one.values.end());
                  ++taken.dims[0];
                }
                return std::vector{taken};
              },
          .errors = {{.in = {listed(draw({3, 2})), list({3}), any_shape()},
                      .text = "indices: expected ones in [0, 3), got 3"}},
          .types = dtypes::kPlain,
          .gradient = false,
          .data_dependent_shape = true}},
        {"TensorListScatterV2",
         {.samples = {{.in = {draw({2, 3}), list({2, 0}), list({3}), scalar(4)}},
                      {.in = {draw({2}), list({1, 0}), any_shape(), scalar(-1)}}},
          .reference =
              [](const Given& g) {
                Array made = items(listed(g.in[0]), 0, 0, true);
                const auto size = static_cast<int64_t>(g.in[3].values[0]);
                for (size_t k = 0; k < g.in[1].values.size(); ++k) {
                  made = with(made, static_cast<int64_t>(g.in[1].values[k]), item(g.in[0], static_cast<int64_t>(k)));
                }
                const int64_t width = g.in[0].numel() / g.in[0].dims[0];
                made.dims[0] = std::max(made.dims[0], size);
                made.values.resize(static_cast<size_t>(made.dims[0] * width), 0);
                return std::vector{made};
              },
          .errors = {{.in = {draw({2, 3}), list({2, 4}), list({3}), scalar(4)},
                      .text = "indices: expected less than num_elements, 4, got 4"},
                     {.in = {draw({2, 3}), list({2, -1}), list({3}), scalar(4)},
                      .text = "indices: expected at least 0, got -1"}},
          .types = dtypes::kPlain,
          .gradient = false}},
        {"TensorListScatterIntoExistingList",
         {.samples = {{.in = {listed(draw({3, 2})), draw({2, 2}, -2, 2, 1), list({2, 0})}},
                      {.in = {listed(draw({2})), draw({1}, -2, 2, 1), list({3})}}},
          .reference =
              [](const Given& g) {
                Array made = g.in[0];
                for (size_t k = 0; k < g.in[2].values.size(); ++k) {
                  made = with(made, static_cast<int64_t>(g.in[2].values[k]), item(g.in[1], static_cast<int64_t>(k)));
                }
                return std::vector{made};
              },
          .errors = {{.in = {listed(draw({3, 2})), draw({1, 3}), list({2})},
                      .text = "tensor: expected the list's element shape [2], got [3]"}},
          .types = dtypes::kPlain,
          .gradient = false}},
        {"TensorListSplit",
         {.samples = {{.in = {draw({4, 2}), list({2, 2}), list({2, 2})}},
                      {.in = {draw({2}), any_shape(), list({1, 1})}}},
          .reference =
              [](const Given& g) {
                Array pieces = listed(g.in[0]);
                const auto length = static_cast<int64_t>(g.in[2].values[0]);
                pieces.dims[0] /= length;
                pieces.dims.insert(pieces.dims.begin() + 1, length);
                return std::vector{pieces};
              },
          .errors = {{.in = {draw({4, 2}), any_shape(), list({2, 3})}, .text = "lengths: expected 4 in all, got 5"},
                     {.in = {draw({4, 2}), any_shape(), list({5, -1})},
                      .text = "lengths: expected at least 0, got -1"}},
          .types = dtypes::kPlain,
          .gradient = false}},
        {"TensorListConcatV2",
         {.samples = {{.in = {listed(draw({3, 2, 2})), list({-1, 2}), list({})}},
                      {.in = {listed(draw({2, 3})), any_shape(), list({})}}},
          .reference =
              [](const Given& g) {
                Array all = items(g.in[0], 0, g.in[0].dims[0], false);
                const Array lengths = filled({all.dims[0]}, static_cast<double>(all.dims[1]));
                all.dims[1] *= all.dims[0];
                all.dims.erase(all.dims.begin());
                return std::vector{all, lengths};
              },
          .errors = {{.in = {listed(draw({3})), any_shape(), list({})},
                      .text = "element_shape: expected a rank of at least 1, got []"}},
          .types = dtypes::kPlain,
          .gradient = false,
          .data_dependent_shape = true}},
        {"TensorListConcatLists",
         {.samples = {{.in = {listed(draw({3, 2})), listed(draw({2, 2}, -2, 2, 1))}, .attrs = kOfFloats},
                      {.in = {listed(draw({1})), listed(draw({2}, -2, 2, 1))}, .attrs = kOfFloats}},
          .reference =
              [](const Given& g) {
                Array all = g.in[0];
                all.values.insert(all.values.end(), g.in[1].values.begin(), g.in[1].values.end());
                all.dims[0] += g.in[1].dims[0];
                return std::vector{all};
              },
          .errors = {{.in = {listed(draw({3, 2})), listed(draw({2, 3}))},
                      .attrs = kOfFloats,
                      .text = "element_shape: expected the list's element shape [2], got [3]"},
                     kOtherTypes},
          .own = {{"tensors_of_lists", tensors_of_lists}}}},
        {"TensorListPushBackBatch",
         {.samples = {{.in = {listed(draw({3, 2})), draw({2}, -2, 2, 1)}}, {.in = {listed(draw({1})), scalar(4)}}},
          .reference = [](const Given& g) { return std::vector{with(g.in[0], g.in[0].dims[0], g.in[1])}; },
          .errors = {{.in = {listed(draw({3, 2})), draw({3})},
                      .text = "element: expected the list's element shape [2], got [3]"}},
          .own = {{"tensors_of_lists", tensors_of_lists}},
          .types = dtypes::kPlain}},
    });

}  // namespace
}  // namespace panto::test::lists_rows
