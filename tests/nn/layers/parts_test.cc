// Layers of one's own: what they list is found, and what they do not list is, too.
#include "panto/nn/layers/parts.h"

#include <array>
#include <map>
#include <optional>
#include <thread>

#include "panto/autograd/tape.h"
#include "panto/lib/core/io/tensor_files.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/random/random.h"
#include "panto/nn/layers/layer.h"
#include "panto/nn/layers/normalization.h"
#include "panto/nn/layers/recurrent.h"
#include "panto/nn/training/optimizer.h"
#include "panto/tests/expect.h"
#include "panto/tests/folder.h"
#include "panto/tests/near.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

std::vector<int64_t> ids(const std::vector<Variable>& variables) {
  std::vector<int64_t> all;
  for (const Variable& v : variables) all.push_back(v.handle().id());
  return all;
}

std::vector<std::string> names(const Layer& layer) {
  std::vector<std::string> all;
  for (const auto& [name, v] : layer.named_variables()) all.push_back(name);
  return all;
}

template <class T>
void expect_same(const std::vector<T>& got, const std::vector<T>& expected) {
  BOOST_CHECK_EQUAL_COLLECTIONS(got.begin(), got.end(), expected.begin(), expected.end());
}

struct Net : Layer {
  Dense a{3, 4, {.activation = "tanh"}}, b{4, 2};
  Variable scale{ones({2}), "scale"};
  Parts parts() const override { return {a, b, scale}; }
  Tensor forward(const Tensor& x) const override { return b(a(x)) * scale; }
};

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(parts)

BOOST_AUTO_TEST_CASE(a_layer_has_the_variables_of_its_parts) {
  const Net net;
  expect_same(ids(net.variables()), ids({net.a.kernel(), net.a.bias(), net.b.kernel(), net.b.bias(), net.scale}));
  BOOST_TEST(net.state().empty());
  GradientTape tape;
  const Tensor loss = sum(square(net(ones({5, 3}))));
  Sgd sgd(net.variables(), {.learning_rate = 0.5});
  const std::vector<Tensor> gradients = tape.gradient(loss, sgd.variables());
  for (const Tensor& g : gradients) BOOST_TEST(g.defined());
  const Tensor before = net.scale.value();
  sgd.apply(gradients);
  expect_near(net.scale.value(), {2}, values_of(before - 0.5F * gradients[4]));
}

// As in every process: two models in this one save the same names.
BOOST_AUTO_TEST_CASE(names_are_those_of_every_model_of_the_class) {
  const std::vector<std::string> expected = {"dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias", "scale"};
  const Net first, second;
  expect_same(names(first), expected);
  expect_same(names(second), expected);
  const TestFolder folder;
  const std::string path = folder / "model.npz";
  first.scale.assign(tensor({3.F, 5.F}));
  first.save(path);
  second.load(path);
  const Tensor x = tensor({{0.5F, -1.F, 2.F}});
  expect_near(second(x), {1, 2}, values_of(first(x)));
}

struct Everything : Layer {
  std::vector<Dense> list{Dense(1, 1), Dense(1, 1)};
  std::array<Dense, 1> array{Dense(1, 1)};
  Dense plain[1] = {Dense(1, 1)};
  std::shared_ptr<Layer> shared = std::make_shared<Dense>(1, 1), empty;
  std::unique_ptr<Dense> unique = std::make_unique<Dense>(1, 1);
  std::optional<Dense> there{Dense(1, 1)}, missing;
  std::vector<std::shared_ptr<const Layer>> pointers{std::make_shared<Dense>(1, 1)};
  std::vector<Variable> variables_of_its_own{Variable(tensor(1.F), "v"), Variable(tensor(2.F), "w")};
  Dense without_bias{1, 1, {.use_bias = false}};
  LstmCell cell{1, 1};
  Variable none;
  Parts parts() const override {
    return {list,         array, plain, shared, empty, unique, there, missing, pointers, variables_of_its_own,
            without_bias, cell,  none};
  }
  Tensor forward(const Tensor& x) const override { return x; }
};

BOOST_AUTO_TEST_CASE(parts_may_be_in_containers_and_behind_pointers) {
  const Everything e;
  std::vector<Variable> expected;
  const auto add = [&](const Layer& layer) {
    for (const Variable& v : layer.variables()) expected.push_back(v);
  };
  add(e.list[0]);
  add(e.list[1]);
  add(e.array[0]);
  add(e.plain[0]);
  add(*e.shared);
  add(*e.unique);
  add(*e.there);
  add(*e.pointers[0]);
  for (const Variable& v : e.variables_of_its_own) expected.push_back(v);
  expected.push_back(e.without_bias.kernel());
  for (const Variable& v : e.cell.variables()) expected.push_back(v);
  expect_same(ids(e.variables()), ids(expected));
  BOOST_TEST(expected.size() == 22U);
}

