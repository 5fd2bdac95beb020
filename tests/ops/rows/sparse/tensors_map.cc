// Maps of sparse tensors: what comes out, what is refused, and nodes of graphs.
#include <boost/test/unit_test.hpp>
#include <string>

#include "panto/lib/core/call/scopes.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/saved.h"
#include "panto/tests/ops/table.h"

namespace panto::test::tensors_map_rows {
namespace {

Tensor longs(std::vector<int64_t> values) { return tensor(std::move(values)); }
Tensor indices(std::vector<int64_t> values) { return reshape(longs(std::move(values)), {-1, 2}); }

void in_and_out() {
  const std::string name = "sparse_map_in_and_out";
  const Tensor all = add_many_sparse_to_tensors_map(indices({0, 0, 1, 2, 1, 3}), tensor({1, 2, 3}), longs({3, 4}),
                                                    {.shared_name = name});
  BOOST_TEST(all.to_string() == "[0 1 2]");
  const Tensor one =
      add_sparse_to_tensors_map(reshape(longs({5}), {1, 1}), tensor({9}), longs({7}), {.shared_name = name});
  BOOST_TEST(one.item<int64_t>() == 3);
  const auto [where, values, shape] =
      take_many_sparse_from_tensors_map(longs({3, 1, 2}), kInt32, {.shared_name = name});
  BOOST_TEST(where.to_string() == "[[0 5]\n [1 2]\n [1 3]]");
  BOOST_TEST(values.to_string() == "[9 2 3]");
  BOOST_TEST(shape.to_string() == "[3 7]");
  const auto take = [&](std::vector<int64_t> numbers, DType type) {
    take_many_sparse_from_tensors_map(longs(std::move(numbers)), type, {.shared_name = name});
  };
  expect_error_begins([&] { take({1}, kInt32); },
                      "InvalidArgument: sparse_handles[0]: expected the number of a tensor that is there, got 1");
  expect_error_begins([&] { take({0, 0}, kInt32); },
                      "InvalidArgument: sparse_handles[1]: expected the number of a tensor that is there, got 0");
  expect_error_begins([&] { take({0}, kString); },
                      "InvalidArgument: dtype: expected the int32 of tensor 0, got string");
  expect_error_begins([&] { take({}, kInt32); }, "InvalidArgument: sparse_handles: expected at least one, got none");
  add_sparse_to_tensors_map(indices({0, 1}), tensor({9}), longs({2, 2}), {.shared_name = name});
  expect_error_begins([&] { take({0, 4}, kInt32); },
                      "InvalidArgument: sparse_handles[1]: expected a tensor of 1 dimensions, as the first has, got 2");
  take({0}, kInt32);  // which is still there
}

void refused() {
  const auto add = [](const Tensor& where, const Tensor& shape) {
    add_many_sparse_to_tensors_map(where, tensor({1, 2}), shape, {.shared_name = "sparse_map_refused"});
  };
  expect_error_begins([&] { add(indices({0, 0, 1, 5}), longs({3, 4})); },
                      "InvalidArgument: sparse_indices[1,1]: expected one in [0, 4), got 5");
  expect_error_begins([&] { add(indices({1, 0, 0, 1}), longs({3, 4})); },
                      "InvalidArgument: sparse_indices[1]: expected one after the one before");
  expect_error_begins([&] { add(reshape(longs({0, 1}), {2, 1}), longs({4})); },
                      "InvalidArgument: sparse_shape: expected at least 2 dimensions, got 1");
  expect_error_begins([] { add_sparse_to_tensors_map(longs({1}), tensor({1}), longs({3})); },
                      "InvalidArgument: sparse_indices: expected");
  expect_error_begins(
      [] { add_sparse_to_tensors_map(indices({0, 1}), tensor({1}), longs({3, 3})); },
      "InvalidArgument: shared_name: expected one, by which a map of sparse tensors is found, got none");
}

template <bool kMany>
void in_saved_graphs() {
  const std::string name = kMany ? "sparse_map_saved_many" : "sparse_map_saved";
  const auto build = [&] {
    const Tensor where = indices({0, 1, 1, 0}), shape = longs({2, 2}), values = tensor({1.5F, 2.5F});
    Tensor number = kMany ? add_many_sparse_to_tensors_map(where, values, shape, {.shared_name = name})
                          : reshape(add_sparse_to_tensors_map(where, values, shape, {.shared_name = name}), {1});
    const auto [indices, entries, dims] = take_many_sparse_from_tensors_map(number, kFloat32, {.shared_name = name});
    named("where", identity(indices));
    named("values", identity(entries));
    named("shape", identity(dims));
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    const auto out = session.run({"where", "values", "shape"});
    BOOST_TEST(out[0].to_string() == (kMany ? "[[0 1]\n [1 0]]" : "[[0 0 1]\n [0 1 0]]"));
    BOOST_TEST(out[1].to_string() == "[1.5 2.5]");
    BOOST_TEST(out[2].to_string() == (kMany ? "[2 2]" : "[1 2 2]"));
  }
}

const Family maps("sparse",
                  {{"AddSparseToTensorsMap", {.own = {{"saved", in_saved_graphs<false>}, {"refused", refused}}}},
                   {"AddManySparseToTensorsMap", {.own = {{"saved", in_saved_graphs<true>}}}},
                   {"TakeManySparseFromTensorsMap",
                    {.own = {{"in_and_out", in_and_out}, {"saved", in_saved_graphs<false>}}}}});

}  // namespace
}  // namespace panto::test::tensors_map_rows
