// Normalisations, activations, merging and reshaping layers against Keras; noise; what they refuse.
#include <cmath>

#include "panto/lib/ops/random/random.h"
#include "panto/nn/layers/convolution.h"
#include "panto/nn/layers/core/activation_layers.h"
#include "panto/nn/layers/core/dropout.h"
#include "panto/nn/layers/core/einsum_dense.h"
#include "panto/nn/layers/core/losses.h"
#include "panto/nn/layers/core/masking.h"
#include "panto/nn/layers/core/merge.h"
#include "panto/nn/layers/core/reshaping.h"
#include "panto/nn/layers/normalization.h"
#include "panto/nn/layers/preprocessing/preprocessing.h"
#include "panto/tests/expect.h"
#include "panto/tests/nn/layers/keras.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(keras_core)

BOOST_AUTO_TEST_CASE(norms) {
  for (const DType t : {kFloat32, kFloat64}) {
    expect_as_keras("group_norm", GroupNorm(6, {.groups = 3, .dtype = t}), {2, 2, 3, 6}, t);
    expect_as_keras("instance_norm", GroupNorm(2, {.groups = -1, .epsilon = 0.25, .dtype = t}), {2, 3, 2}, t);
    expect_as_keras("rms_norm", RMSNorm(4, {.epsilon = std::ldexp(1, -10), .dtype = t}), {2, 3, 4}, t);
    expect_as_keras("unit_normalization", UnitNormalization(), {2, 3, 4}, t);
    expect_as_keras("unit_normalization_axes", UnitNormalization({.axis = {1, 2}}), {2, 3, 2}, t);
  }
  // In 16 bits squares would leave the range.
  const RMSNorm half(4, {.dtype = kFloat16});
  const Tensor large = cast(wave({2, 4}) * 60000.F, kFloat16);
  expect_near(half(large), {2, 4}, values_of(RMSNorm(4)(cast(large, kFloat32))), 2e-3, 1);
  BOOST_TEST(dtype_name(half(large).dtype()) == "float16");
  BOOST_TEST(GroupNorm(6, {.groups = 2}).to_string() == "GroupNorm(6, 2 groups)");
  BOOST_TEST(GroupNorm(6, {.groups = 2, .scale = false, .center = false}).variables().empty());
}

BOOST_AUTO_TEST_CASE(batch_norm_of_other_types) {
  const auto make = [](DType type) {
    BatchNorm layer(2, {.momentum = 0.75, .dtype = type});
    layer.scale().assign(cast(tensor({1.5F, -0.5F}), type));
    layer.offset().assign(cast(tensor({0.25F, 0.75F}), type));
    return layer;
  };
  const BatchNorm narrow = make(kFloat32), wide = make(kFloat64);
  const Tensor x = wave({4, 3, 2}) * 2.F + 1.F;
  {
    const TrainingScope training;
    const Tensor y = narrow(x);
    expect_near(wide(cast(x, kFloat64)), {4, 3, 2}, values_of(y), 1e-5, 1);
    expect_near(narrow(cast(x, kBFloat16)), {4, 3, 2}, values_of(y), 5e-2, 1);
  }
  const BatchNorm once = make(kFloat32);
  {
    const TrainingScope training;
    once(x);
  }
  expect_near(wide.running_mean().value(), {2}, values_of(once.running_mean().value()), 1e-5);
  expect_near(wide.running_variance().value(), {2}, values_of(once.running_variance().value()), 1e-5);
  expect_near(everywhere(wide, cast(x, kFloat64)), {4, 3, 2}, values_of(once(x)), 1e-5, 1);
  const BatchNorm bare(2, {.scale = false, .center = false});
  BOOST_TEST(bare.variables().empty());
  BOOST_TEST(bare.state().size() == 2U);
  expect_near(bare(x), {4, 3, 2}, values_of(x * (1 / std::sqrt(1.001F))), 1e-5);
  expect_error_begins([] { BatchNorm(2, {.dtype = kFloat16}); },
                      "InvalidArgument: BatchNorm: expected variables of float32 or float64, got float16");
}

