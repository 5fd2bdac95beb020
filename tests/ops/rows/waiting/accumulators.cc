// Accumulators: what is taken out of them, and what is dropped. Calls that wait are in tests/threads/waiting_test.cc.
#include <boost/test/unit_test.hpp>
#include <string>

#include "panto/lib/core/call/scopes.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/saved.h"
#include "panto/tests/ops/table.h"

namespace panto::test::accumulators_rows {
namespace {

Tensor step(int64_t value) { return tensor(value); }
std::string mean_of(const Tensor& accumulator, int required) {
  return accumulator_take_gradient(accumulator, required, kFloat32).to_string();
}

void means_and_sums() {
  const Tensor means = conditional_accumulator(kFloat32, PartialShape{2});
  const Tensor sums = conditional_accumulator(kFloat32, PartialShape{2}, {.reduction_type = "SUM"});
  for (const Tensor& accumulator : {means, sums}) {
    accumulator_apply_gradient(accumulator, step(0), tensor({1.f, 2.f}));
    accumulator_apply_gradient(accumulator, step(0), tensor({3.f, 6.f}));
    BOOST_TEST(accumulator_num_accumulated(accumulator).item<int32_t>() == 2);
  }
  BOOST_TEST(mean_of(means, 2) == "[2. 4.]");
  BOOST_TEST(mean_of(sums, 1) == "[4. 8.]");
  BOOST_TEST(accumulator_num_accumulated(means).item<int32_t>() == 0);
}

// A gradient of a step before the accumulator's is dropped, whatever it is. Taking one is a step.
void stale_ones_are_dropped() {
  const Tensor accumulator = conditional_accumulator(kFloat32, PartialShape());
  const auto apply = [&](int64_t local_step, float value) {
    accumulator_apply_gradient(accumulator, step(local_step), tensor({value}));
    return accumulator_num_accumulated(accumulator).item<int32_t>();
  };
  BOOST_TEST(apply(0, 1) == 1);
  BOOST_TEST(mean_of(accumulator, 1) == "[1.]");
  BOOST_TEST(apply(0, 2) == 0);
  BOOST_TEST(apply(1, 3) == 1);
  accumulator_set_global_step(accumulator, step(5));
  BOOST_TEST(apply(4, 7) == 1);
  accumulator_apply_gradient(accumulator, step(4), tensor({1.f, 2.f}));  // of another shape: dropped all the same
  BOOST_TEST(apply(5, 5) == 2);
  BOOST_TEST(mean_of(accumulator, 2) == "[4.]");
}

// Each of the floating types is summed and divided in floats, and rounded each time.
void of_every_type() {
  for (const DType type : {kFloat16, kBFloat16, kFloat32, kFloat64}) {
    const Tensor accumulator = conditional_accumulator(type, PartialShape{2});
    for (int i = 0; i < 3; ++i) {
      accumulator_apply_gradient(accumulator, step(0), to_tensor(list({1. + i, -0.5}), type));
    }
    const Tensor mean = accumulator_take_gradient(accumulator, 3, type);
    BOOST_TEST(difference(to_tensor(list({2, -0.5}), type), mean) == "", dtype_name(type));
  }
  expect_error_begins([] { conditional_accumulator(kInt32, PartialShape{2}); }, "Unimplemented: ");
}

// What was given is the accumulator's own: neither it nor what is taken changes afterwards.
void gradients_are_values() {
  const Tensor accumulator = conditional_accumulator(kFloat32, PartialShape{2}, {.reduction_type = "SUM"});
  const Tensor gradient = tensor({1.f, 2.f});
  accumulator_apply_gradient(accumulator, step(0), gradient);
  accumulator_apply_gradient(accumulator, step(0), gradient);
  BOOST_TEST(gradient.to_string() == "[1. 2.]");
  const Tensor taken = accumulator_take_gradient(accumulator, 1, kFloat32);
  accumulator_apply_gradient(accumulator, step(1), gradient);
  BOOST_TEST(taken.to_string() == "[2. 4.]");
}

void what_does_not_fit() {
  const Tensor accumulator = conditional_accumulator(kFloat32, PartialShape{-1, 2});
  const auto apply = [&](const Tensor& gradient) { accumulator_apply_gradient(accumulator, step(0), gradient); };
  expect_error_begins([&] { apply(tensor({1.f, 2.f})); },
                      "InvalidArgument: gradient: expected shape [?,2], got [2] [in AccumulatorApplyGradient(");
  apply(tensor({{1.f, 2.f}}));
  expect_error_begins([&] { apply(zeros({2, 2})); }, "InvalidArgument: gradient: expected shape [1,2], got [2,2]");
  expect_error_begins([&] { apply(zeros({1, 2}, kFloat64)); },
                      "InvalidArgument: dtype: expected the accumulator's float32, got float64");
  expect_error_begins([&] { mean_of(accumulator, 0); }, "InvalidArgument: num_required: expected at least 1, got 0");
  expect_error_begins([&] { accumulator_num_accumulated(fifo_queue({kFloat32})); },
                      "InvalidArgument: accumulator: expected a handle of an accumulator, got a FIFOQueue named \"\"");
  expect_error_begins([&] { sparse_accumulator_take_gradient(accumulator, 1, kFloat32); },
                      "InvalidArgument: accumulator of rows: expected a handle of an accumulator of rows, got a "
                      "ConditionalAccumulator");
  const auto shared = [](DType dtype) {
    return conditional_accumulator(dtype, PartialShape{2}, {.shared_name = "accumulators_shared"});
  };
  accumulator_apply_gradient(shared(kFloat32), step(0), tensor({1.f, 2.f}));
  BOOST_TEST(accumulator_num_accumulated(shared(kFloat32)).item<int32_t>() == 1);
  expect_error_begins([&] { shared(kFloat64); },
                      "InvalidArgument: accumulator \"accumulators_shared\": expected it as it was declared before, a "
                      "ConditionalAccumulator of float32[2], got another");
}

Tensor no_shape() { return zeros({0}, kInt64); }

void rows(const Tensor& accumulator, const std::vector<int64_t>& indices, const Tensor& values) {
  sparse_accumulator_apply_gradient(accumulator, step(0), tensor(indices), values, no_shape(), false);
}

// The mean of a row is that of the gradients which had it.
void rows_are_merged() {
  const Tensor accumulator = sparse_conditional_accumulator(kFloat32, PartialShape{4, 2});
  rows(accumulator, {0, 2}, tensor({{1.f, 2.f}, {3.f, 4.f}}));
  rows(accumulator, {1, 2}, tensor({{5.f, 6.f}, {7.f, 8.f}}));
  rows(accumulator, {3}, tensor({{9.f, 9.f}}));
  BOOST_TEST(accumulator_num_accumulated(accumulator).item<int32_t>() == 3);
  const auto [indices, values, shape] = sparse_accumulator_take_gradient(accumulator, 3, kFloat32);
  BOOST_TEST(indices.to_string() == "[0 1 2 3]");
  BOOST_TEST(values.to_string() == "[[1. 2.]\n [5. 6.]\n [5. 6.]\n [9. 9.]]");
  BOOST_TEST(shape.to_string() == "[4 2]");
  const Tensor sums = sparse_conditional_accumulator(kFloat32, PartialShape(), {.reduction_type = "SUM"});
  rows(sums, {2}, tensor({1.f}));
  rows(sums, {2}, tensor({2.f}));
  const auto of_sums = sparse_accumulator_take_gradient(sums, 1, kFloat32);
  BOOST_TEST(of_sums.values.to_string() == "[3.]");
  BOOST_TEST(of_sums.shape.to_string() == "[-1]");
}

void rows_that_do_not_fit() {
  const Tensor accumulator = sparse_conditional_accumulator(kFloat32, PartialShape{4, 2});
  expect_error_begins([&] { rows(accumulator, {4}, tensor({{1.f, 2.f}})); },
                      "InvalidArgument: gradient_indices: expected rows of shape [4,2], got row 4");
  expect_error_begins([&] { rows(accumulator, {-1}, tensor({{1.f, 2.f}})); },
                      "InvalidArgument: gradient_indices: expected rows of shape [4,2], got row -1");
  expect_error_begins([&] { rows(accumulator, {1}, tensor({{1.f}})); },
                      "InvalidArgument: gradient_values: expected rows as in shape [4,2], got shape [1,1]");
  expect_error_begins([&] { rows(accumulator, {1, 2}, tensor({{1.f, 2.f}})); },
                      "InvalidArgument: number of rows and indices: expected 1, got 2");
  const auto with_shape = [&](const std::vector<int64_t>& shape) {
    sparse_accumulator_apply_gradient(accumulator, step(0), tensor(std::vector<int64_t>{1}), tensor({{1.f, 2.f}}),
                                      tensor(shape), true);
  };
  with_shape({4, 2});
  expect_error_begins([&] { with_shape({5, 2}); },
                      "InvalidArgument: gradient_shape: expected one that fits [4,2], got another");
  rows(accumulator, {}, zeros({0, 2}));
  BOOST_TEST(accumulator_num_accumulated(accumulator).item<int32_t>() == 2);
}

// A graph knows the shape of what comes out.
void in_saved_graphs() {
  const auto build = [] {
    const auto operation = [](const char* name, const auto& add) {
      const CollectEffects effects;
      add();
      group(effects.operations(), name);
    };
    const Tensor dense = named("dense", conditional_accumulator(kFloat32, PartialShape{2}));
    const Tensor sparse = named("sparse", sparse_conditional_accumulator(kFloat32, PartialShape{4, 2}));
    operation("apply", [&] { accumulator_apply_gradient(dense, step(3), tensor({2.f, 4.f})); });
    operation("apply_rows", [&] { rows(sparse, {1}, tensor({{2.f, 4.f}})); });
    operation("set_step", [&] { accumulator_set_global_step(dense, step(4)); });
    const Tensor mean = named("mean", accumulator_take_gradient(dense, 2, kFloat32));
    BOOST_TEST(mean.partial_shape().to_string() == "[2]");
    const auto taken = sparse_accumulator_take_gradient(sparse, 1, kFloat32);
    BOOST_TEST(taken.values.partial_shape().to_string() == "[?,2]");
    named("rows", identity(taken.values));
    named("count", accumulator_num_accumulated(dense));
    expect_error_begins([&] { accumulator_apply_gradient(dense, step(0), tensor({1.f})); },
                        "InvalidArgument: gradient: expected shape [2], got [1]");
    expect_error_begins([&] { accumulator_take_gradient(dense, 1, kFloat64); },
                        "InvalidArgument: dtype: expected the accumulator's float32, got float64");
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph), other(graph);
    session.run("apply");
    session.run("apply");
    BOOST_TEST(session.run("count").item<int32_t>() == 2);
    BOOST_TEST(other.run("count").item<int32_t>() == 0);  // a session has accumulators of its own
    session.run("set_step");
    session.run("apply");  // stale
    BOOST_TEST(session.run("count").item<int32_t>() == 2);
    BOOST_TEST(session.run("mean").to_string() == "[2. 4.]");
    session.run("apply_rows");
    BOOST_TEST(session.run("rows").to_string() == "[[2. 4.]]");
  }
}

const OwnTest kSaved{"saved", in_saved_graphs};

const Family accumulators(
    "accumulators",
    {
        {"ConditionalAccumulator",
         {.own = {{"reductions", means_and_sums}, {"types", of_every_type}, {"values", gradients_are_values}, kSaved}}},
        {"SparseConditionalAccumulator", {.own = {{"merged", rows_are_merged}, kSaved}}},
        {"AccumulatorApplyGradient",
         {.own = {{"stale", stale_ones_are_dropped}, {"refused", what_does_not_fit}, kSaved}}},
        {"AccumulatorTakeGradient", {.own = {{"reductions", means_and_sums}, kSaved}}},
        {"AccumulatorSetGlobalStep", {.own = {{"stale", stale_ones_are_dropped}, kSaved}}},
        {"AccumulatorNumAccumulated", {.own = {{"stale", stale_ones_are_dropped}, kSaved}}},
        {"SparseAccumulatorApplyGradient", {.own = {{"refused", rows_that_do_not_fit}, kSaved}}},
        {"SparseAccumulatorTakeGradient", {.own = {{"merged", rows_are_merged}, kSaved}}},
    });

}  // namespace
}  // namespace panto::test::accumulators_rows
