// Models as graphs of layers.
#include "panto/nn/layers/functional_model.h"

#include "panto/autograd/tape.h"
#include "panto/lib/ops/arrays.h"
#include "panto/nn/layers/convolution.h"
#include "panto/nn/layers/core/activation_layers.h"
#include "panto/nn/layers/core/merge.h"
#include "panto/nn/layers/normalization.h"
#include "panto/nn/training/loop/fit.h"
#include "panto/nn/training/loss.h"
#include "panto/tests/expect.h"
#include "panto/tests/nn/layers/layers.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(functional_models)

BOOST_AUTO_TEST_CASE(of_one_input) {
  const Dense a(4, 4, {.activation = "tanh"}), b(4, 2);
  const ModelInput x({4});
  BOOST_TEST(x.shape().to_string() == "[?,4]");
  const LayerNode h = x | a;
  BOOST_TEST(h.shape().to_string() == "[?,4]");
  const FunctionalModel model(x, (x + h) * h | b);
  const Tensor t = wave({3, 4});
  const Tensor inner = a(t);
  expect_near(everywhere(model, t), {3, 2}, values_of(b((t + inner) * inner)));
  BOOST_TEST(model.variables().size() == 4U);
  BOOST_TEST(model.summary({-1, 4}).find(
                 "│ Dense(4, 2)                     │ (None, 2)              │            10 │") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(of_several) {
  const Conv2D conv(1, 2, 3, {.activation = relu});
  const Dense dense(3, 5), head(77, 2);
  const ModelInput image({8, 8, 1}), table({3}, kFloat32);
  const LayerNode seen = image | conv | Flatten(), known = table | dense;
  const LayerNode joined = concatenate({seen, known}, -1);
  BOOST_TEST(joined.shape().to_string() == "[?,77]");
  const FunctionalModel model({image, table}, {joined | head, known});
  const Tensor pictures = wave({2, 8, 8, 1}), rows = wave({2, 3}, 5);
  const std::vector<Tensor> got = model.run({pictures, rows});
  BOOST_REQUIRE_EQUAL(got.size(), 2U);
  expect_near(got[1], {2, 5}, values_of(dense(rows)));
  expect_near(got[0], {2, 2}, values_of(head(concatenate({Flatten()(conv(pictures)), dense(rows)}, -1))));
  BOOST_TEST(model.variables().size() == 6U);
  expect_error_begins([&] { model(pictures); }, "InvalidArgument: FunctionalModel: expected `model.run({...})` for 2");
  expect_error_begins([&] { model.run({pictures}); }, "InvalidArgument: FunctionalModel: expected 2 inputs, got 1");
  expect_error_begins([&] { model.run({rows, rows}); },
                      "InvalidArgument: FunctionalModel: expected input 0 to be float32[?,8,8,1], got float32[2,3]");
}

BOOST_AUTO_TEST_CASE(a_layer_that_is_used_twice) {
  const Dense shared(3, 2);
  const ModelInput a({3}), b({3});
  const FunctionalModel model({a, b}, {multiply({a | shared, b | shared}), maximum({a | shared, b | shared})});
  BOOST_TEST(model.variables().size() == 2U);
  const Tensor x = wave({2, 3}), y = wave({2, 3}, 4);
  expect_near(model.run({x, y})[0], {2, 2}, values_of(shared(x) * shared(y)));
  expect_near(model.run({x, y})[1], {2, 2}, values_of(maximum(shared(x), shared(y))));
  GradientTape tape;
  const Tensor loss = sum(model.run({x, y})[0]);
  BOOST_TEST(tape.gradient(loss, {shared.kernel()})[0].shape() == Shape({3, 2}));
}

BOOST_AUTO_TEST_CASE(functions_of_nodes) {
  const ModelInput a({2}), b({2});
  const FunctionalModel model(
      {a, b}, {add({a, b}), average({a, b}), minimum({a, b}), a - b,
               merge({a, b}, [](std::span<const Tensor> t) { return matmul(t[0], t[1], {.transpose_b = true}); })});
  const Tensor x = wave({3, 2}), y = wave({3, 2}, 4);
  const std::vector<Tensor> got = model.run({x, y});
  expect_near(got[0], {3, 2}, values_of(x + y));
  expect_near(got[1], {3, 2}, values_of((x + y) / 2));
  expect_near(got[2], {3, 2}, values_of(minimum(x, y)));
  expect_near(got[3], {3, 2}, values_of(x - y));
  expect_near(got[4], {3, 3}, values_of(matmul(x, y, {.transpose_b = true})));
}

BOOST_AUTO_TEST_CASE(misuse) {
  const ModelInput a({2}), b({2});
  expect_error_begins([&] { a | Dense(3, 2); },
                      "InvalidArgument: Dense: expected an input of shape [..., 3], got [?,2]");
  expect_error_begins([&] { FunctionalModel(a, a + b); },
                      "InvalidArgument: FunctionalModel: expected all inputs that the outputs need, got none for a "
                      "ModelInput of float32[?,2]");
  expect_error_begins([&] { FunctionalModel({}, {a}); },
                      "InvalidArgument: FunctionalModel: expected inputs and outputs");
}

BOOST_AUTO_TEST_CASE(trained) {
  const ModelInput x({4});
  const LayerNode h = x | Dense(4, 8, {.activation = "tanh"}) | BatchNorm(8);
  const FunctionalModel model(x, concatenate({h, x}, -1) | Dense(12, 1));
  const Tensor data = wave({64, 4}), target = sum(data, 1, true);
  const History history =
      fit(model, {data, target},
          {.epochs = 30, .batch_size = 16, .loss = mean_squared_error, .optimizer = "adam", .progress = false});
  BOOST_TEST(history.not_traced.empty(), history.not_traced);
  BOOST_TEST(history["loss"].back() < history["loss"].front());
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
