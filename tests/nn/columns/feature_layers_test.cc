// Feature columns together: layers and functions, eagerly, traced, in graphs, trained.
#include "panto/nn/columns/feature_layers.h"

#include "panto/autograd/tape.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/reductions.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/columns/columns.h"
#include "panto/nn/training/loss.h"
#include "panto/nn/training/optimizer.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"
#include "panto/tests/nn/columns/examples.h"
#include "panto/trace/graph_scope.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(feature_layers)

const std::vector<double> kAll = {17, 0, 0, 1, 2, 3, 30, 0, 0, 0, 0, 0, 65, 1, 0, 0, -3, -2};

std::vector<DenseColumnPtr> all_columns(const ExampleColumns& c) {
  return {embedding_column(c.words, 2, {.initializer = counted}), c.age, indicator_column(c.cities)};
}

// Variable k is k elements of 0.5 each further on from -1, as in the reference.
void count_up(const std::vector<Variable>& variables) {
  for (const Variable& v : variables) {
    const Shape shape(v.shape());
    v.assign(reshape(cast(range(0, shape.numel(), 1), kFloat32), shape) * 0.5f - 1.f);
  }
}

BOOST_AUTO_TEST_CASE(as_layers) {
  const ExampleColumns c;
  const DenseFeatures layer(all_columns(c));
  BOOST_TEST(layer.size() == 6);
  BOOST_REQUIRE_EQUAL(layer.variables().size(), 1U);
  BOOST_TEST(layer.variables()[0].name().starts_with("dense_features"));
  BOOST_TEST(layer.variables()[0].name().find("/words_embedding/embedding_weights") != std::string::npos);
  expect_near(layer(examples()), {3, 6}, kAll);
  GradientTape tape;
  const Tensor loss = sum(layer(examples()));
  expect_near(tape.gradient(loss, layer.variables())[0], {7, 2}, {1.5, 1.5, 0, 0, 0, 0, 0, 0, 0, 0, 0.5, 0.5, 0, 0});
  const DenseFeatures frozen({embedding_column(c.words, 2, {.trainable = false})});
  BOOST_TEST(frozen.variables().empty());
  BOOST_TEST(frozen.state().size() == 1U);
  expect_error_begins(
      [&] { layer({{"age", tensor({1.f})}, {"city", tensor({"Rome", "Oslo"})}, {"words", examples().at("words")}}); },
      "InvalidArgument: batch: expected 1 examples, as column 'age' has, got 2 of 'city_indicator'");
}

BOOST_AUTO_TEST_CASE(linear) {
  const ExampleColumns c;
  const std::vector<double> two = {-7.5, 4.75, -30, -14, -69, -33}, one = {-0.75, -1.5, -2};
  const std::vector<FeatureColumnPtr> columns = {c.age, c.words, c.weighted, c.ages, c.cities};
  const LinearFeatures layer(columns, {.units = 2});
  BOOST_TEST(layer.variables().size() == 6U);
  expect_near(layer(examples()), {3, 2}, {0, 0, 0, 0, 0, 0});
  count_up(layer.variables());
  expect_near(layer(examples()), {3, 2}, two);
  const LinearFeatures mean({c.ids, c.words}, {.sparse_combiner = Combiner::kMean});
  count_up(mean.variables());
  expect_near(mean(examples()), {3, 1}, one);
  expect_error_begins([&] { LinearFeatures({c.age}, {.units = 0}); }, "InvalidArgument: units: expected at least 1");
}

