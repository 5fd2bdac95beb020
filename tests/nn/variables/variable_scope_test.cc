// Variables by name: eagerly, in traces and in graphs; what scopes hand down, and what is refused.
#include "panto/nn/variables/variable_scope.h"

#include <thread>

#include "panto/autograd/tape.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/lib/ops/reductions.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/layers/core/losses.h"
#include "panto/nn/training/checkpoint.h"
#include "panto/nn/training/optimizer.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/near.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(variable_scope)

const GetVariableOptions kOnes = {.initializer = constant_initializer(1)};

Tensor hidden(const Tensor& x, int64_t units) {
  const Variable kernel = get_variable("kernel", {x.dim(1), units}, kOnes);
  return matmul(x, kernel) + get_variable("bias", {units}, {.initializer = constant_initializer(0.5)});
}

// Of the variables that were made, whatever is in the process's store.
struct Fresh {
  VariableStore store;
  VariableStoreScope in{store};
};

// The error says where the variable was made.
template <class Body>
void expect_there_already(const Body& body) {
  const std::string text = error_text(body);
  BOOST_TEST(text.starts_with(
      "AlreadyExists: variable 'encoder/kernel': expected a name without a variable, got that of one made at "));
  BOOST_TEST(text.find("variable_scope_test.cc:") != std::string::npos);
}

bool is_same(const Variable& a, const Variable& b) { return a.handle().id() == b.handle().id(); }

BOOST_AUTO_TEST_CASE(eagerly) {
  const Fresh fresh;
  const Tensor x = tensor({{1.f, 2.f}});
  {
    const VariableScope scope("encoder");
    BOOST_TEST(VariableScope::current() == "encoder");
    expect_near(hidden(x, 3), {1, 3}, {3.5, 3.5, 3.5});
    expect_there_already([&] { hidden(x, 3); });
  }
  BOOST_TEST(VariableScope::current().empty());
  get_variable("kernel", {2, 3});  // another one
  BOOST_TEST(fresh.store.names() == (std::vector<std::string>{"encoder/kernel", "encoder/bias", "kernel"}));
  {
    const VariableScope scope("encoder", {.reuse = Reuse::kYes});
    get_variable("kernel").assign(fill({2, 3}, 2.f));
    expect_near(hidden(x, 3), {1, 3}, {6.5, 6.5, 6.5});
    BOOST_TEST(error_text([&] {
                 get_variable("other", {1});
               }).starts_with("NotFound: variable 'encoder/other': expected one that get_variable has made"));
    BOOST_TEST(error_text([&] { get_variable("other"); }).starts_with("NotFound: "));
    expect_error_begins([&] { get_variable("kernel", {3, 2}); },
                        "InvalidArgument: variable 'encoder/kernel': expected float32[2,3] as it was made, got "
                        "float32[3,2]");
    expect_error_begins([&] { get_variable("kernel", {2, 3}, {.dtype = kFloat64}); },
                        "InvalidArgument: variable 'encoder/kernel': expected float32[2,3] as it was made, got "
                        "float64[2,3]");
    const VariableScope inner("inner", {.reuse = Reuse::kNo});  // nothing new inside of kYes
    BOOST_TEST(error_text([&] { get_variable("other", {1}); }).starts_with("NotFound: "));
  }
  const VariableScope scope("encoder", {.reuse = Reuse::kAuto});
  BOOST_TEST(is_same(get_variable("kernel", {2, 3}), fresh.store.variables("encoder/k")[0]));
  BOOST_TEST(is_same(get_variable("new", {1}), get_variable("new", {1})));
  VariableScope::reuse_variables();
  BOOST_TEST(error_text([&] { get_variable("newer", {1}); }).starts_with("NotFound: "));
}

BOOST_AUTO_TEST_CASE(first_values) {
  const Fresh fresh;
  BOOST_TEST(dtype_name(get_variable("a", {2}).dtype()) == "float32");
  expect_near(get_variable("counts", {2}, {.dtype = kInt32}).value(), {2}, {0, 0});
  const Variable given = get_variable("given", tensor({1.5, 2.5}));
  BOOST_TEST(dtype_name(given.dtype()) == "float64");
  expect_near(given.value(), {2}, {1.5, 2.5});
  expect_error_begins(
      [] { get_variable("bad", {2}, {.initializer = [](const Shape&, DType) { return tensor({1.f, 2.f, 3.f}); }}); },
      "InvalidArgument: variable 'bad': expected a first value of float32[2], got float32[3]");
  const VariableScope doubles("d", {.dtype = kFloat64, .initializer = constant_initializer(3)});
  {
    const VariableScope inner("e");
    const Variable v = get_variable("v", {1});
    BOOST_TEST(v.name().starts_with("d/e/v"));
    BOOST_TEST(dtype_name(v.dtype()) == "float64");
    expect_near(v.value(), {1}, {3});
  }
  const VariableScope same_name("", {.initializer = constant_initializer(4)});
  expect_near(get_variable("w", {1}).value(), {1}, {4});
  BOOST_TEST(fresh.store.names().back() == "d/w");
  BOOST_TEST(fresh.store.trainable_variables().size() == 4U);  // all but the counts
  expect_error([] { const VariableScope bad("a b"); },
               "InvalidArgument: name scope: expected letters, digits and any of _ . - /, got 'a b'");
  BOOST_TEST(VariableScope::current() == "d");
}

