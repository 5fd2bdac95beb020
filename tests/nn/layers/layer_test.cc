// Layers, and the losses behind them.
#include "panto/nn/layers/layer.h"

#include <cmath>

#include "panto/autograd/tape.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/products.h"
#include "panto/nn/training/loss.h"
#include "panto/tests/expect.h"
#include "panto/tests/near.h"

namespace panto {
namespace {

Initializer values(const Tensor& t) {
  return [t](const Shape&, DType) { return t; };
}

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(layers)

BOOST_AUTO_TEST_CASE(dense_is_a_product_and_a_bias) {
  const Dense layer(2, 3, {.kernel_initializer = values(tensor({{1.F, 2.F, 3.F}, {4.F, 5.F, 6.F}}))});
  layer.bias().assign(tensor({0.5F, 0.F, -0.5F}));
  expect_near(layer(tensor({{1.F, 0.F}, {1.F, -1.F}})), {2, 3}, {1.5, 2, 2.5, -2.5, -3, -3.5});
  // The last dimension is the one that is multiplied.
  expect_near(layer(tensor({{{1.F, 0.F}}, {{1.F, -1.F}}})), {2, 1, 3}, {1.5, 2, 2.5, -2.5, -3, -3.5});
  expect_near(layer(tensor(std::vector<float>{}, Shape{0, 2})), {0, 3}, {});
}

struct Doubled : Layer {
  Tensor forward(const Tensor& x) const override { return matmul(x, tensor({{2.F}})); }
};

BOOST_AUTO_TEST_CASE(a_layer_that_does_not_say_what_it_is_has_its_class_name) {
  BOOST_TEST(Doubled().to_string() == "Doubled()");
  BOOST_TEST(Sequential(Doubled()).to_string().starts_with("Doubled() "));
  BOOST_TEST(error_text([] { Doubled()(tensor({{1.F, 2.F}})); }).ends_with("[in Doubled()]"));
}

BOOST_AUTO_TEST_CASE(dense_options) {
  const Tensor kernel = tensor({{1.0}, {-1.0}});
  const Dense layer(2, 1,
                    {.activation = relu, .use_bias = false, .kernel_initializer = values(kernel), .dtype = kFloat64});
  BOOST_TEST(!layer.bias().defined());
  BOOST_TEST(layer.variables().size() == 1U);
  expect_near(layer(tensor({{1.0, 2.0}, {2.0, 1.0}})), {2, 1}, {0, 1});
  const Dense other(4, 5, {.name = "projection"});
  BOOST_TEST(other.kernel().name() == "projection/kernel");
  BOOST_TEST(other.bias().name() == "projection/bias");
  BOOST_TEST(other.kernel().shape().to_string() == "[4,5]");
  BOOST_TEST(dtype_name(other.kernel().dtype()) == "float32");
  expect_near(other.bias().value(), {5}, {0, 0, 0, 0, 0});
}

BOOST_AUTO_TEST_CASE(copies_share_variables) {
  const Dense layer(2, 2);
  const Dense copy = layer;  // NOLINT(performance-unnecessary-copy-initialization): the point
  layer.kernel().assign(tensor({{1.F, 0.F}, {0.F, 1.F}}));
  expect_near(copy(tensor({{3.F, 4.F}})), {1, 2}, {3, 4});
}

BOOST_AUTO_TEST_CASE(dense_misuse) {
  expect_error_begins([] { Dense(0, 3); }, "InvalidArgument: Dense: expected positive sizes, got 0 and 3");
  expect_error_begins([] { Dense(3, -1); }, "InvalidArgument: Dense: expected positive sizes, got 3 and -1");
  const Dense layer(2, 3);
  expect_error_begins([&] { layer(tensor({{1.F, 2.F, 3.F}})); },
                      "InvalidArgument: Dense: expected an input of shape [..., 2], got [1,3]");
  expect_error_begins([&] { layer(tensor({1.F, 2.F})); },
                      "InvalidArgument: Dense: expected an input of shape [..., 2], got [2]");
  expect_error_begins([&] { layer(tensor(1.F)); },
                      "InvalidArgument: Dense: expected an input of shape [..., 2], got []");
}

BOOST_AUTO_TEST_CASE(flatten) {
  const auto flat = [](const Shape& shape) {
    return Flatten()(tensor(std::vector<float>(static_cast<size_t>(shape.numel())), shape)).shape().to_string();
  };
  BOOST_TEST(flat({2, 3, 4}) == "[2,12]");
  BOOST_TEST(flat({5}) == "[5,1]");
  BOOST_TEST(flat({5, 2}) == "[5,2]");
  BOOST_TEST(flat({0, 3, 2}) == "[0,6]");
  BOOST_TEST(flat({2, 0, 7}) == "[2,0]");
  expect_error_begins([] { Flatten()(tensor(1.F)); },
                      "InvalidArgument: Flatten: expected an input of known rank of at least 1, got []");
}

BOOST_AUTO_TEST_CASE(flatten_of_what_is_partly_known) {
  const auto flat = [](const PartialShape& shape) {
    return Flatten()(meta_tensor(kFloat32, shape)).partial_shape().to_string();
  };
  BOOST_TEST(flat({-1, 28, 28}) == "[?,784]");
  BOOST_TEST(flat({2, -1, 3}) == "[2,?]");
  expect_error_begins(
      [&] { flat({-1, 28, -1}); },
      "InvalidArgument: Flatten: expected either the batch or the other dimensions to be known, got [?,28,?]");
  expect_error_begins([&] { flat(PartialShape::unknown()); },
                      "InvalidArgument: Flatten: expected an input of known rank of at least 1, got ?");
}

BOOST_AUTO_TEST_CASE(sequential) {
  const Dense first(4, 3, {.activation = tanh}), second(3, 2);
  const Sequential model(Flatten(), first, second);
  const Tensor x = tensor({{{0.5F, -1.F}, {2.F, 0.25F}}});
  const Tensor expected = matmul(tanh(matmul(reshape(x, {1, 4}), first.kernel())), second.kernel());
  expect_near(model(x), {1, 2}, values_of(expected));
  const auto variables = model.variables();
  BOOST_REQUIRE_EQUAL(variables.size(), 4U);
  BOOST_TEST(variables[0].name() == first.kernel().name());
  BOOST_TEST(variables[3].name() == second.bias().name());
  BOOST_TEST(model.to_string() ==
             "Flatten()                        0 parameters\n"
             "Dense(4, 3)                     15 parameters\n"
             "Dense(3, 2)                      8 parameters\n");
  const Sequential none;
  BOOST_TEST(none(x).id() == x.id());
  BOOST_TEST(none.variables().empty());
}

BOOST_AUTO_TEST_CASE(gradients_reach_all_variables) {
  const Sequential model(Dense(3, 4, {.activation = sigmoid}), Dense(4, 2));
  GradientTape tape;
  const Tensor y = model(tensor({{1.F, 2.F, 3.F}}));
  const auto variables = model.variables();
  const auto grads = tape.gradient(sum(square(y)), variables);
  BOOST_REQUIRE_EQUAL(grads.size(), 4U);
  for (size_t i = 0; i < grads.size(); ++i) {
    BOOST_REQUIRE(grads[i].defined());
    BOOST_TEST(grads[i].shape().to_string() == variables[i].shape().to_string());
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(losses)

BOOST_AUTO_TEST_CASE(cross_entropy) {
  const Tensor logits = tensor({{1.0, 2.0, 3.0}, {0.0, 0.0, 1000.0}});
  const double first = std::log(std::exp(-2.) + std::exp(-1.) + 1) + 2;  // label 0
  for (const Tensor& labels : {tensor({0, 2}), tensor({int64_t{0}, int64_t{2}})}) {
    expect_near(sparse_cross_entropy(logits, labels), first / 2);
  }
  GradientTape tape;
  tape.watch(logits);
  const Tensor loss = sparse_cross_entropy(logits, tensor({0, 0}));
  expect_near(loss, (first + 1000) / 2);
  // (softmax - one_hot) / batch.
  const double z = std::exp(1.) + std::exp(2.) + std::exp(3.);
  expect_near(tape.gradient(loss, logits), {2, 3},
              {(std::exp(1.) / z - 1) / 2, std::exp(2.) / z / 2, std::exp(3.) / z / 2, -0.5, 0, 0.5});
}

BOOST_AUTO_TEST_CASE(labels_out_of_range) {
  const Tensor logits = tensor({{1.F, 2.F}});
  for (int label : {-1, 2}) {
    const std::string text = error_text([&] { sparse_cross_entropy(logits, tensor({label})); });
    BOOST_TEST(text.find(" got " + std::to_string(label)) != std::string::npos, text);
  }
  BOOST_CHECK_THROW(sparse_cross_entropy(logits, tensor({0, 1})), Error);
}

BOOST_AUTO_TEST_CASE(accuracy_is_the_share_of_hits) {
  const Tensor logits = tensor({{1.F, 2.F, 0.F}, {3.F, 2.F, 1.F}, {0.F, 0.F, 5.F}, {9.F, 1.F, 1.F}});
  for (const Tensor& labels : {tensor({1, 0, 2, 2}), tensor({int64_t{1}, int64_t{0}, int64_t{2}, int64_t{2}})}) {
    const Tensor a = accuracy(logits, labels);
    BOOST_TEST(dtype_name(a.dtype()) == "float32");
    expect_near(a, 0.75);
  }
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
