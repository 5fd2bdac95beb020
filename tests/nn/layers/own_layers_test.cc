// Layers of one's own that name their parts, build what depends on the input, and say what they take; freezing and
// penalties of all layers.
#include <atomic>
#include <thread>

#include "panto/autograd/tape.h"
#include "panto/lib/core/io/tensor_files.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/layers/convolution.h"
#include "panto/nn/layers/core/losses.h"
#include "panto/nn/layers/core/merge.h"
#include "panto/nn/layers/embedding.h"
#include "panto/nn/layers/normalization.h"
#include "panto/nn/training/loop/fit.h"
#include "panto/nn/training/loss.h"
#include "panto/nn/training/optimizer.h"
#include "panto/nn/variables/variable_scope.h"
#include "panto/tests/expect.h"
#include "panto/tests/nn/layers/layers.h"
#include "panto/trace/graph_scope.h"

namespace panto {
namespace {

std::vector<std::string> names(const std::vector<NamedVariable>& named) {
  std::vector<std::string> all;
  for (const auto& [name, v] : named) all.push_back(name);
  return all;
}
void expect_names(const std::vector<NamedVariable>& named, const std::vector<std::string>& expected) {
  const std::vector<std::string> got = names(named);
  BOOST_CHECK_EQUAL_COLLECTIONS(got.begin(), got.end(), expected.begin(), expected.end());
}

struct Net : Layer {
  Dense hidden = add("hidden", Dense(3, 4, {.activation = "tanh"}));
  Sequential body = add("body", Sequential(Dense(4, 4), Dense(4, 4)));
  Variable scale = add_variable("scale", {4}, {.initializer = ones_initializer()});
  Variable calls = add_variable("calls", {}, {.dtype = kInt64, .trainable = false});
  // add of two tensors is the function.
  Tensor forward(const Tensor& x) const override {
    calls.assign_add(1);
    return add(body(hidden(x)) * scale, hidden(x));
  }
};

// As keras.layers.Dense does.
struct Linear : Layer {
  explicit Linear(int64_t units) : units(units) {}
  int64_t units;
  mutable int builds = 0;
  InputSpec input_spec() const override { return {.dtype = kFloat32, .min_rank = 2, .axes = {{-1, 3}}}; }
  void build(const PartialShape& input) const override {
    ++builds;
    add_variable("kernel", {input.dim(input.rank() - 1), units},
                 {.initializer = waves(1), .regularizer = regularizers::l2(0.5)});
    add_variable("bias", {units}, {.initializer = waves(2)});
  }
  Tensor forward(const Tensor& x) const override { return matmul(x, variable("kernel")) + variable("bias"); }
};

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(own_layers)

BOOST_AUTO_TEST_CASE(named_parts) {
  const Net net;
  expect_names(net.named_variables(), {"hidden/kernel", "hidden/bias", "body/dense/kernel", "body/dense/bias",
                                       "body/dense_1/kernel", "body/dense_1/bias", "scale", "calls"});
  expect_names(net.named_parameters(), {"hidden/kernel", "hidden/bias", "body/dense/kernel", "body/dense/bias",
                                        "body/dense_1/kernel", "body/dense_1/bias", "scale"});
  BOOST_TEST(net.state().size() == 1U);
  const Tensor x = wave({2, 3});
  const Tensor h = net.hidden(x);
  expect_near(net(x), {2, 4}, values_of(net.body(h) * net.scale + h));
  BOOST_TEST(net.calls.value().item<int64_t>() == 1);
  BOOST_TEST(net.summary({-1, 3}).find(
                 "│ Dense(3, 4)                     │ (None, 4)              │            16 │") != std::string::npos);
  // Copies and what was moved from are the same.
  Net copy = net;
  const Net moved = std::move(copy);
  moved.hidden.kernel().assign(zeros({3, 4}));
  expect_near(net.hidden.kernel().value(), {3, 4}, std::vector<double>(12, 0.0));
  expect_near(moved(x), {2, 4}, values_of(net(x)));
}

BOOST_AUTO_TEST_CASE(of_parts_that_have_names) {
  struct Outer : Layer {
    Net a = add("a", Net()), b = add("b", Net());
    Variable listed{ones({4}), "listed"};
    Parts parts() const override { return {Layer::parts(), listed}; }
    Tensor forward(const Tensor& x) const override { return a(x) + b(x) * listed; }
  };
  const Outer outer;
  const std::vector<std::string> all = names(outer.named_variables());
  BOOST_TEST(all[0] == "a/hidden/kernel");
  BOOST_TEST(all[8] == "b/hidden/bias");
  BOOST_TEST(all[14] == "listed");
  BOOST_TEST(all[16] == "b/calls");
  outer(wave({2, 3}));
  // Files have these names.
  const TestFolder folder;
  outer.save(folder / "net.npz");
  const Outer other;
  other.load(folder / "net.npz");
  expect_near(other(wave({2, 3})), {2, 4}, values_of(outer(wave({2, 3}))));
}

BOOST_AUTO_TEST_CASE(a_part_that_is_replaced_is_found) {
  Net net;
  net.hidden = Dense(3, 4);
  expect_error_begins([&] { net(wave({2, 3})); },
                      "FailedPrecondition: parts: expected all variables that the layer uses");
}

BOOST_AUTO_TEST_CASE(names_that_cannot_be) {
  struct Bad : Layer {
    explicit Bad(const std::string& name) { add("a", Dense(2, 2)), add_variable(name, {2}); }
    Tensor forward(const Tensor& x) const override { return x; }
  };
  expect_error_begins([] { Bad("a"); }, "InvalidArgument: add: expected a name that no other part has, got 'a'");
  expect_error_begins([] { Bad("b/c"); }, "InvalidArgument: add: expected a name without '/', got 'b/c'");
  expect_error_begins([] { Bad(""); }, "InvalidArgument: add: expected a name without '/', got ''");
  struct Lost : Layer {
    Tensor forward(const Tensor& x) const override { return x + variable("nowhere"); }
  };
  expect_error_begins([] { Lost()(ones({2})); },
                      "NotFound: variable 'nowhere': expected one that add_variable has made");
}

BOOST_AUTO_TEST_CASE(built_by_the_first_call) {
  const Linear layer(2);
  BOOST_TEST(!layer.built());
  BOOST_TEST(layer.variables().empty());
  const Linear copy = layer;  // before it is built
  const Tensor x = wave({4, 3});
  const Tensor y = layer(x);
  expect_near(y, {4, 2}, values_of(matmul(x, wave({3, 2}, 1)) + wave({2}, 2)));
  BOOST_TEST(layer.built());
  expect_near(copy(x), {4, 2}, values_of(y), 0);
  BOOST_TEST(layer.builds + copy.builds == 1);
  expect_names(layer.named_variables(), {"kernel", "bias"});
  BOOST_TEST(copy.variables()[0].handle().id() == layer.variables()[0].handle().id());
}

// A trace that needs the variables first does not have their making in it, and no tape hears of it.
BOOST_AUTO_TEST_CASE(built_inside_a_trace) {
  const Linear layer(2);
  const Function f = trace([&](const Tensor& x) { return layer(x); }, {TensorSpec(kFloat32, {-1, 3})});
  expect_near(f(wave({4, 3})), {4, 2}, values_of(layer(wave({4, 3}))), 0);
  layer.variables()[0].assign(zeros({3, 2}));
  expect_near(f(wave({4, 3})), {4, 2}, values_of(layer(wave({4, 3}))), 0);
  const Linear other(2);
  GradientTape tape;
  const Tensor loss = sum(square(other(wave({4, 3}))));
  BOOST_TEST(tape.gradient(loss, other.variables()).size() == 2U);
}

BOOST_AUTO_TEST_CASE(built_in_a_graph) {
  Graph graph;
  Operation init;
  {
    const GraphScope building(graph);
    const Linear layer(2);
    named("y", layer(placeholder(kFloat32, {-1, 3}, "x")));
    BOOST_TEST(trainable_variables().size() == 2U);
    BOOST_TEST(collected_tensors("regularization_losses").size() == 1U);
    init = global_variables_initializer();
  }
  Session session(graph);
  session.run(init);
  const Linear eager(2);
  expect_near(session.run("y", {{"x", wave({4, 3})}}), {4, 2}, values_of(eager(wave({4, 3}))));
}

BOOST_AUTO_TEST_CASE(a_build_that_fails_leaves_nothing) {
  struct Once : Layer {
    mutable int tries = 0;
    void build(const PartialShape& input) const override {
      add_variable("kernel", {input.dim(input.rank() - 1), 2}, {.regularizer = regularizers::l2(1)});
      if (++tries == 1) throw Error(Code::kUnavailable, "not now");
    }
    Tensor forward(const Tensor& x) const override { return matmul(x, variable("kernel")); }
  };
  const Once layer;
  expect_error_begins([&] { layer(ones({1, 3})); }, "Unavailable: not now");
  BOOST_TEST(layer.variables().empty());
  BOOST_TEST(layer.regularization_losses().empty());
  layer(ones({1, 3}));
  BOOST_TEST(layer.variables().size() == 1U);
}

BOOST_AUTO_TEST_CASE(first_calls_of_many_threads_build_once) {
  for (int round = 0; round < 20; ++round) {
    const Linear layer(2);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] { wrong += layer(wave({4, 3})).shape() == Shape({4, 2}) ? 0 : 1; });
    }
    for (std::thread& t : threads) t.join();
    BOOST_TEST(wrong == 0);
    BOOST_TEST(layer.builds == 1);
    BOOST_TEST(layer.variables().size() == 2U);
  }
}