BOOST_AUTO_TEST_CASE(names_that_are_free) {
  const Fresh fresh;
  for (const char* expected : {"conv/v", "conv_1/v", "conv_2/v"}) {
    const VariableScope scope("conv", {.unique = true});
    get_variable("v", {1});
    BOOST_TEST(fresh.store.names().back() == expected);
  }
  // Inside of a scope that is opened again they are counted anew; one without a name counts on.
  for (int round = 0; round < 2; ++round) {
    const VariableScope model("model", {.reuse = Reuse::kAuto});
    for (const char* expected : {"model/conv", "model/conv_1"}) {
      const VariableScope same("");
      const VariableScope scope("conv", {.unique = true});
      BOOST_TEST(VariableScope::current() == expected);
      get_variable("v", {1});
    }
  }
  BOOST_TEST(fresh.store.names().size() == 5U);
}

BOOST_AUTO_TEST_CASE(custom_getters) {
  const Fresh fresh;
  const CustomGetter halved = [](const VariableGetter& getter, std::string_view name, const Shape& shape,
                                 const GetVariableOptions& options) {
    GetVariableOptions other = options;
    other.initializer = constant_initializer(0.5);
    return getter(name, shape, other);
  };
  const CustomGetter renamed = [](const VariableGetter& getter, std::string_view name, const Shape& shape,
                                  const GetVariableOptions& options) {
    return getter(std::string(name) + "_x", shape, options);
  };
  const VariableScope outer("o", {.custom_getter = halved});
  const VariableScope inner("i", {.custom_getter = renamed});
  expect_near(get_variable("v", {2}, kOnes).value(), {2}, {0.5, 0.5});
  BOOST_TEST(fresh.store.names() == std::vector<std::string>{"o/i/v_x"});
  const VariableScope none("n", {.custom_getter = [](const VariableGetter&, std::string_view, const Shape&,
                                                     const GetVariableOptions&) { return Variable(); }});
  expect_error_begins(
      [] { get_variable("v", {2}); },
      "InvalidArgument: custom_getter of 'o/i/n/v': expected a variable, got a default-constructed one");
}

BOOST_AUTO_TEST_CASE(penalties) {
  const Fresh fresh;
  const Regularizer squares = [](const Tensor& v) { return 0.5f * sum(square(v)); };
  const auto build = [&] {
    const VariableScope scope("layer", {.regularizer = squares});
    get_variable("w", {3}, {.initializer = constant_initializer(2)});
    const VariableScope plain("plain");
    get_variable("v", {3},
                 {.initializer = constant_initializer(2), .regularizer = [](const Tensor& v) { return sum(v); }});
  };
  build();
  get_variable("free", {3});
  const std::vector<Tensor> now = regularization_losses();
  BOOST_REQUIRE_EQUAL(now.size(), 2U);
  expect_near(now[0], 6.0);
  expect_near(now[1], 6.0);
  BOOST_TEST(regularization_losses("layer/plain").size() == 1U);
  expect_near(get_total_loss(false), 0.0);

  Graph g;
  Operation init, train;
  Tensor total;
  {
    const GraphScope in(g);
    build();
    add_loss(named("data", identity(tensor(10.f))));
    BOOST_TEST(get_losses().size() == 1U);
    BOOST_TEST(regularization_losses().size() == 2U);
    BOOST_TEST(regularization_losses("layer/plain").size() == 1U);
    total = get_total_loss();
    train = Sgd({.learning_rate = 0.5}).minimize(total);
    init = global_variables_initializer();
  }
  BOOST_TEST(g.find("layer/w/Regularizer/Sum") != nullptr);
  Session s(g);
  s.run(init);
  expect_near(s.run(total), 22.0);
  s.run(train);  // w: 2 - 0.5 * 2; v: 2 - 0.5 * 1
  expect_near(s.run(total), 10 + 1.5 + 4.5);
  expect_near(s.run("total_loss"), 16.0);
}

