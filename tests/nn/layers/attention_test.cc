// Attention against Keras, and what it leaves out.
#include "panto/nn/layers/attention.h"

#include "panto/autograd/gradcheck.h"
#include "panto/autograd/tape.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/random/random.h"
#include "panto/nn/training/loss.h"
#include "panto/nn/training/optimizer.h"
#include "panto/tests/expect.h"
#include "panto/tests/nn/layers/layers.h"
#include "panto/tests/nn/training/training_reference.h"

namespace panto {
namespace {

using Options = MultiHeadAttentionOptions;

// The layer with the variables of tests/reference/training/training_cases.py.
MultiHeadAttention layer(Options options, DType type = kFloat64) {
  options.dtype = type;
  MultiHeadAttention made(6, std::move(options));
  double start = 10;
  for (const Variable& v : made.variables()) v.assign(wave(Shape(v.shape()), start++, type));
  return made;
}

const Tensor& expected(const char* name) { return training_reference(std::string("attention/") + name); }
Tensor mask() { return tensor({{true, false, true, true}, {false, true, false, false}, {true, true, false, false}}); }

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(attention)

BOOST_AUTO_TEST_CASE(to_itself) {
  for (const DType type : {kFloat64, kFloat32}) {
    // Keras rounds 1 / sqrt(3) to float32.
    const double tolerance = type == kFloat64 ? 1e-6 : 1e-5;
    const Tensor x = wave({2, 3, 6}, 1, type);
    const auto compare = [&](const char* name, const Options& options) {
      expect_near(everywhere(layer(options, type), x, tolerance), {2, 3, 6}, values_of(expected(name)), tolerance, 1);
    };
    compare("itself", {.heads = 2});
    compare("itself", {.heads = 2, .key_dim = 3, .dropout = 0.5});
    compare("causal", {.heads = 2, .causal = true});
  }
}

BOOST_AUTO_TEST_CASE(to_another_sequence) {
  const Tensor query = wave({2, 3, 6}, 1, kFloat64), value = wave({2, 4, 5}, 2, kFloat64);
  const auto compare = [](const char* name, const Tensor& y) {
    expect_near(y, {2, 3, 6}, values_of(expected(name)), 1e-12, 1);
  };
  const Options options = {.heads = 2, .key_dim = 4, .value_features = 5};
  const MultiHeadAttention plain = layer(options);
  compare("other", plain(query, value));
  compare("other", plain(query, value, value));
  compare("masked", plain(query, value, {}, mask()));
  for (const Shape& same : {Shape{1, 3, 4}, Shape{1, 1, 3, 4}}) {
    compare("masked", plain(query, value, {}, reshape(mask(), same)));
  }
  Options causal = options, keys = options;
  causal.causal = true;
  compare("masked_causal", layer(causal)(query, value, {}, mask()));
  keys.use_bias = false;
  compare("keys", layer(keys)(query, value, wave({2, 4, 5}, 3, kFloat64)));

  // Traced, with nothing known but the features.
  const Function traced = trace([&](const Tensor& q, const Tensor& v) { return plain(q, v, {}, mask()); },
                                {TensorSpec(kFloat64, {-1, -1, 6}), TensorSpec(kFloat64, {-1, -1, 5})});
  compare("masked", traced(query, value));
}

BOOST_AUTO_TEST_CASE(steps_of_unknown_number) {
  const MultiHeadAttention causal = layer({.heads = 2, .causal = true});
  const Function traced = trace([&](const Tensor& x) { return causal(x); }, {TensorSpec(kFloat64, {-1, -1, 6})});
  const Tensor x = wave({2, 3, 6}, 1, kFloat64);
  const Tensor y = traced(x);
  expect_near(y, {2, 3, 6}, values_of(expected("causal")), 1e-6, 1);
  // What comes later changes nothing.
  const Tensor first = x(Slice(), Slice(0, 2));
  expect_near(traced(first), {2, 2, 6}, values_of(y(Slice(), Slice(0, 2))), 1e-12);
  expect_near(causal(wave({0, 3, 6}, 1, kFloat64)), {0, 3, 6}, {});
}

BOOST_AUTO_TEST_CASE(steps_that_may_attend_to_nothing_get_the_mean) {
  const MultiHeadAttention made = layer({.heads = 2});
  const Tensor x = wave({1, 3, 6}, 1, kFloat64);
  const Tensor none = made(x, x, {}, tensor({{false, false, false}}));
  const Tensor mean_value = mean(made.value()(x), {1}, {.keep_dims = true});
  const std::vector<double> row = values_of(made.output()(mean_value));
  std::vector<double> all;
  for (int i = 0; i < 3; ++i) all.insert(all.end(), row.begin(), row.end());
  expect_near(none, {1, 3, 6}, all, 1e-12);
}

BOOST_AUTO_TEST_CASE(gradients) {
  const MultiHeadAttention made = layer({.heads = 2, .causal = true, .value_features = 4});
  const auto f = [&](std::span<const Tensor> in) { return made(in[0], in[1], in[2], in[3]); };
  const Tensor inputs[] = {wave({2, 3, 6}, 1, kFloat64), wave({2, 3, 4}, 2, kFloat64), wave({2, 3, 4}, 3, kFloat64),
                           tensor({{true, false, true}, {true, true, false}, {false, true, true}})};
  const GradcheckResult result = gradcheck(f, inputs);
  BOOST_TEST(result.ok, result.report);
  GradientTape tape;
  const std::vector<Tensor> grads = tape.gradient(sum(square(made(inputs[0], inputs[1]))), made.variables());
  BOOST_TEST(grads.size() == 8U);
  for (const Tensor& g : grads) BOOST_TEST(g.defined());
}

BOOST_AUTO_TEST_CASE(variables_and_text) {
  const MultiHeadAttention made(8, {.heads = 2, .name = "first"});
  BOOST_TEST(made.variables().size() == 8U);
  BOOST_TEST(made.variables()[0].name() == "first/query/kernel");
  BOOST_TEST(made.variables()[7].name() == "first/output/bias");
  BOOST_TEST(made.to_string() == "MultiHeadAttention(8, 2 heads of 4)");
  BOOST_TEST(MultiHeadAttention(8, {.use_bias = false}).variables().size() == 4U);
}

// In training only, and then every time anew.
BOOST_AUTO_TEST_CASE(dropout) {
  const MultiHeadAttention made = layer({.heads = 2, .dropout = 0.5});
  const Tensor x = wave({2, 3, 6}, 1, kFloat64);
  const TrainingScope training;
  BOOST_TEST(values_of(made(x)) != values_of(made(x)));
}

// The first element of a sequence at every step: what attention can do and no layer of single steps.
BOOST_AUTO_TEST_CASE(learns_to_look_back) {
  set_seed(3);
  const MultiHeadAttention attend(4, {.heads = 2, .causal = true});
  const Dense read(4, 1);
  std::vector<Variable> all = attend.variables();
  for (const Variable& v : read.variables()) all.push_back(v);
  Adam adam(all, {.learning_rate = 0.02});
  const Tensor where_first = one_hot(tensor({0, 1, 1}), 4, 2.0F, 0.0F);
  const Function step = trace(
      [&](const Tensor& x) {
        GradientTape tape;
        const Tensor in = expand_dims(x, 2) * tensor({{1.F, 0.F, 0.F, 0.F}}) + where_first;
        const Tensor target = x(Slice(), Slice(0, 1)) + zeros({16, 3});
        const Tensor loss = mean_squared_error(read(attend(in)), expand_dims(target, 2));
        adam.apply(tape.gradient(loss, adam.variables()));
        return loss;
      },
      {TensorSpec(kFloat32, {16, 3})});
  double loss = 0;
  for (int i = 0; i < 400; ++i) loss = step(random_normal({16, 3}, {.seed = i + 1})).item<double>();
  BOOST_TEST(loss < 0.1);
}

BOOST_AUTO_TEST_CASE(misuse) {
  const auto expect_invalid = [](const auto& f, const std::string& text) {
    expect_error_begins(f, "InvalidArgument: MultiHeadAttention: expected " + text);
  };
  expect_invalid([] { MultiHeadAttention(0); }, "positive features, got 0");
  expect_invalid([] { MultiHeadAttention(8, {.heads = 0}); }, "positive heads, got 0");
  expect_invalid([] { MultiHeadAttention(8, {.heads = 3}); }, "a key_dim, or heads that divide 8 features, got 3");
  expect_invalid([] { MultiHeadAttention(8, {.key_dim = -1}); }, "positive key_dim, got -1");
  const MultiHeadAttention made = layer({.heads = 2, .value_features = 4});
  const Tensor query = wave({2, 3, 6}), value = wave({2, 5, 4});
  expect_invalid([&] { made(query); }, "values of shape [batch, steps, 4], got [2,3,6]");
  expect_invalid([&] { made(value, value); }, "queries of shape [batch, steps, 6], got [2,5,4]");
  expect_invalid([&] { made(query, value, wave({2, 6, 4})); }, "keys of the values' shape [2,5,4], got [2,6,4]");
  const Tensor q = cast(query, kFloat64), v = cast(value, kFloat64);
  expect_invalid([&] { made(q, v, {}, wave({3, 5})); }, "a mask of bool[batch, steps, length], got float32[3,5]");
  const Tensor of_three = ones({3, 3, 5}, kBool);
  expect_error_begins([&] { made(q, v, {}, of_three); },
                      "InvalidArgument: shapes: expected ones that broadcast, got [3,1,3,5] and [2,2,3,5]");
  const Slice one(0, 1);
  expect_invalid([&] { made(q(one), v(one), {}, of_three); }, "a mask that broadcasts to [1,2,3,5], got [3,3,5]");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