BOOST_AUTO_TEST_CASE(inputs_that_do_not_fit) {
  struct Images : Layer {
    InputSpec input_spec() const override { return {.rank = 4}; }
    Tensor forward(const Tensor& x) const override { return x; }
    std::string to_string() const override { return "Images()"; }
  };
  struct Few : Layer {
    InputSpec input_spec() const override { return {.max_rank = 2}; }
    Tensor forward(const Tensor& x) const override { return x; }
    std::string to_string() const override { return "Few()"; }
  };
  expect_error_begins([] { Images()(ones({2, 2})); },
                      "InvalidArgument: Images(): expected an input of rank 4, got float32[2,2]");
  expect_error_begins([] { Few()(ones({2, 2, 2})); },
                      "InvalidArgument: Few(): expected an input of rank 2 at most, got float32[2,2,2]");
  const Linear layer(2);
  expect_error_begins([&] { layer(ones({3})); },
                      "InvalidArgument: Linear(): expected an input of rank 2 at least, got float32[3]");
  expect_error_begins([&] { layer(ones({2, 5})); },
                      "InvalidArgument: Linear(): expected an input of size 3 along axis -1, got float32[2,5]");
  expect_error_begins([&] { layer(ones({2, 3}, kFloat64)); },
                      "InvalidArgument: Linear(): expected an input of float32, got float64[2,3]");
  BOOST_TEST(layer.builds == 0);
}

