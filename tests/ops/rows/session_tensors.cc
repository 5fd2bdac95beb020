// Tensors that a session keeps by handles, and variables that count.
#include <boost/test/unit_test.hpp>

#include "panto/lib/core/call/scopes.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/saved.h"
#include "panto/tests/ops/table.h"
#include "panto/trace/graph_scope.h"

namespace panto::test::session_tensors_rows {
namespace {

constexpr const char* kNone = "InvalidArgument: handle: expected that of a tensor that the session keeps, got ";

void kept_eagerly() {
  const Tensor one = get_session_handle(tensor({1.f, 2.f})), two = get_session_handle(tensor("text"));
  BOOST_TEST(one.item<std::string>() != two.item<std::string>());
  BOOST_TEST(get_session_tensor(one, kFloat32).to_string() == "[1. 2.]");
  BOOST_TEST(get_session_tensor(two, kString).item<std::string>() == "text");
  expect_error_begins([&] { get_session_tensor(one, kInt32); },
                      "InvalidArgument: handle: expected that of a int32 tensor, got one of float32");
  delete_session_tensor(one);
  expect_error_begins([&] { get_session_tensor(one, kFloat32); }, kNone);
  expect_error_begins([&] { delete_session_tensor(one); }, kNone);
  BOOST_TEST(get_session_tensor(two, kString).item<std::string>() == "text");
  delete_session_tensor(two);
}

// In saved graphs too: what one run keeps, another of the same session finds.
void kept_by_the_session() {
  const auto build = [] {
    const Tensor x = placeholder(kFloat32, {-1}, "x"), handle = placeholder(kString, {}, "handle");
    // Memory of the plan's, but for the handle.
    named("keep", get_session_handle(x * 2.f));
    named("again", exp(get_session_tensor(handle, kFloat32)));
    named("value", get_session_tensor(handle, kFloat32));
    const CollectEffects effects;
    delete_session_tensor(handle);
    group(effects.operations(), "delete");
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph), other(graph);
    const Tensor first = session.run("keep", {{"x", tensor({1.f, 2.f})}});
    const Tensor second = session.run("keep", {{"x", tensor({3.f, 4.f})}});
    BOOST_TEST(session.run("value", {{"handle", first}}).to_string() == "[2. 4.]");
    BOOST_TEST(session.run("value", {{"handle", second}}).to_string() == "[6. 8.]");
    expect_error_begins([&] { other.run("value", {{"handle", first}}); }, kNone);
    session.run("delete", {{"handle", first}});
    expect_error_begins([&] { session.run("value", {{"handle", first}}); }, kNone);
    BOOST_TEST(session.run("value", {{"handle", second}}).to_string() == "[6. 8.]");
  }
}

void kept_as_a_resource() {
  const Tensor handle = get_session_resource(tensor({1.f, 2.f}));
  BOOST_TEST((handle.dtype() == kResource));
  const auto& resource = *static_cast<const ResourceHandle*>(handle.impl()->data);
  BOOST_TEST(resource->kind() == "SessionTensor");
  BOOST_TEST(get_session_tensor(tensor(resource->name()), kFloat32).to_string() == "[1. 2.]");
}

void kept_as_a_saved_resource() {
  const auto build = [] { named("keep", get_session_resource(placeholder(kFloat32, {-1}, "x"))); };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    BOOST_TEST((session.run("keep", {{"x", tensor({1.f})}}).dtype() == kResource));
  }
}

template <class T>
void counts() {
  const DType type = dtype_of<T>;
  const Variable n(tensor(T{3}), "n");
  BOOST_TEST(resource_count_up_to(n.handle(), 5, type).item<T>() == 3);
  BOOST_TEST(resource_count_up_to(n.handle(), 5, type).item<T>() == 4);
  expect_error_begins([&] { resource_count_up_to(n.handle(), 5, type); },
                      "OutOfRange: limit: expected a count below 5, got 5 ");
  BOOST_TEST(n.value().item<T>() == 5);
  const Variable two(tensor({T{1}, T{2}}), "two");
  expect_error_begins([&] { resource_count_up_to(two.handle(), 5, type); },
                      "InvalidArgument: resource: expected a scalar, got shape [2]");
  const Variable real(tensor(1.f), "real");
  expect_error_begins([&] { resource_count_up_to(real.handle(), 5, type); },
                      "InvalidArgument: dtype: expected the variable's float32, got ");
}

void counts_saved() {
  const auto build = [] {
    const Variable n(tensor(int64_t{0}), "n");
    global_variables_initializer();
    named("next", resource_count_up_to(n.handle(), 2, kInt64));
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    session.run("init");
    BOOST_TEST(session.run("next").item<int64_t>() == 0);
    BOOST_TEST(session.run("next").item<int64_t>() == 1);
    expect_error_begins([&] { session.run("next"); }, "OutOfRange: ");
  }
}

const Family session_tensors(
    "state", {
                 {"GetSessionHandle", {.own = {{"eager", kept_eagerly}, {"saved", kept_by_the_session}}}},
                 {"GetSessionHandleV2", {.own = {{"eager", kept_as_a_resource}, {"saved", kept_as_a_saved_resource}}}},
                 {"GetSessionTensor", {.own = {{"eager", kept_eagerly}, {"saved", kept_by_the_session}}}},
                 {"DeleteSessionTensor", {.own = {{"eager", kept_eagerly}, {"saved", kept_by_the_session}}}},
                 {"ResourceCountUpTo",
                  {.own = {{"int32", counts<int32_t>}, {"int64", counts<int64_t>}, {"saved", counts_saved}}}},
             });

}  // namespace
}  // namespace panto::test::session_tensors_rows