BOOST_AUTO_TEST_CASE(spectral_norm) {
  const auto make = [] {
    SpectralNorm layer(Dense(4, 3, {.dtype = kFloat64}), {.power_iterations = 2});
    layer.variables()[0].assign(wave({4, 3}, 10, kFloat64));
    layer.variables()[1].assign(wave({3}, 11, kFloat64));
    layer.vector_u().assign(wave({1, 3}, 12, kFloat64));
    return layer;
  };
  const Tensor x = wave({2, 4}, 1, kFloat64);
  const auto expect_moved = [&](const SpectralNorm& layer, const Tensor& y) {
    const auto same = [](const Tensor& t, const char* name) {
      const Tensor& expected = layer_reference(name);
      expect_near(t, Shape(expected.shape()), values_of(expected), 1e-6, 1);
    };
    same(y, "spectral_norm/y");
    same(layer.variables()[0].value(), "after/spectral_norm/kernel");
    same(layer.vector_u().value(), "after/spectral_norm/vector_u");
  };
  const SpectralNorm eager = make(), traced = make();
  {
    const TrainingScope training;
    expect_moved(eager, eager(x));
  }
  const Function step = trace([&](const Tensor& t) {
    const TrainingScope training;
    return traced(t);
  });
  expect_moved(traced, step(x));
  expect_near(eager(x), {2, 3}, values_of(layer_reference("spectral_norm/y")), 1e-6, 1);
  BOOST_TEST(eager.state().size() == 1U);
  BOOST_TEST(eager.to_string() == "SpectralNorm(Dense(4, 3))");
  // In a graph made by hand: the layer uses the new kernel.
  Graph graph;
  Operation init;
  {
    const GraphScope building(graph);
    const SpectralNorm layer(Dense(4, 3, {.kernel_initializer = waves(10), .dtype = kFloat64}));
    named("kernel", layer.variables()[0].value());
    const TrainingScope training;
    named("y", layer(placeholder(kFloat64, {2, 4}, "x")));
    init = global_variables_initializer();
  }
  Session session(graph);
  session.run(init);
  const Tensor before = session.run("kernel");
  const Tensor y = session.run("y", {{"x", x}});
  const Tensor after = session.run("kernel");
  BOOST_TEST(norm(after).item<double>() < norm(before).item<double>());
  expect_near(y, {2, 3}, values_of(matmul(x, after)), 1e-12, 1);
  // A kernel of zeros stays.
  const SpectralNorm zero(Dense(2, 2, {.kernel_initializer = constant_initializer(0)}));
  const TrainingScope training;
  expect_near(zero(wave({1, 2})), {1, 2}, {0, 0});
  const SpectralNorm table(Conv2D(2, 3, 2));
  BOOST_TEST(table(wave({1, 3, 3, 2})).shape().to_string() == "[1,2,2,3]");
}

BOOST_AUTO_TEST_CASE(normalization) {
  const Tensor data = wave({5, 3}, 2, kFloat64) * tensor({1.0, 4.0, 0.5}) + 3.0, x = wave({2, 3}, 1, kFloat64);
  const auto expect = [](const char* name, const Tensor& y) {
    expect_near(y, {2, 3}, values_of(layer_reference(std::string("normalization/") + name)), 1e-6, 1);
  };
  Normalization layer(3, {.dtype = kFloat64});
  expect_near(layer(x), {2, 3}, values_of(x));
  layer.adapt(data);
  expect("y", everywhere(layer, x));
  const Normalization other(layer.mean().value(), layer.variance().value(), {.invert = true, .dtype = kFloat64});
  expect("inverted", other(x));
  BOOST_TEST(layer.variables().empty());
  BOOST_TEST(layer.state().size() == 2U);
  expect_error_begins([&] { layer(wave({2, 4})); },
                      "InvalidArgument: Normalization: expected an input of shape [..., 3], got [2,4]");
  expect_error_begins([&] { layer.adapt(zeros({0, 3})); },
                      "InvalidArgument: Normalization: expected data with elements, got [0,3]");
}