// The names in a graph, and of nodes inside of it.
BOOST_AUTO_TEST_CASE(in_a_graph) {
  const Fresh fresh;
  Graph g;
  Operation init, init_local;
  Tensor left, right, local;
  {
    const GraphScope in(g);
    const Tensor x = placeholder(kFloat32, {-1, 2}, "x");
    {
      const VariableScope scope("encoder");
      const NameScope ops("ops");
      left = hidden(x, 3);
      expect_there_already([&] { hidden(x, 3); });
    }
    {
      const VariableScope scope("encoder", {.reuse = Reuse::kYes});
      right = hidden(x, 3);
    }
    local = get_variable("steps", {}, {.dtype = kInt32, .trainable = false, .local = true, .collections = {"mine"}})
                .value();
    get_variable("kept", {2}, {.trainable = false});
    BOOST_TEST(trainable_variables().size() == 2U);
    BOOST_TEST(trainable_variables("encoder/k").size() == 1U);
    BOOST_TEST(global_variables().size() == 3U);
    BOOST_TEST(all_variables().size() == 3U);
    BOOST_TEST(all_variables("encoder/").size() == 2U);
    BOOST_TEST(local_variables().size() == 1U);
    BOOST_TEST(get_collection(g, "mine").size() == 1U);
    BOOST_TEST(get_collection(g, "local_variables").size() == 1U);
    init = global_variables_initializer();
    init_local = local_variables_initializer();
  }
  BOOST_TEST(fresh.store.names().empty());
  for (const char* node :
       {"encoder/kernel", "encoder/kernel/Assign", "encoder/bias", "encoder/ops/MatMul", "encoder_1/MatMul", "steps"}) {
    BOOST_TEST((g.find(node) != nullptr), node);
  }
  Session s(g);
  s.run(init);
  const Tensor x = tensor({{1.f, 2.f}});
  expect_near(s.run(left, {{"x", x}}), {1, 3}, {3.5, 3.5, 3.5});
  expect_near(s.run(right, {{"x", x}}), {1, 3}, {3.5, 3.5, 3.5});
  BOOST_TEST(error_text([&] { s.run(local); }).starts_with("FailedPrecondition: "));
  s.run(init_local);
  expect_near(s.run(local), 0);
  Graph again;
  const GraphScope in(again);
  hidden(placeholder(kFloat32, {-1, 2}), 3);  // each graph has its own
  BOOST_TEST(again.variables().size() == 2U);
}

BOOST_AUTO_TEST_CASE(one_after_the_other) {
  Graph g;
  Operation only_a;
  {
    const GraphScope in(g);
    const Variable a = get_variable("a", {2}, kOnes);
    get_variable("b", {2}, kOnes);
    only_a = variables_initializer({a});
    expect_error([] { variables_initializer({Variable()}); },
                 "InvalidArgument: variables: expected some that were made in the open graph, got ''");
    named("sum", get_tensor_by_name("a/Initializer/Fill:0") + 1.f);
    expect_error_begins([] { get_tensor_by_name("nothing"); }, "NotFound: ");
    add_to_collection("ops", {only_a});
    expect_error_begins([] { collected_tensors("ops"); },
                        "InvalidArgument: collection 'ops': expected tensors, got operation 'init'");
  }
  Session s(g);
  s.run(only_a);
  expect_near(s.run(g.output_name({g.at("sum").id(), 0})), {2}, {2, 2});
  BOOST_TEST(error_text([&] { s.run(get_collection(g, "variables")); }).starts_with("FailedPrecondition: "));
}

// Made before the trace, once.
BOOST_AUTO_TEST_CASE(in_a_trace) {
  const Fresh fresh;
  const Function f = trace([](const Tensor& x) {
    const VariableScope scope("f", {.reuse = Reuse::kAuto});
    return hidden(x, 2);
  });
  expect_near(f(tensor({{1.f, 1.f}})), {1, 2}, {2.5, 2.5});
  expect_near(f(tensor({{1.f, 1.f}, {2.f, 2.f}})), {2, 2}, {2.5, 2.5, 4.5, 4.5});
  BOOST_TEST(fresh.store.variables().size() == 2U);
  get_variable("other", {1});
  fresh.store.variables("f/bias")[0].assign(tensor({0.f, 1.f}));
  expect_near(f(tensor({{1.f, 1.f}})), {1, 2}, {2, 3});
}

BOOST_AUTO_TEST_CASE(under_a_tape) {
  const Fresh fresh;
  GradientTape tape;
  const Tensor loss = sum(hidden(tensor({{1.f, 2.f}}), 1));
  expect_near(tape.gradient(loss, fresh.store.variables())[0], {2, 1}, {1, 2});
}

BOOST_AUTO_TEST_CASE(saved_and_loaded) {
  const TestFolder folder;
  const auto path = folder / "v.npz";
  {
    const Fresh fresh;
    const VariableScope scope("m");
    get_variable("w", {2}, kOnes);
    save_variables(path, fresh.store.variables());
  }
  const Fresh fresh;
  const VariableScope scope("m");
  const Variable w = get_variable("w", {2});
  load_variables(path, fresh.store.variables());
  expect_near(w.value(), {2}, {1, 1});
}

BOOST_AUTO_TEST_CASE(many_threads) {
  const VariableStore store;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&store] {
      const VariableStoreScope in(store);
      const VariableScope scope("t", {.reuse = Reuse::kAuto});
      for (int i = 0; i < 50; ++i) get_variable("v" + std::to_string(i), {2}).assign_add(tensor({1.f, 1.f}));
    });
  }
  for (std::thread& t : threads) t.join();
  BOOST_TEST(store.variables().size() == 50U);
  VariableStore same = store;
  same.clear();
  BOOST_TEST(store.names().empty());
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