BOOST_AUTO_TEST_CASE(frozen_layers) {
  const Sequential body(Dense(3, 4), BatchNorm(4));
  const Sequential model(body, Dense(4, 2));
  BOOST_TEST(model.variables().size() == 6U);
  body.set_trainable(false);
  BOOST_TEST(!body.trainable());
  BOOST_TEST(model.trainable());
  expect_names(model.named_parameters(), {"dense/kernel", "dense/bias"});
  BOOST_TEST(model.variables().size() == 2U);
  BOOST_TEST(model.state().size() == 6U);
  BOOST_TEST(body.variables().empty());
  // Running statistics stay, and are what images are normalised by.
  const Tensor x = wave({5, 3});
  const Tensor outside = model(x);
  {
    const TrainingScope training;
    expect_near(model(x), {5, 2}, values_of(outside));
  }
  // Parts of what is frozen are, too, and can be freed.
  model.set_trainable(false);
  BOOST_TEST(model.variables().empty());
  BOOST_TEST(model.state().size() == 8U);
  body.set_trainable(true);
  model.set_trainable(true);
  BOOST_TEST(model.variables().size() == 6U);
  for (const Layer* layer :
       {static_cast<const Layer*>(new Embedding(4, 2)), static_cast<const Layer*>(new SpectralNorm(Dense(2, 2))),
        static_cast<const Layer*>(new Dense(2, 2)), static_cast<const Layer*>(new Normalization(2))}) {
    const std::unique_ptr<const Layer> owner(layer);
    const size_t all = layer->variables().size() + layer->state().size();
    layer->set_trainable(false);
    BOOST_TEST(layer->variables().empty());
    BOOST_TEST(layer->state().size() == all, layer->to_string());
  }
}

