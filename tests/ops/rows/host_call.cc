// Functions of the host program as nodes.
#include <boost/test/unit_test.hpp>
#include <stdexcept>

#include "panto/autograd/tape.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/control/host_call.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/saved.h"
#include "panto/tests/ops/table.h"
#include "panto/trace/trace.h"

namespace panto::test::host_call_rows {
namespace {

using Tensors = std::vector<Tensor>;

// Entered for as long as it lives.
struct Entered {
  Entered(std::string token_, HostFunction f) : token(std::move(token_)) { enter_host_function(token, std::move(f)); }
  ~Entered() { remove_host_function(token); }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
  std::string token;
};

Tensors doubled(const Tensors& in) { return {in[0] * 2.f}; }

void eager_calls() {
  BOOST_TEST(host_call(doubled, {tensor({1.f, 2.f})}, {{kFloat32, PartialShape{-1}}})[0].to_string() == "[2. 4.]");
  expect_error_begins([] { host_call(doubled, {tensor({1.f})}, {{kFloat64}}, {.token = "f"}); },
                      "InvalidArgument: host function \"f\": expected output 0 as float64, got float32");
  expect_error_begins([] { host_call(doubled, {tensor({1.f})}, {}, {.token = "f"}); },
                      "InvalidArgument: host function \"f\": expected 0 outputs, got 1");
  expect_error_begins([] { host_call(doubled, {tensor({1.f})}, {{kFloat32, PartialShape{2}}}); }, "InvalidArgument: ");
  expect_error_begins(
      [] { host_call([](const Tensors&) -> Tensors { throw std::runtime_error("no"); }, {}, {}, {.token = "f"}); },
      "Aborted: host function \"f\": no");
}

void by_tokens() {
  const Entered entered("host_call_rows", doubled);
  for (const auto& call : {py_func, py_func_stateless}) {
    BOOST_TEST(call({tensor({1.f, 2.f})}, "host_call_rows", {kFloat32})[0].to_string() == "[2. 4.]");
  }
  BOOST_TEST(eager_py_func({tensor({1.f, 2.f})}, "host_call_rows", {kFloat32})[0].to_string() == "[2. 4.]");
  expect_error_begins(
      [] { py_func({tensor({1.f})}, "host_call_none", {kFloat32}); },
      "NotFound: token: expected that of a host function (enter_host_function), got \"host_call_none\"");
  expect_error_begins([] { enter_host_function("host_call_rows", doubled); },
                      "AlreadyExists: token: expected one that no host function has, got \"host_call_rows\"");
  BOOST_TEST(!remove_host_function("host_call_none"));
}

// A traced call is a node, which knows the shape that it was told, and no more: nothing of what the function calls is
// in the trace.
void in_traces() {
  int calls = 0;
  const Function f = trace(
      [&](const Tensor& x) {
        return host_call(
                   [&](const Tensors& in) {
                     ++calls;
                     return doubled(in);
                   },
                   {x}, {{kFloat32, PartialShape{-1}}})[0] +
               1.f;
      },
      {TensorSpec(kFloat32, {-1}, "x")});
  BOOST_TEST(calls == 0);
  BOOST_TEST(f(tensor({1.f, 2.f})).to_string() == "[3. 5.]");
  BOOST_TEST(f(tensor({4.f})).to_string() == "[9.]");
  BOOST_TEST(calls == 2);
}

// A file has the token only. Where nobody has the function, the run fails when it reaches the node.
void in_saved_graphs() {
  const std::string token = "host_call_saved";
  const auto build = [&] {
    const Tensor x = placeholder(kFloat32, {2}, "x");
    const Tensors y = host_call(doubled, {x}, {{kFloat32, PartialShape{2}}}, {.token = token});
    remove_host_function(token);
    named("y", y[0] + 1.f);
    named("z", x + 1.f);
    named("stateless", identity(py_func_stateless({x}, token, {kFloat32})[0]));
    named("eager", identity(eager_py_func({x}, token, {kFloat32})[0]));
  };
  for (const Graph& graph : saved_and_loaded(build)) {
    Session session(graph);
    const Feeds feeds = {{"x", tensor({1.f, 2.f})}};
    BOOST_TEST(session.run("z", feeds).to_string() == "[2. 3.]");
    expect_error_begins(
        [&] { session.run("y", feeds); },
        "NotFound: token: expected that of a host function (enter_host_function), got \"" + token + "\"");
    const Entered entered(token, doubled);
    BOOST_TEST(session.run("y", feeds).to_string() == "[3. 5.]");
    BOOST_TEST(session.run("stateless", feeds).to_string() == "[2. 4.]");
    BOOST_TEST(session.run("eager", feeds).to_string() == "[2. 4.]");
  }
}

// What it gives has no gradient, and an eager function's own ops are not on the tape.
void no_gradients() {
  const Tensor x = tensor({1.f, 2.f});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = host_call(doubled, {x}, {{kFloat32}})[0];
  BOOST_TEST(!tape.gradient(sum(y), x).defined());
}

const OwnTest kSaved{"saved", in_saved_graphs};

const Family host_calls(
    "host_calls",
    {
        {"PyFunc", {.own = {{"eager", eager_calls}, {"traces", in_traces}, {"gradients", no_gradients}, kSaved}}},
        {"PyFuncStateless", {.own = {{"tokens", by_tokens}, kSaved}}},
        {"EagerPyFunc", {.own = {{"tokens", by_tokens}, kSaved}}},
    });

}  // namespace
}  // namespace panto::test::host_call_rows
