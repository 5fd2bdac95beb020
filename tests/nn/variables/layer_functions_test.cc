// Layers as functions: what tf.compat.v1.layers computes and calls its variables
// (tests/reference/training/layer_function_cases.py), in a graph and without; what is refused.
#include "panto/nn/variables/layer_functions.h"

#include "panto/autograd/tape.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/random/random.h"
#include "panto/lib/ops/reductions.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/tests/nn/training/training_reference.h"
#include "panto/trace/graph_gradients.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(layer_functions)

using Arrays = std::map<std::string, Tensor>;

const Arrays& reference() {
  static const auto* const arrays = new Arrays(reference_arrays("layer_functions.npz"));
  return *arrays;
}

void expect_same(const Tensor& found, const std::string& name) {
  const Tensor& expected = reference().at(name);
  BOOST_TEST_CONTEXT(name) {
    BOOST_TEST(found.shape() == expected.shape());
    BOOST_TEST(allclose(found, expected, 2e-5, 2e-5));
  }
}

struct Outputs {
  Tensor y, steps, volumes, larger, mixed;
};

Outputs network(const layers::Training& training) {
  const Arrays& in = reference();
  const Regularizer quarter = [](const Tensor& w) { return 0.25f * sum(square(w)); };
  Tensor y = layers::conv2d(in.at("x"), 4, 3, {.stride = 2, .padding = Padding::kSame, .activation = tanh});
  y = layers::batch_normalization(y, {.momentum = 0.75, .training = training});
  y = layers::separable_conv2d(y, 5, {2, 3}, {.padding = Padding::kSame, .depth_multiplier = 2});
  y = layers::average_pooling2d(y, 2, {.stride = 1});
  y = layers::max_pooling2d(y, 2, {.stride = 2, .padding = Padding::kSame});
  y = layers::flatten(y);
  y = layers::dense(y, 6, {.activation = softplus, .kernel_regularizer = quarter});
  y = layers::batch_normalization(y, {.momentum = 0.5, .training = training});
  y = layers::dropout(y, 0.5, {.training = false});
  y = layers::dense(y, 2, {.use_bias = false});
  Tensor steps = layers::conv1d(in.at("steps"), 3, 3, {.dilation = 2});
  steps = layers::average_pooling1d(layers::max_pooling1d(steps, 2, {.stride = 1}), 2, {.stride = 1});
  steps = layers::dense(steps, 2, {.name = "each_step"});
  Tensor volumes = layers::conv3d(in.at("volumes"), 2, {2, 1, 2}, {.stride = {1, 2, 1}, .name = "conv"});
  volumes = layers::conv3d_transpose(volumes, 2, {2, 2, 1}, {.stride = {1, 3, 1}, .padding = Padding::kSame});
  const Tensor larger = layers::conv2d_transpose(in.at("x"), 2, {3, 2}, {.stride = {2, 3}});
  const Tensor mixed = layers::separable_conv1d(
      in.at("steps"), 2, 3,
      {.stride = 2, .padding = Padding::kSame, .depth_multiplier = 2, .activity_regularizer = quarter});
  return {y, steps, volumes, larger, mixed};
}

std::vector<std::string> expected_names() {
  const auto names = reference().at("names").data<std::string>();
  return {names.begin(), names.end()};
}

BOOST_AUTO_TEST_CASE(as_tensorflow_in_a_graph) {
  Graph g;
  Tensor training, inference, penalties;
  Outputs made;
  std::vector<Variable> all, trained;
  std::vector<Tensor> gradients;
  std::vector<Operation> load;
  {
    const GraphScope in(g);
    training = placeholder(kBool, Shape(), "training");
    {
      const VariableScope scope("net", {.regularizer = regularizers::l2(0.125)});
      made = network(training);
    }
    {
      const VariableScope scope("net", {.reuse = Reuse::kYes});
      inference = network(false).y;
    }
    all = global_variables();
    trained = trainable_variables();
    std::vector<Tensor> losses = regularization_losses();
    penalties = losses[0];
    for (size_t i = 1; i < losses.size(); ++i) penalties = penalties + losses[i];
    const std::vector<GradSource> sources(trained.begin(), trained.end());
    gradients = panto::gradients(sum(square(made.y)) + penalties, sources);
    for (const Variable& v : all) load.push_back(v.assign(reference().at("value/" + v.name())));
  }
  std::vector<std::string> names;
  for (const Variable& v : all) names.push_back(v.name());
  BOOST_TEST(names == expected_names(), boost::test_tools::per_element());
  BOOST_TEST(trained.size() == all.size() - 4);
  for (const char* node :
       {"net/conv2d/Conv2D", "net/dense/MatMul", "net/dense/BiasAdd", "net/dense/Softplus", "net/flatten/Reshape"}) {
    BOOST_TEST(g.find(node) != nullptr, node);
  }

  Session s(g);
  for (const Operation& op : load) s.run(op);
  expect_same(s.run(made.y, {{training, true}}), "training");
  expect_same(s.run(made.steps), "steps_out");
  expect_same(s.run(made.volumes), "volumes_out");
  expect_same(s.run(made.larger), "larger");
  expect_same(s.run(made.mixed), "mixed");
  expect_same(s.run(penalties), "penalties");
  expect_same(s.run(inference), "inference");
  expect_same(s.run(made.y, {{training, false}}), "inference");
  for (size_t i = 0; i < trained.size(); ++i) {
    expect_same(s.run(gradients[i], {{training, true}}), "gradient/" + trained[i].name());
  }
  s.run(get_collection(g, "update_ops"), {{training, false}});  // nothing moves
  expect_same(s.run(inference), "inference");
  s.run(get_collection(g, "update_ops"), {{training, true}});
  for (const Variable& v : all) {
    if (v.name().find("moving") != std::string::npos) expect_same(s.run(v), "moved/" + v.name());
  }
}