// Keras: sum(model.losses) for Dense(4, kernel_regularizer=L2(0.5), bias_regularizer=L1(0.25),
// activity_regularizer=L2(0.125)): the activity's divided by the batch.
BOOST_AUTO_TEST_CASE(penalties) {
  const Dense dense(3, 4,
                    {.bias_initializer = waves(3),
                     .kernel_regularizer = regularizers::l2(0.5),
                     .bias_regularizer = regularizers::l1(0.25),
                     .activity_regularizer = regularizers::l2(0.125)});
  const Sequential model(dense, Dense(4, 1));
  const Tensor x = wave({5, 3});
  const CollectLosses heard;
  const Tensor y = dense(x);
  BOOST_REQUIRE_EQUAL(heard.losses().size(), 1U);
  expect_near(heard.total(), {}, {sum(square(y)).item<double>() * 0.125 / 5});
  const std::vector<Tensor> losses = model.regularization_losses();
  BOOST_REQUIRE_EQUAL(losses.size(), 2U);
  expect_near(losses[0], {}, {0.5 * sum(square(dense.kernel())).item<double>()});
  expect_near(losses[1], {}, {0.25 * sum(abs(dense.bias())).item<double>()});
  dense.set_trainable(false);
  BOOST_TEST(model.regularization_losses().empty());
  // Of other layers.
  const Regularizer one = regularizers::l2(1);
  const auto count = [](const Layer& layer) { return layer.regularization_losses().size(); };
  BOOST_TEST(count(Conv2D(1, 2, 3, {.kernel_regularizer = one, .bias_regularizer = one})) == 2U);
  BOOST_TEST(count(Conv2DTranspose(1, 2, 3, {.kernel_regularizer = one, .bias_regularizer = one})) == 2U);
  BOOST_TEST(count(DepthwiseConv2D(1, 3, {.depthwise_regularizer = one, .bias_regularizer = one})) == 2U);
  BOOST_TEST(count(SeparableConv1D(
                 1, 2, 3, {.depthwise_regularizer = one, .pointwise_regularizer = one, .bias_regularizer = one})) ==
             3U);
  BOOST_TEST(count(Embedding(4, 2, {.regularizer = one})) == 1U);
}

// By Keras's rule: embeddings transposed, scores squeezed by a tanh.
BOOST_AUTO_TEST_CASE(an_embedding_and_its_reverse) {
  const ReversibleEmbedding tied(5, 3), loose(5, 3, {.tie_weights = false, .logit_soft_cap = 0.5});
  BOOST_TEST(tied.variables().size() == 1U);
  BOOST_TEST(loose.variables().size() == 2U);
  const Tensor x = wave({2, 4, 3});
  const Tensor table = tied.table().value();
  expect_near(tied(tensor({3, 1})), {2, 3}, values_of(gather(table, tensor({3, 1}))));
  expect_near(tied.reverse(x), {2, 4, 5},
              values_of(reshape(matmul(reshape(x, {8, 3}), table, {.transpose_b = true}), {2, 4, 5})));
  const Tensor scores = matmul(x[0], loose.variables()[1]);
  expect_near(loose.reverse(x[0]), {4, 5}, values_of(tanh(scores / 0.5F) * 0.5F));
  expect_error_begins([&] { tied.reverse(ones({2, 2})); },
                      "InvalidArgument: ReversibleEmbedding: expected an input of shape [..., 3], got [2,2]");
}

BOOST_AUTO_TEST_CASE(constraints_of_layers) {
  const Dense dense(3, 4, {.kernel_initializer = waves(1), .kernel_constraint = constraints::non_neg()});
  const Tensor before = dense.kernel().value();
  Sequential(dense).apply_constraints();
  expect_near(dense.kernel().value(), {3, 4}, values_of(maximum(before, 0.0)));
}

// One step of Keras's fit by hand: gradients of loss and penalties, then the constraint. It also builds the model.
BOOST_AUTO_TEST_CASE(fit_builds_penalizes_and_constrains) {
  struct Own : Layer {
    void build(const PartialShape& input) const override {
      add_variable(
          "kernel", {input.dim(input.rank() - 1), 1},
          {.initializer = waves(1), .regularizer = regularizers::l2(0.5), .constraint = constraints::non_neg()});
    }
    Tensor forward(const Tensor& x) const override { return matmul(x, variable("kernel")); }
  };
  const Own model;
  const Tensor x = wave({4, 3}), y = wave({4, 1}, 7);
  fit(model, {x, y}, {.epochs = 1, .batch_size = 4, .loss = mean_squared_error, .optimizer = "sgd", .progress = false});
  const Tensor k = wave({3, 1}, 1);
  const Tensor gradient = matmul(transpose(x), matmul(x, k) - y) * (2.F / 4) + k;
  expect_near(model.variables()[0].value(), {3, 1}, values_of(maximum(k - gradient * 0.01F, 0.F)), 1e-6);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