BOOST_AUTO_TEST_CASE(activation_layers) {
  for (const DType t : {kFloat32, kFloat64}) {
    expect_as_keras("relu", ReLU({.max_value = 0.75, .negative_slope = 0.5, .threshold = 0.25}), {3, 7}, t);
    expect_as_keras("relu_above", ReLU({.threshold = 0.5}), {3, 7}, t);
    expect_as_keras("leaky_relu", LeakyReLU(), {3, 7}, t);
    expect_as_keras("prelu", PReLU({1, 4}, {.dtype = t}), {2, 3, 4}, t);
    expect_as_keras("elu", ELU(0.5), {3, 7}, t);
    expect_as_keras("softmax", Softmax(1), {2, 3, 4}, t);
  }
  const Tensor masked = Softmax()(tensor({{1.F, 2.F, 3.F}}), tensor({{true, false, true}}));
  expect_near(masked, {1, 3}, {1 / (1 + std::exp(2)), 0, 1 / (1 + std::exp(-2))});
  expect_near(Identity()(wave({2})), {2}, values_of(wave({2})));
  BOOST_TEST(ReLU({.max_value = 6}).to_string() == "ReLU(max_value = 6)");
  expect_error_begins([] { ReLU({.negative_slope = -1}); },
                      "InvalidArgument: ReLU: expected a negative_slope of at least 0, got -1");
  expect_error_begins([] { PReLU({3})(wave({2, 4})); },
                      "InvalidArgument: PReLU: expected an input to which [3] broadcasts, got [2,4]");
}

BOOST_AUTO_TEST_CASE(activations) {
  const Tensor points = cast(layer_reference("points"), kFloat64);
  int compared = 0;
  for (const auto& [key, expected] : layer_references()) {
    if (!key.starts_with("activation/")) continue;
    ++compared;
    const std::string name = key.substr(11);
    BOOST_TEST_CONTEXT(name) {
      const Activation f(name);
      const auto both = [&](const Tensor& x) {
        GradientTape tape;
        tape.watch(x);
        const Tensor y = f ? f(x) : x;
        return std::pair(y, tape.gradient(sum(square(y)), x));
      };
      const auto [y, dy] = both(points);
      std::vector<double> values = values_of(y);
      while (values.size() < 14) values.push_back(values[values.size() - 7]);  // glu gives half as many
      const std::vector<double> all = values_of(expected);
      expect_near(tensor(values), {14}, std::vector<double>(all.begin(), all.begin() + 14), 2e-6, 0.01);
      expect_near(dy, {14}, std::vector<double>(all.begin() + 14, all.end()), 2e-6, 0.01);
      if (name == "glu") continue;  // of an even number, which an unknown one might not be
      const auto traced = trace(both, {TensorSpec(kFloat64, {-1}, "x")});
      expect_near(traced(points).first, {14}, values_of(y), 1e-12, 1e-12);
    }
  }
  BOOST_TEST(compared == 28);
  expect_near(threshold(tensor({-1.F, 0.5F, 2.F}), 0.5, 9), {3}, {9, 9, 2});
  // Probabilities that are nearest: closed forms for two, and a sum of 1 for more.
  expect_near(sparsemax(tensor({{1.0, 0.5}, {3.0, 1.0}})), {2, 2}, {0.75, 0.25, 1, 0});
  const Tensor p = sparsemax(wave({3, 5}, 1, kFloat64), {.axis = 0});
  expect_near(sum(p, 0), {5}, {1, 1, 1, 1, 1}, 1e-12);
  expect_error_begins([] { glu(wave({3})); }, "InvalidArgument: glu: expected an even size of axis 0, got [3]");
  expect_error_begins([] { celu(wave({3}), {.alpha = 0}); },
                      "InvalidArgument: celu: expected an alpha other than 0, got 0");
}

