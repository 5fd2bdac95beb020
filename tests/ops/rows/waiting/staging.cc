// Staging areas: what comes out, and in which order. Calls that wait are in tests/threads/waiting_test.cc.
#include <boost/test/unit_test.hpp>
#include <string>

#include "panto/lib/core/call/scopes.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/saved.h"
#include "panto/tests/ops/table.h"

namespace panto::test::staging_rows {
namespace {

const std::vector<DType> kTypes = {kFloat32, kString};
Tensor numbers(std::vector<int32_t> values) { return tensor(std::move(values)); }
Tensor key(int64_t value) { return tensor(value); }

void in_order() {
  const std::string name = "staging_in_order";
  const auto put = [&](float value, const char* text) {
    stage({tensor({value}), tensor(text)}, {.shared_name = name});
  };
  const auto count = [&] { return stage_size(kTypes, {.shared_name = name}).item<int32_t>(); };
  put(1, "a");
  put(2, "b");
  put(3, "c");
  BOOST_TEST(count() == 3);
  BOOST_TEST(stage_peek(1, kTypes, {.shared_name = name})[1].to_string() == "b'b'");
  BOOST_TEST(count() == 3);
  BOOST_TEST(unstage(kTypes, {.shared_name = name})[0].to_string() == "[1.]");
  BOOST_TEST(unstage(kTypes, {.shared_name = name})[1].to_string() == "b'b'");
  BOOST_TEST(count() == 1);
  stage_clear(kTypes, {.shared_name = name});
  BOOST_TEST(count() == 0);
}

void what_does_not_fit() {
  const std::string name = "staging_refused";
  expect_error_begins([&] { stage({zeros({3})}, {.memory_limit = 8, .shared_name = name}); },
                      "ResourceExhausted: staging area: expected at most 8 bytes in an element, got 12 [in Stage(");
  stage({zeros({2})}, {.memory_limit = 8, .shared_name = name});
  expect_error_begins([&] { stage_peek(0, kTypes, {.shared_name = name}); },
                      "InvalidArgument: dtypes: expected 1 as in the element, got 2");
  expect_error_begins([&] { stage_peek(0, {kInt32}, {.shared_name = name}); },
                      "InvalidArgument: dtypes: expected the element's float32, got int32");
  expect_error_begins([&] { stage_peek(-1, {kFloat32}, {.shared_name = name}); },
                      "InvalidArgument: index: expected at least 0, got -1");
  expect_error_begins([] { stage({zeros({2})}); },
                      "InvalidArgument: shared_name: expected one, by which a staging area is found, got none");
  expect_error_begins([&] { map_size({kFloat32}, {.shared_name = name}); },
                      "InvalidArgument: staging area: expected a handle of a staging area, got a StagingArea named ");
}

// By keys: the ops of both kinds under one name each.
struct AnyOrder {
  std::string name;
  void put(int64_t k, const Tensor& indices, const std::vector<Tensor>& values) const {
    map_stage(key(k), indices, values, kTypes, {.shared_name = name});
  }
  Tensor peek(int64_t k, int32_t index, DType type) const {
    return map_peek(key(k), numbers({index}), {type}, {.shared_name = name})[0];
  }
  Tensor take(int64_t k, int32_t index, DType type) const {
    return map_unstage(key(k), numbers({index}), {type}, {.shared_name = name})[0];
  }
  auto take_any() const { return map_unstage_no_key(numbers({0, 1}), kTypes, {.shared_name = name}); }
  int size() const { return map_size(kTypes, {.shared_name = name}).item<int32_t>(); }
  int incomplete() const { return map_incomplete_size(kTypes, {.shared_name = name}).item<int32_t>(); }
  void clear() const { map_clear(kTypes, {.shared_name = name}); }
};
struct InOrder {
  std::string name;
  void put(int64_t k, const Tensor& indices, const std::vector<Tensor>& values) const {
    ordered_map_stage(key(k), indices, values, kTypes, {.shared_name = name});
  }
  Tensor peek(int64_t k, int32_t index, DType type) const {
    return ordered_map_peek(key(k), numbers({index}), {type}, {.shared_name = name})[0];
  }
  Tensor take(int64_t k, int32_t index, DType type) const {
    return ordered_map_unstage(key(k), numbers({index}), {type}, {.shared_name = name})[0];
  }
  auto take_any() const { return ordered_map_unstage_no_key(numbers({0, 1}), kTypes, {.shared_name = name}); }
  int size() const { return ordered_map_size(kTypes, {.shared_name = name}).item<int32_t>(); }
  int incomplete() const { return ordered_map_incomplete_size(kTypes, {.shared_name = name}).item<int32_t>(); }
  void clear() const { ordered_map_clear(kTypes, {.shared_name = name}); }
};

template <class Map>
void by_keys(const Map& map) {
  map.put(7, numbers({0, 1}), {tensor({7.f}), tensor("seven")});
  map.put(3, numbers({1}), {tensor("three")});
  BOOST_TEST(map.size() == 1);
  BOOST_TEST(map.incomplete() == 1);
  expect_error_begins([&] { map.put(3, numbers({1}), {tensor("again")}); },
                      "InvalidArgument: indices: expected values that are not there yet, got 1 of key 3");
  map.put(3, numbers({0}), {tensor({3.f})});
  BOOST_TEST(map.size() == 2);
  BOOST_TEST(map.incomplete() == 0);
  BOOST_TEST(map.peek(3, 1, kString).to_string() == "b'three'");
  const auto first = map.take_any();
  const auto k = first.key.template item<int64_t>();
  BOOST_TEST((k == 3 || k == 7));
  BOOST_TEST(first.values[0].to_string() == (k == 3 ? "[3.]" : "[7.]"));
  const int64_t other = 10 - k;
  BOOST_TEST(map.take(other, 0, kFloat32).to_string() == (other == 3 ? "[3.]" : "[7.]"));
  expect_error_begins([&] { map.take(other, 0, kFloat32); },
                      "InvalidArgument: indices: expected values that are there, got 0 of key ");
  BOOST_TEST(map.size() == 1);  // one value of it is left
  map.take(other, 1, kString);
  BOOST_TEST(map.size() == 0);
  expect_error_begins([&] { map.put(1, numbers({1, 0}), {tensor("x"), tensor({1.f})}); },
                      "InvalidArgument: indices: expected ones that increase, got 0 behind 1");
  expect_error_begins([&] { map.put(1, numbers({2}), {tensor("x")}); },
                      "InvalidArgument: indices: expected ones in [0, 2), got 2");
  expect_error_begins([&] { map.put(1, numbers({0, 1}), {tensor("x")}); },
                      "InvalidArgument: number of indices and values: expected 2, got 1");
  map.put(1, numbers({0}), {tensor({1.f})});
  map.clear();
  BOOST_TEST(map.incomplete() == 0);
}

void in_any_order() { by_keys(AnyOrder{"staging_map"}); }

void in_the_order_of_keys() {
  by_keys(InOrder{"staging_ordered_map"});
  const InOrder map{"staging_by_number"};
  for (const int64_t k : {5, -2, 9}) map.put(k, numbers({0, 1}), {tensor({1.f}), tensor("x")});
  for (const int64_t k : {-2, 5, 9}) BOOST_TEST(map.take_any().key.item<int64_t>() == k);
  expect_error_begins([] { map_size(kTypes, {.shared_name = "staging_by_number"}); },
                      "InvalidArgument: staging area \"staging_by_number\": expected it as it was declared before, of "
                      "kind OrderedStagingMap, got another");
}

void in_saved_graphs() {
  const auto build = [] {
    const auto operation = [](const char* name, const auto& add) {
      const CollectEffects effects;
      add();
      group(effects.operations(), name);
    };
    operation("put", [] { stage({tensor({1.f, 2.f})}, {.shared_name = "s"}); });
    operation("clear", [] { stage_clear({kFloat32}, {.shared_name = "s"}); });
    named("taken", identity(unstage({kFloat32}, {.shared_name = "s"})[0]));
    named("peeked", identity(stage_peek(0, {kFloat32}, {.shared_name = "s"})[0]));
    named("size", stage_size({kFloat32}, {.shared_name = "s"}));
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph), other(graph);
    session.run("put");
    session.run("put");
    BOOST_TEST(session.run("size").item<int32_t>() == 2);
    BOOST_TEST(other.run("size").item<int32_t>() == 0);  // a session has areas of its own
    BOOST_TEST(session.run("peeked").to_string() == "[1. 2.]");
    BOOST_TEST(session.run("taken").to_string() == "[1. 2.]");
    session.run("clear");
    BOOST_TEST(session.run("size").item<int32_t>() == 0);
  }
}

template <class Map>
void maps_in_saved_graphs() {
  const auto build = [] {
    const auto operation = [](const char* name, const auto& add) {
      const CollectEffects effects;
      add();
      group(effects.operations(), name);
    };
    const Map map{"m"};
    operation("put", [&] { map.put(4, numbers({0, 1}), {tensor({1.f, 2.f}), tensor("x")}); });
    operation("part", [&] { map.put(5, numbers({0}), {tensor({1.f, 2.f})}); });
    operation("clear", [&] { map.clear(); });
    named("any", identity(map.take_any().values[0]));
    named("peeked", identity(map.peek(4, 1, kString)));
    named("taken", identity(map.take(4, 1, kString)));
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    session.run("put");
    session.run("part");
    BOOST_TEST(session.run("any").to_string() == "[1. 2.]");
    session.run("put");
    BOOST_TEST(session.run("peeked").to_string() == "b'x'");
    BOOST_TEST(session.run("taken").to_string() == "b'x'");
    session.run("clear");
  }
}

// Sizes are no tensors of the area's types.
void sizes_in_saved_graphs() {
  const auto build = [] {
    named("size", map_size(kTypes, {.shared_name = "m"}));
    named("incomplete", map_incomplete_size(kTypes, {.shared_name = "m"}));
    named("ordered_size", ordered_map_size(kTypes, {.shared_name = "o"}));
    named("ordered_incomplete", ordered_map_incomplete_size(kTypes, {.shared_name = "o"}));
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    for (const char* name : {"size", "incomplete", "ordered_size", "ordered_incomplete"}) {
      BOOST_TEST(session.run(name).item<int32_t>() == 0);
    }
  }
}

const OwnTest kSaved{"saved", in_saved_graphs};
const OwnTest kMapSaved{"saved", maps_in_saved_graphs<AnyOrder>};
const OwnTest kOrderedSaved{"saved", maps_in_saved_graphs<InOrder>};
const OwnTest kSizesSaved{"saved", sizes_in_saved_graphs};
const OwnTest kAny{"keys", in_any_order};
const OwnTest kOrdered{"keys", in_the_order_of_keys};

const Family staging("staging", {
                                    {"Stage", {.own = {{"refused", what_does_not_fit}, kSaved}}},
                                    {"Unstage", {.own = {{"order", in_order}, kSaved}}},
                                    {"StagePeek", {.own = {{"order", in_order}, kSaved}}},
                                    {"StageSize", {.own = {{"order", in_order}, kSaved}}},
                                    {"StageClear", {.own = {{"order", in_order}, kSaved}}},
                                    {"MapStage", {.own = {kAny, kMapSaved}}},
                                    {"MapPeek", {.own = {kAny, kMapSaved}}},
                                    {"MapUnstage", {.own = {kAny, kMapSaved}}},
                                    {"MapUnstageNoKey", {.own = {kAny, kMapSaved}}},
                                    {"MapSize", {.own = {kAny, kSizesSaved}}},
                                    {"MapIncompleteSize", {.own = {kAny, kSizesSaved}}},
                                    {"MapClear", {.own = {kAny, kMapSaved}}},
                                    {"OrderedMapStage", {.own = {kOrdered, kOrderedSaved}}},
                                    {"OrderedMapPeek", {.own = {kOrdered, kOrderedSaved}}},
                                    {"OrderedMapUnstage", {.own = {kOrdered, kOrderedSaved}}},
                                    {"OrderedMapUnstageNoKey", {.own = {kOrdered, kOrderedSaved}}},
                                    {"OrderedMapSize", {.own = {kOrdered, kSizesSaved}}},
                                    {"OrderedMapIncompleteSize", {.own = {kOrdered, kSizesSaved}}},
                                    {"OrderedMapClear", {.own = {kOrdered, kOrderedSaved}}},
                                });

}  // namespace
}  // namespace panto::test::staging_rows
