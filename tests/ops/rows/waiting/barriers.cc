// Barriers: when values are ready, and in which order. Calls that wait are in tests/threads/waiting_test.cc.
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <limits>

#include "panto/lib/core/call/scopes.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/saved.h"
#include "panto/tests/ops/table.h"

namespace panto::test::barriers_rows {
namespace {

const std::vector<DType> kTypes = {kFloat32, kString};
const std::vector<PartialShape> kShapes = {PartialShape{2}, Shape{}};

Tensor of_two() { return barrier(kTypes, {.shapes = kShapes}); }
int ready(const Tensor& barrier) { return barrier_ready_size(barrier).item<int32_t>(); }
int incomplete(const Tensor& barrier) { return barrier_incomplete_size(barrier).item<int32_t>(); }

void ready_when_all_parts_are_there() {
  const Tensor b = of_two();
  barrier_insert_many(b, tensor({"k", "m"}), tensor({{1.f, 2.f}, {3.f, 4.f}}), 0);
  BOOST_TEST(ready(b) == 0);
  BOOST_TEST(incomplete(b) == 2);
  barrier_insert_many(b, tensor({"l", "m"}), tensor({"lll", "mmm"}), 1);
  BOOST_TEST(ready(b) == 1);
  barrier_insert_many(b, tensor({"l"}), tensor({{5.f, 6.f}}), 0);
  barrier_insert_many(b, tensor({"k"}), tensor({"kkk"}), 1);
  BOOST_TEST(ready(b) == 3);
  BOOST_TEST(incomplete(b) == 0);
  // Those first whose keys came first.
  const auto first = barrier_take_many(b, 2, kTypes);
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  BOOST_TEST(first.indices.data<std::int64_t>()[0] == least);
  BOOST_TEST(first.indices.data<std::int64_t>()[1] == least);
  BOOST_TEST(ready(b) == 1);
  const auto last = barrier_take_many(b, 1, kTypes);
  BOOST_TEST(last.indices.data<std::int64_t>()[0] == least + 1);
  BOOST_TEST(last.keys.to_string() == "[b'l']");
  BOOST_TEST(last.values[0].to_string() == "[[5. 6.]]");
  BOOST_TEST(last.values[1].to_string() == "[b'lll']");
  const auto none = barrier_take_many(b, 0, kTypes);
  BOOST_TEST(none.values[0].shape().to_string() == "[0,2]");
}

void closed_ones() {
  const Tensor b = of_two();
  barrier_insert_many(b, tensor({"k", "m"}), tensor({{1.f, 2.f}, {3.f, 4.f}}), 0);
  barrier_insert_many(b, tensor({"k"}), tensor({"kkk"}), 1);
  barrier_close(b);
  expect_error_begins([&] { barrier_close(b); }, "Cancelled: barrier: expected it to be open, got a second closing in");
  expect_error_begins([&] { barrier_insert_many(b, tensor({"n"}), tensor({"nnn"}), 1); },
                      "Cancelled: barrier: expected it to be open, got the new key \"n\" in one that was closed");
  // What is not ready may still come.
  expect_error_begins([&] { barrier_take_many(b, 3, kTypes); },
                      "OutOfRange: barrier: expected 3 elements, got 2 in one that is closed");
  const auto small = barrier_take_many(b, 3, kTypes, {.allow_small_batch = true});
  BOOST_TEST(small.keys.to_string() == "[b'k']");
  expect_error_begins([&] { barrier_take_many(b, 3, kTypes, {.allow_small_batch = true}); }, "OutOfRange: barrier: ");
  barrier_insert_many(b, tensor({"m"}), tensor({"mmm"}), 1);
  BOOST_TEST(barrier_take_many(b, 1, kTypes).keys.to_string() == "[b'm']");
  expect_error_begins([&] { barrier_take_many(b, 1, kTypes); },
                      "OutOfRange: barrier: expected 1 elements, got 0 in one that is closed");
  expect_error_begins([&] { barrier_insert_many(b, tensor({"m"}), tensor({"m"}), 1); },
                      "Cancelled: barrier: expected it to be open, got no key that lacks a component in one");
}

void cancelled_ones() {
  const Tensor b = of_two();
  barrier_insert_many(b, tensor({"k"}), tensor({{1.f, 2.f}}), 0);
  barrier_close(b);
  barrier_close(b, {.cancel_pending_enqueues = true});
  BOOST_TEST(incomplete(b) == 0);
  expect_error_begins([&] { barrier_insert_many(b, tensor({"k"}), tensor({"k"}), 1); }, "Cancelled: ");
  expect_error_begins([&] { barrier_close(b, {.cancel_pending_enqueues = true}); }, "Cancelled: ");
}

void what_does_not_fit() {
  const Tensor b = of_two();
  barrier_insert_many(b, tensor({"k"}), tensor({{1.f, 2.f}}), 0);
  expect_error_begins([&] { barrier_insert_many(b, tensor({"k"}), tensor({{1.f, 2.f}}), 0); },
                      "InvalidArgument: keys: expected ones without a value of component 0, got \"k\" [in Barrier");
  expect_error_begins([&] { barrier_insert_many(b, tensor({"l"}), tensor({1.f}), 0); },
                      "InvalidArgument: values: expected the component's shape [2], got []");
  expect_error_begins([&] { barrier_insert_many(b, tensor({"l"}), tensor({1.f}), 1); },
                      "InvalidArgument: values: expected the component's string, got float32");
  expect_error_begins([&] { barrier_insert_many(b, tensor({"l"}), tensor({"x"}), 2); },
                      "InvalidArgument: component_index: expected one in [0, 2), got 2");
  expect_error_begins([&] { barrier_insert_many(b, tensor({"l", "m"}), tensor({"x"}), 1); },
                      "InvalidArgument: number of values and keys: expected 1, got 2");
  expect_error_begins([&] { barrier_take_many(b, 1, {kFloat32}); },
                      "InvalidArgument: component_types: expected the barrier's, got others");
  expect_error_begins([&] { barrier_take_many(b, -1, kTypes); },
                      "InvalidArgument: num_elements: expected at least 0, got -1");
  expect_error_begins([&] { barrier_take_many(b, 1, kTypes, {.timeout_ms = 5}); },
                      "InvalidArgument: timeout_ms: expected -1, since a step has a deadline, got 5");
  expect_error_begins([] { barrier(kTypes); }, "InvalidArgument: shapes: expected one for each of 2 components, got 0");
  expect_error_begins([] { barrier(kTypes, {.shapes = kShapes, .capacity = 3}); },
                      "InvalidArgument: capacity: expected -1, since a barrier has no limit, got 3");
}

// A graph knows the shapes of what comes out.
void in_saved_graphs() {
  const auto build = [] {
    const auto operation = [](const char* name, const auto& add) {
      const CollectEffects effects;
      add();
      group(effects.operations(), name);
    };
    const Tensor b = named("barrier", of_two());
    operation("first", [&] { barrier_insert_many(b, tensor({"k"}), tensor({{1.f, 2.f}}), 0); });
    operation("second", [&] { barrier_insert_many(b, tensor({"k"}), tensor({"kkk"}), 1); });
    operation("close", [&] { barrier_close(b); });
    const auto taken = barrier_take_many(b, 1, kTypes);
    BOOST_TEST(taken.values[0].partial_shape().to_string() == "[1,2]");
    named("values", identity(taken.values[0]));
    named("ready", barrier_ready_size(b));
    named("incomplete", barrier_incomplete_size(b));
    expect_error_begins([&] { barrier_insert_many(b, tensor({"l"}), tensor({1.f}), 0); },
                        "InvalidArgument: values: expected the component's shape [2], got []");
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    session.run("first");
    BOOST_TEST(session.run("incomplete").item<int32_t>() == 1);
    session.run("second");
    BOOST_TEST(session.run("ready").item<int32_t>() == 1);
    BOOST_TEST(session.run("values").to_string() == "[[1. 2.]]");
    session.run("close");
    expect_error_begins([&] { session.run({"values"}); }, "OutOfRange: barrier: ");
  }
}

const OwnTest kSaved{"saved", in_saved_graphs};

const Family barriers("barriers",
                      {
                          {"Barrier", {.own = {{"ready", ready_when_all_parts_are_there}, kSaved}}},
                          {"BarrierInsertMany", {.own = {{"refused", what_does_not_fit}, kSaved}}},
                          {"BarrierTakeMany", {.own = {{"ready", ready_when_all_parts_are_there}, kSaved}}},
                          {"BarrierClose", {.own = {{"closed", closed_ones}, {"cancelled", cancelled_ones}, kSaved}}},
                          {"BarrierReadySize", {.own = {{"ready", ready_when_all_parts_are_there}, kSaved}}},
                          {"BarrierIncompleteSize", {.own = {{"cancelled", cancelled_ones}, kSaved}}},
                      });

}  // namespace
}  // namespace panto::test::barriers_rows