BOOST_AUTO_TEST_CASE(reshaping) {
  for (const DType t : {kFloat32, kFloat64}) {
    expect_as_keras("permute", Permute({3, 1, 2}), {2, 1, 3, 2}, t);
    expect_as_keras("reshape", Reshape({4, -1}), {2, 3, 8}, t);
    expect_as_keras("repeat_vector", RepeatVector(3), {2, 4}, t);
    const Conv1D each(2, 2, 2, {.dtype = t});
    expect_as_keras("time_distributed", TimeDistributed(each), {2, 3, 4, 2}, t);
    expect_as_keras("einsum_dense", EinsumDense("abc,cd->abd", {4, 5}, {.bias_axes = "d", .dtype = t}), {2, 3, 4}, t);
    expect_as_keras("einsum_dense_heads", EinsumDense("abc,cde->abde", {4, 2, 3}, {.bias_axes = "d", .dtype = t}),
                    {2, 3, 4}, t);
    expect_as_keras("einsum_dense_any", EinsumDense("...x,xy->...y", {4, 5}, {.bias_axes = "y", .dtype = t}), {2, 3, 4},
                    t);
  }
  // Steps and more that the trace does not know.
  const TimeDistributed dense{Dense(2, 3)};
  const Function traced = trace([&](const Tensor& x) { return dense(x); }, {TensorSpec(kFloat32, {-1, -1, 2})});
  expect_near(traced(wave({2, 3, 2})), {2, 3, 3}, values_of(dense(wave({2, 3, 2}))));
  const Reshape pairs({-1, 2});
  const Function of_any = trace([&](const Tensor& x) { return pairs(x); }, {TensorSpec(kFloat32, {-1, -1})});
  expect_near(of_any(wave({2, 6})), {2, 3, 2}, values_of(wave({2, 6})));
  BOOST_TEST(pairs.to_string() == "Reshape({-1, 2})");
  const auto expect_invalid = [](const auto& f, const std::string& text) {
    expect_error_begins(f, "InvalidArgument: " + text);
  };
  expect_invalid([] { Reshape({-1, -1}); }, "Reshape: expected dimensions of at least 0, and at most one of -1, got");
  expect_invalid([] { Reshape({5})(wave({2, 6})); },
                 "Reshape: expected examples of a size that {5} has, got an input of shape [2,6]");
  expect_invalid([] { Permute({1, 3}); }, "Permute: expected the numbers from 1 to 2 in some order, got {1, 3}");
  expect_invalid([] { Permute({2, 1})(wave({2, 3})); }, "Permute: expected an input of rank 3, got [2,3]");
  expect_invalid([] { RepeatVector(2)(wave({2, 3, 4})); },
                 "RepeatVector: expected an input of shape [batch, features], got [2,3,4]");
  expect_invalid([] { EinsumDense("ab,bc,cd->ad", {1, 1}); },
                 "EinsumDense: expected an equation of two operands, \"ab,bc->ac\", got 'ab,bc,cd->ad'");
  expect_invalid([] { EinsumDense("ab,bc->ac", {1, 1, 1}); },
                 "EinsumDense: expected a kernel of 2 dimensions ('bc'), got [1,1,1]");
  expect_invalid([] { EinsumDense("ab,bc->ac", {1, 1}, {.bias_axes = "a"}); },
                 "EinsumDense: expected bias_axes that both the kernel 'bc' and the result 'ac' have, got 'a'");
}

BOOST_AUTO_TEST_CASE(merging) {
  const Tensor a = wave({2, 3}), b = wave({2, 3}, 1), c = wave({3}, 2);
  expect_near(add({a, b, c}), {2, 3}, values_of(a + b + c));
  expect_near(multiply({a, b, c}), {2, 3}, values_of(a * b * c));
  expect_near(average({a, b}), {2, 3}, values_of((a + b) / 2.F));
  expect_near(maximum({a, b, c}), {2, 3}, values_of(maximum(maximum(a, b), c)));
  expect_near(minimum({a, b, c}), {2, 3}, values_of(minimum(minimum(a, b), c)));
  expect_near(subtract(a, b), {2, 3}, values_of(a - b));
  expect_near(multiply(a, b), {2, 3}, values_of(a * b));
  BOOST_TEST(concatenate({a, b}, -1).shape().to_string() == "[2,6]");
  expect_error_begins([] { add(std::vector<Tensor>()); },
                      "InvalidArgument: add: expected at least one tensor, got none");
  const auto dots = [](const std::string& name, const Shape& x, const Shape& y, const BatchDotOptions& options) {
    for (const DType t : {kFloat32, kFloat64}) {
      expect_as_keras({.name = name,
                       .call = [&](std::span<const Tensor> in) { return Outputs{batch_dot(in[0], in[1], options)}; },
                       .variables = {},
                       .shapes = {x, y},
                       .type = t});
    }
  };
  dots("batch_dot", {2, 3, 4}, {2, 4, 2}, {.axes = {2, 1}});
  dots("batch_dot_cosine", {3, 4}, {3, 4}, {.normalize = true});
  dots("batch_dot_more", {2, 3, 2}, {2, 2, 2, 3}, {.axes = {1, 3}});
  expect_error_begins([&] { batch_dot(a, wave({2, 4})); },
                      "InvalidArgument: batch_dot: expected axes of one size, got axis 1 of [2,3] and axis 1 of [2,4]");
  expect_error_begins([&] { batch_dot(a, b, {.axes = {0, 1}}); },
                      "InvalidArgument: batch_dot: expected axes other than 0, the batch's, got 0");
}