BOOST_AUTO_TEST_CASE(in_a_graph) {
  const ExampleColumns c;
  Graph g;
  Operation init;
  Tensor x, again, y;
  std::map<std::string, std::vector<Variable>> used;
  {
    const GraphScope in(g);
    const SparseTensor words{placeholder(kInt64, {-1, 2}, "indices"), placeholder(kString, {-1}, "values"),
                             placeholder(kInt64, {2}, "shape")};
    const Features features = {
        {"age", placeholder(kFloat32, {-1}, "age")}, {"city", placeholder(kString, {-1}, "city")}, {"words", words}};
    x = input_layer(features, all_columns(c));
    again = input_layer(features, {embedding_column(c.words, 2, {.initializer = constant_initializer(1)})});
    const VariableScope scope("lin");
    y = linear_model(features, {c.age, c.words, c.cities}, {.cols_to_vars = &used});
    init = global_variables_initializer();
  }
  std::vector<std::string> names;
  for (const GraphVariable& v : g.variables()) names.push_back(v.name);
  BOOST_TEST(names == (std::vector<std::string>{"input_layer/words_embedding/embedding_weights",
                                                "input_layer_1/words_embedding/embedding_weights",
                                                "lin/linear_model/age/weights", "lin/linear_model/city/weights",
                                                "lin/linear_model/words/weights", "lin/linear_model/bias_weights"}));
  BOOST_TEST(used.size() == 4U);
  BOOST_TEST(used.at("words")[0].name() == "lin/linear_model/words/weights");
  BOOST_TEST(get_collection(g, "model_variables").size() == 6U);
  Session s(g);
  s.run(init);
  const Features e = examples();
  const SparseTensor& w = e.at("words").sparse();
  const auto run = [&](const Tensor& fetch) {
    return s.run(fetch, {{"age", e.at("age").dense()},
                         {"city", e.at("city").dense()},
                         {"indices", w.indices},
                         {"values", w.values},
                         {"shape", w.dense_shape}});
  };
  expect_near(run(x), {3, 6}, kAll);
  expect_near(run(again), {3, 2}, {1, 1, 0, 0, 1, 1});
  expect_near(run(y), {3, 1}, {0, 0, 0});
}

BOOST_AUTO_TEST_CASE(by_scope) {
  const VariableStore store;
  const VariableStoreScope in(store);
  const ExampleColumns c;
  const auto x = [&] { return input_layer(examples(), all_columns(c), {.scope = "mine"}); };
  expect_near(x(), {3, 6}, kAll);
  expect_near(x(), {3, 6}, kAll);
  BOOST_TEST(store.names() == std::vector<std::string>{"mine/words_embedding/embedding_weights"});
  expect_error_begins([&] { input_layer(examples(), all_columns(c)); },
                      "FailedPrecondition: input_layer: expected to be called in a GraphScope, or with the name of a "
                      "scope");
  // A large table may be in parts.
  const VariableScope parts("parts", {.partitioner = fixed_size_partitioner(3)});
  expect_near(x(), {3, 6}, kAll);
  BOOST_TEST(store.names().size() == 4U);
}

BOOST_AUTO_TEST_CASE(traced_and_trained) {
  const ExampleColumns c;
  const DenseFeatures deep(all_columns(c));
  const LinearFeatures wide({c.words, c.where_and_when, c.ages});
  std::vector<Variable> variables = deep.variables();
  for (const Variable& v : wide.variables()) variables.push_back(v);
  Adam adam(variables, {.learning_rate = 0.1});
  const Features e = examples();
  const SparseTensor& w = e.at("words").sparse();
  const Function step = trace([&](const Tensor& age, const Tensor& city, const Tensor& month, const Tensor& indices,
                                  const Tensor& values, const Tensor& labels) {
    const Features features = {
        {"age", age}, {"city", city}, {"month", month}, {"words", SparseTensor{indices, values, w.dense_shape}}};
    GradientTape tape;
    const Tensor logits = sum(deep(features)(Slice(), Slice(4, 6)), {1}, {.keep_dims = true}) + wide(features);
    const Tensor loss = binary_cross_entropy(logits, labels, {.from_logits = true});
    adam.apply(tape.gradient(loss, adam.variables()));
    return loss;
  });
  const Tensor labels = tensor({{1.f}, {0.f}, {1.f}});
  float first = 0, last = 0;
  for (int i = 0; i < 60; ++i) {
    last = step(e.at("age").dense(), e.at("city").dense(), e.at("month").dense(), w.indices, w.values, labels)
               .item<float>();
    if (i == 0) first = last;
  }
  BOOST_TEST(first > 1);
  BOOST_TEST(last < 0.05);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