struct Wider : Net {
  Dense c{2, 2};
  Parts parts() const override { return {Net::parts(), c}; }
  Tensor forward(const Tensor& x) const override { return c(Net::forward(x)); }
};

BOOST_AUTO_TEST_CASE(a_derived_layer_adds_to_the_list) {
  const Wider wider;
  std::vector<Variable> expected = static_cast<const Layer&>(wider).variables();
  BOOST_TEST(expected.size() == 7U);
  BOOST_TEST(expected[5].handle().id() == wider.c.kernel().handle().id());
  BOOST_TEST(wider(ones({1, 3})).shape().to_string() == "[1,2]");
}

// The list is of what the object holds when it is asked.
BOOST_AUTO_TEST_CASE(copies_moves_and_assignments) {
  Net net;
  const Net copy = net;
  expect_same(ids(copy.variables()), ids(net.variables()));  // handles
  Net other;
  const std::vector<int64_t> of_other = ids(other.variables());
  Net moved = std::move(other);
  expect_same(ids(moved.variables()), of_other);
  net.a = Dense(3, 4);
  BOOST_TEST(net.variables()[0].handle().id() == net.a.kernel().handle().id());
  BOOST_TEST(net.variables()[0].handle().id() != copy.variables()[0].handle().id());
  net = moved;
  expect_same(ids(net.variables()), of_other);
  std::vector<Net> grown;
  for (int i = 0; i < 5; ++i) grown.emplace_back();
  BOOST_TEST(ids(grown[0].variables()).front() == grown[0].a.kernel().handle().id());
}

struct Statistics : Layer {
  BatchNorm norm{3};
  Net backbone;
  Variable steps{tensor(int64_t{0}), "steps"}, average{zeros({2}), "average"};
  Parts parts() const override { return {norm, frozen(backbone), steps, frozen(average)}; }
  Tensor forward(const Tensor& x) const override { return backbone(norm(x)) + average + cast(steps, kFloat32); }
};

BOOST_AUTO_TEST_CASE(what_is_frozen_or_no_number_that_can_be_trained_is_state) {
  const Statistics s;
  expect_same(ids(s.variables()), ids({s.norm.scale(), s.norm.offset()}));
  std::vector<Variable> state = s.norm.state();
  for (const Variable& v : s.backbone.variables()) state.push_back(v);
  state.push_back(s.steps);
  state.push_back(s.average);
  expect_same(ids(s.state()), ids(state));
  BOOST_TEST(s.named_variables().size() == 2U + state.size());
  const TrainingScope training;
  BOOST_TEST(s(ones({2, 3})).shape().to_string() == "[2,2]");  // all are listed
}

struct Tied : Layer {
  Dense first{2, 2}, again = first;
  Parts parts() const override { return {first, again, first.kernel()}; }
  Tensor forward(const Tensor& x) const override { return again(first(x)); }
};

BOOST_AUTO_TEST_CASE(what_occurs_several_times_is_there_once) {
  BOOST_TEST(Tied().variables().size() == 2U);
  const Dense dense(2, 2);
  BOOST_TEST(Sequential(dense, dense).variables().size() == 2U);
}

// ---- What is forgotten ---------------------------------------------------------------------------------------------

struct Forgetful : Layer {
  Dense a{2, 2}, b{2, 2};
  Variable scale{ones({2}), "scale"};
  bool uses_b = true, uses_scale = false;
  Parts parts() const override { return {a}; }
  Tensor forward(const Tensor& x) const override {
    Tensor y = a(x);
    if (uses_b) y = b(y);
    return uses_scale || in_training() ? y * scale : y;
  }
};

const char* const kForgotten = "FailedPrecondition: parts: expected all variables that the layer uses, got none of ";

BOOST_AUTO_TEST_CASE(a_layer_that_is_not_listed_is_found_by_the_first_call) {
  const Forgetful net;
  const std::string text = error_text([&] { net(ones({1, 2})); });
  BOOST_TEST(text.starts_with(kForgotten + ("'" + net.b.kernel().name() + "' (float32[2,2]) and 1 more; list its ")),
             text);
  BOOST_TEST(text.find("`Parts parts() const override { return {a, b, scale}; }`") != std::string::npos, text);
  BOOST_TEST(text.find("[in Forgetful()]") != std::string::npos, text);
  expect_error_begins([&] { net(ones({1, 2})); }, kForgotten);  // and by every one until it is mended
}

BOOST_AUTO_TEST_CASE(what_only_training_uses_is_found_by_the_first_call_in_training) {
  Forgetful net;
  net.uses_b = false;
  net(ones({1, 2}));
  const TrainingScope training;
  expect_error_begins([&] { net(ones({1, 2})); }, kForgotten + ("'" + net.scale.name() + "' (float32[2]); "));
}