BOOST_AUTO_TEST_CASE(as_tensorflow_without_a_graph) {
  const VariableStore store;
  const VariableStoreScope in(store);
  {
    const VariableScope scope("net", {.regularizer = regularizers::l2(0.125)});
    network(false);
  }
  BOOST_TEST(store.names() == expected_names(), boost::test_tools::per_element());
  const std::vector<Variable> all = store.variables();
  const auto load = [&] {
    for (size_t i = 0; i < all.size(); ++i) all[i].assign(reference().at("value/" + expected_names()[i]));
  };
  const auto again = [](const layers::Training& training) {
    const VariableScope scope("net", {.reuse = Reuse::kAuto});
    return network(training).y;
  };
  load();
  expect_same(again(false), "inference");
  expect_same(again(tensor(false)), "inference");
  expect_same(trace([&] { return again(false); })(), "inference");
  {
    GradientTape tape;
    const Tensor y = again(true);
    expect_same(y, "training");
    const std::vector<Variable> trained = store.trainable_variables("net/conv2d");
    const std::vector<Tensor> penalties = regularization_losses("net/conv2d");
    const std::vector<Tensor> found = tape.gradient(sum(square(y)) + penalties[0] + penalties[1], trained);
    expect_same(found[0], "gradient/net/conv2d/kernel");
    expect_same(found[1], "gradient/net/conv2d/bias");
  }
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string name = expected_names()[i];
    if (name.find("moving") != std::string::npos) expect_same(all[i].value(), "moved/" + name);
  }
  BOOST_TEST(store.variables().size() == all.size());
}

BOOST_AUTO_TEST_CASE(drops_in_training) {
  const VariableStore store;
  const VariableStoreScope in(store);
  set_seed(3);
  const Tensor x = ones({1000});
  const Tensor y = layers::dropout(x, 0.25, {.training = true});
  const Tensor zeros_of = mean(cast(y == 0.f, kFloat32));
  BOOST_TEST(zeros_of.item<double>() > 0.2);
  BOOST_TEST(zeros_of.item<double>() < 0.3);
  BOOST_TEST(all(logical_or(y == 0.f, abs(y - 4.f / 3) < 1e-6f)).item<bool>());
  BOOST_TEST(all(layers::dropout(x, 0.25) == x).item<bool>());
  BOOST_TEST(all(layers::dropout(x, 0.25, {.training = tensor(false)}) == x).item<bool>());
}

BOOST_AUTO_TEST_CASE(refuses) {
  const VariableStore store;
  const VariableStoreScope in(store);
  const Tensor x = ones({2, 3}), image = ones({1, 4, 4, 1});
  layers::dense(x, 2, {.name = "fc"});
  BOOST_TEST(error_text([&] {
               layers::dense(x, 2, {.name = "fc"});
             }).starts_with("AlreadyExists: variable 'fc/kernel': expected a name without a variable"));
  BOOST_TEST(error_text([&] { layers::dense(x, 2, {.name = "other", .reuse = Reuse::kYes}); }).starts_with("NotFound"));
  expect_error_begins([&] { layers::dense(x, 0); },
                      "InvalidArgument: dense: expected a positive number of outputs, got 0");
  expect_error_begins([&] { layers::dense(cast(x, kInt32), 1); },
                      "InvalidArgument: dense: expected a floating input, got int32");
  expect_error_begins([&] { layers::dense(ones({3}), 1); },
                      "InvalidArgument: dense: expected an input of rank 2 or more whose last dimension is known");
  BOOST_TEST(error_text([&] { layers::conv2d(x, 1, 2); }).starts_with("InvalidArgument: conv2d: expected"));
  expect_error_begins([&] { layers::conv2d(image, 1, 2, {.padding = Padding::kCausal}); },
                      "InvalidArgument: conv2d: expected padding kValid or kSame, got kCausal");
  expect_error_begins([&] { layers::conv2d(image, 1, 0); },
                      "InvalidArgument: conv2d: expected a positive window, got 0");
  expect_error_begins([&] { layers::separable_conv2d(image, 1, 2, {.depth_multiplier = 0}); },
                      "InvalidArgument: separable_conv2d: expected a positive number of outputs, got 0");
  expect_error_begins([&] { layers::batch_normalization(x, {.momentum = 2}); },
                      "InvalidArgument: batch_normalization: expected a momentum in [0, 1], got 2");
  expect_error_begins([&] { layers::dropout(x, 0.5, {.training = ones({1})}); },
                      "InvalidArgument: training: expected a bool scalar, got float32[1]");
  BOOST_TEST(error_text([&] { layers::dropout(x, 1); }).starts_with("InvalidArgument: dropout: expected"));
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