double variance_of(const Tensor& t) { return mean(square(t - mean(t))).item<double>(); }

BOOST_AUTO_TEST_CASE(noise) {
  set_seed(5);
  const Tensor x = ones({64, 5, 4, 8});
  const auto check = [&](const auto& layer, double at_mean, double at_variance) {
    expect_near(layer(x), Shape(x.shape()), values_of(x));
    const TrainingScope training;
    const Tensor y = cast(layer(x), kFloat64);
    BOOST_TEST(std::abs(mean(y).template item<double>() - at_mean) < 0.1);
    BOOST_TEST(std::abs(variance_of(y) - at_variance) < 0.15);
    return y;
  };
  const Tensor dropped = check(SpatialDropout2D(0.5), 1, 1);
  // Whole channels.
  const Tensor of_image = dropped(0), first = of_image(0, 0);
  expect_near(mean(of_image, {0, 1}), {8}, values_of(first), 1e-12);
  check(GaussianDropout(0.5), 1, 1);
  check(GaussianNoise(0.5), 1, 0.25);
  expect_near(SpatialDropout1D(0.5)(ones({2, 3, 4})), {2, 3, 4}, std::vector<double>(24, 1));
  const Tensor normal = random_normal({200, 50});
  {
    const TrainingScope training;
    const Tensor y = cast(AlphaDropout(0.25)(normal), kFloat64);
    BOOST_TEST(std::abs(mean(y).item<double>()) < 0.05);
    BOOST_TEST(std::abs(variance_of(y) - 1) < 0.1);
    // Of a batch that a trace does not know.
    const SpatialDropout2D drop(0.5);
    const Function traced = trace([&](const Tensor& t) { return drop(t); }, {TensorSpec(kFloat32, {-1, 5, 4, 8})});
    const Tensor z = traced(x);
    expect_near(mean(z(0), {0, 1}), {8}, values_of(z(0, 0, 0)), 1e-6);
  }
  expect_error_begins([] { AlphaDropout(1); }, "InvalidArgument: AlphaDropout: expected a rate in [0, 1), got 1");
  expect_error_begins([] { GaussianNoise(-1); }, "InvalidArgument: GaussianNoise: expected a stddev of at least 0");
  expect_error_begins([] { SpatialDropout1D(0.5)(wave({2, 3})); },
                      "InvalidArgument: SpatialDropout1D: expected an input of rank 3, got [2,3]");
}

BOOST_AUTO_TEST_CASE(losses_of_layers) {
  const Sequential model(Dense(3, 2), ActivityRegularization({.l1 = 0.5, .l2 = 0.25}), Dense(2, 1));
  const Tensor x = wave({4, 3});
  const Parts parts = model.parts();
  const Tensor h = (*parts.layers()[0])(x);
  const double expected = (0.5 * sum(abs(h)) + 0.25 * sum(square(h))).item<double>() / 4;
  const auto penalty = [&](const Tensor& in) {
    GradientTape tape;
    const CollectLosses outer;
    const CollectLosses penalties;
    model(in);
    BOOST_TEST(outer.losses().empty());
    const Tensor total = penalties.total();
    return std::pair(total, tape.gradient(total, model.variables()[0]));
  };
  const auto [eager, gradient] = penalty(x);
  expect_near(eager, {}, {expected}, 1e-6);
  const auto [traced, other] = trace(penalty, {TensorSpec(kFloat32, {-1, 3})})(x);
  expect_near(traced, {}, {expected}, 1e-6);
  expect_near(other, {3, 2}, values_of(gradient), 1e-6, 1);
  model(x);  // nobody hears of it
  expect_near(CollectLosses().total(), {}, {0});
  expect_error_begins([] { add_loss(wave({2})); },
                      "InvalidArgument: add_loss: expected a floating scalar, got float32[2]");
  expect_error_begins([] { ActivityRegularization({.l1 = -1}); },
                      "InvalidArgument: ActivityRegularization: expected numbers of at least 0, got -1 and 0");
}