BOOST_AUTO_TEST_CASE(an_assigned_layer_is_looked_at_again) {
  Forgetful net, other;
  net.uses_b = other.uses_b = false;
  net(ones({1, 2}));
  other.uses_scale = true;
  net = other;
  expect_error_begins([&] { net(ones({1, 2})); }, kForgotten);
}

BOOST_AUTO_TEST_CASE(it_is_found_wherever_the_layer_stands) {
  const Tensor x = ones({1, 2});
  expect_error_begins([&] { Sequential(Dense(2, 2), Forgetful())(x); }, kForgotten);
  expect_error_begins([&] { trace([net = Forgetful()](const Tensor& t) { return net(t); })(x); }, kForgotten);
  expect_error_begins(
      [&] {
        const GradientTape tape;
        Forgetful{}(x);
      },
      kForgotten);
  Graph graph;
  const GraphScope building(graph);
  const Tensor in = placeholder(kFloat32, {-1, 2}, "in");
  expect_error_begins([&] { Forgetful{}(in); }, "FailedPrecondition: parts: ");
  BOOST_TEST(Net{}(placeholder(kFloat32, {-1, 3}, "three")).partial_shape().to_string() == "[?,2]");
}

struct Outer : Layer {
  Forgetful inner;
  Parts parts() const override { return {inner, inner.b, inner.scale}; }
  Tensor forward(const Tensor& x) const override { return inner(x); }
};

BOOST_AUTO_TEST_CASE(a_layer_does_not_answer_for_another) {
  expect_error_begins([] { Outer{}(ones({1, 2})); }, kForgotten);  // it is Forgetful that forgets
}

// Functions are no layers that list something.
BOOST_AUTO_TEST_CASE(variables_of_functions_are_found) {
  const Variable slope(tensor(0.5F), "slope");
  const auto leaky = [slope](const Tensor& x) { return maximum(x, x * slope); };
  for (const auto& model : {Sequential(Dense(2, 2), Lambda(leaky)), Sequential(Dense(2, 2, {.activation = leaky}))}) {
    const std::string text = error_text([&] { model(ones({1, 2})); });
    BOOST_TEST(text.starts_with(kForgotten + ("'" + slope.name() + "' (float32[]); a function with variables is")),
               text);
  }
}

BOOST_AUTO_TEST_CASE(a_traced_function_is_looked_into) {
  struct Calls : Layer {
    Variable k{tensor(2.F), "k"};
    Function f = trace([k = k](const Tensor& x) { return x * k; }, {TensorSpec(kFloat32, {2}, "x")});
    bool lists = false;
    Parts parts() const override { return lists ? Parts{k} : Parts{}; }
    Tensor forward(const Tensor& x) const override { return f(x); }
  };
  Calls calls;
  expect_error_begins([&] { calls(ones({2})); }, kForgotten + ("'" + calls.k.name() + "' (float32[]); "));
  calls.lists = true;
  expect_near(calls(ones({2})), {2}, {2, 2});
}

struct Noise : Layer {
  Tensor forward(const Tensor& x) const override { return x + random_normal({2}); }
};

BOOST_AUTO_TEST_CASE(what_belongs_to_the_process_needs_no_list) {
  BOOST_TEST(Noise()(ones({1, 2})).shape().to_string() == "[1,2]");
  const Function f =
      trace([layer = Noise()](const Tensor& x) { return layer(x); }, {TensorSpec(kFloat32, {1, 2}, "x")});
  BOOST_TEST(f(ones({1, 2})).shape().to_string() == "[1,2]");
}

BOOST_AUTO_TEST_CASE(a_layer_without_variables_has_nothing_to_save) {
  struct Forgot : Layer {
    Dense a{2, 2};
    Tensor forward(const Tensor& x) const override { return a(x); }
  };
  const std::string got = "got none in Forgot() (a layer of your own lists its layers and variables: `Parts parts()";
  expect_error_begins([] { Forgot().save("x.npz"); }, "InvalidArgument: save: expected a layer with variables, " + got);
  expect_error_begins([] { Forgot().load("x.npz"); }, "InvalidArgument: load: expected a layer with variables, " + got);
}

BOOST_AUTO_TEST_CASE(a_call_that_fails_leaves_nothing_behind) {
  const Net net;
  BOOST_CHECK_THROW(net(ones({1, 4})), Error);
  const Variable other(tensor(1.F), "other");
  BOOST_TEST(other.value().item<float>() == 1);  // no look goes on
  BOOST_TEST(net(ones({1, 3})).shape().to_string() == "[1,2]");
}

BOOST_AUTO_TEST_CASE(first_calls_in_several_threads) {
  const Net net;
  const Forgetful forgetful;
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      if (net(ones({1, 3})).shape().to_string() == "[1,2]") ++right;
      try {
        forgetful(ones({1, 2}));
      } catch (const Error&) {
        ++right;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  BOOST_TEST(right == 8);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