BOOST_AUTO_TEST_CASE(masks) {
  const Tensor x = tensor({{{0.F, 0.F}, {1.F, 0.F}}, {{2.F, 3.F}, {0.F, 0.F}}});
  const Masking masking;
  BOOST_TEST(values_of(masking.mask(x)) == (std::vector<double>{0, 1, 1, 0}));
  expect_near(masking(x), {2, 2, 2}, values_of(x));
  expect_near(Masking(1)(tensor({{{1.F, 1.F}, {1.F, 0.F}}})), {1, 2, 2}, {0, 0, 1, 0});
  BOOST_TEST(values_of(sequence_mask(tensor({1, 3, 0}), 3)) == (std::vector<double>{1, 0, 0, 1, 1, 1, 0, 0, 0}));
}

BOOST_AUTO_TEST_CASE(preprocessing) {
  expect_near(Rescaling(0.5, 1)(tensor({0, 4})), {2}, {1, 3});
  const Discretization bins({0, 10, 100});
  BOOST_TEST(values_of(bins(tensor({-1.F, 0.F, 5.F, 10.F, 1000.F}))) == (std::vector<double>{0, 1, 1, 2, 3}));
  expect_near(Discretization({0}, {.output = CategoryOutput::kOneHot})(tensor({-1.F, 1.F})), {2, 2}, {1, 0, 0, 1});
  const Tensor numbers = tensor({{0, 2, 2}, {1, 1, 0}});
  expect_near(CategoryEncoding(3)(numbers), {2, 3}, {1, 0, 1, 1, 1, 0});
  expect_near(CategoryEncoding(3, {.output = CategoryOutput::kCount})(numbers), {2, 3}, {1, 0, 2, 1, 2, 0});
  expect_near(CategoryEncoding(2, {.output = CategoryOutput::kOneHot})(tensor({{0}, {1}})), {2, 2}, {1, 0, 0, 1});
  const Tensor hashed = Hashing(10)(tensor({"a", "b", "a"}));
  BOOST_TEST(hashed[0].item<int64_t>() == hashed[2].item<int64_t>());
  const int64_t of_number = Hashing(7)(tensor({12}))[0].item<int64_t>();
  BOOST_TEST(of_number == Hashing(7)(tensor({"12"}))[0].item<int64_t>());
  BOOST_TEST(values_of(Hashing(10)(tensor({"a", "b", "cc"}))) == (std::vector<double>{9, 2, 6}));
  BOOST_TEST(values_of(Hashing(7)(tensor({12, 13}))) == (std::vector<double>{3, 2}));
  const Tensor letters = tensor({"A", "B", "A"});
  BOOST_TEST(values_of(hashed_crossing({letters, tensor({101, 101, 102})}, 50)) == (std::vector<double>{41, 4, 23}));
  const Tensor crossed = hashed_crossing({tensor({{1}, {3}}), tensor({{5}, {7}})}, 50);
  expect_near(crossed, {2, 1}, {33, 43});
  const Tensor more = tensor({"x", "y"});
  BOOST_TEST(values_of(hashed_crossing({tensor({"A", "B"}), more, more}, 50)) == (std::vector<double>{36, 44}));
  expect_error_begins([&] { hashed_crossing({letters}, 5); },
                      "InvalidArgument: hashed_crossing: expected at least two columns, got 1");
  expect_error_begins([&] { hashed_crossing({letters, more}, 5); },
                      "InvalidArgument: hashed_crossing: expected columns of one shape, [batch] or [batch, 1], got [3] "
                      "and [2]");
  expect_error_begins([] { Discretization({1, 1}); },
                      "InvalidArgument: Discretization: expected boundaries that increase, got 1 and 1");
  expect_error_begins([] { CategoryEncoding(0); },
                      "InvalidArgument: CategoryEncoding: expected a positive number of categories, got 0");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
