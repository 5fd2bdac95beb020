// Layers of images against TensorFlow 2.21 (Keras 3.15), and a network of them that learns.
#include <algorithm>
#include <cmath>

#include "panto/autograd/tape.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/ops/random/random.h"
#include "panto/lib/runtime/session.h"
#include "panto/nn/layers/convolution.h"
#include "panto/nn/layers/normalization.h"
#include "panto/nn/training/loss.h"
#include "panto/nn/training/optimizer.h"
#include "panto/tests/expect.h"
#include "panto/tests/nn/layers/layers.h"
#include "panto/trace/graph_scope.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(image_layers)

Tensor image() { return wave({1, 5, 4, 2}); }

BOOST_AUTO_TEST_CASE(convolution_with_stride_and_same_padding) {
  const Conv2D layer(2, 3, {3, 2},
                     {.stride = {2, 1}, .padding = Padding::kSame, .activation = relu, .kernel_initializer = waves(1)});
  layer.bias().assign(wave({3}, 2));
  expect_near(everywhere(layer, image()), {1, 3, 4, 3},
              {0.970345259, 0,           0, 0.962712407, 0.836283624, 0,           0.744966328, 0, 0,
               0.789285183, 0.144061863, 0, 2.16856265,  0.64709574,  0,           0,           0, 0.840269387,
               2.23697805,  0.357774973, 0, 0.422635078, 0,           0,           0,           0, 0.591242611,
               2.30178165,  0,           0, 0,           0,           0.434821904, 1.58727837,  0, 0});
}

BOOST_AUTO_TEST_CASE(convolution_with_dilation_and_groups) {
  const Conv2D layer(2, 4, 2, {.dilation = 2, .groups = 2, .kernel_initializer = waves(1)});
  layer.bias().assign(wave({4}, 2));
  BOOST_TEST(layer.kernel().shape().to_string() == "[2,2,1,4]");
  expect_near(
      everywhere(layer, image()), {1, 3, 2, 4},
      {2.48432255,  -1.53127789, -1.76136041,   -0.521229446, -0.820543945, 0.0837967992, -0.189182222, 2.24166155,
       2.41157389,  0.149794996, -0.0272811651, -0.932859004, -0.303281128, -1.58819914,  -1.90099525,  2.21669817,
       0.871714175, 1.16714549,  0.978764951,   0.278439552,  1.39817619,   -2.22660637,  -2.51098704,  0.738830507});
}

BOOST_AUTO_TEST_CASE(convolution_options) {
  const Conv2D layer(3, 8, 5);
  BOOST_TEST(layer.variables().size() == 2U);
  expect_near(layer.bias().value(), {8}, std::vector<double>(8, 0));
  BOOST_TEST(layer.to_string() == "Conv2D(3, 8, 5)");
  const Conv2D other(3, 8, {1, 2}, {.use_bias = false, .name = "first", .dtype = kFloat64});
  BOOST_TEST(other.variables().size() == 1U);
  BOOST_TEST(other.kernel().name() == "first/kernel");
  BOOST_TEST(dtype_name(other.kernel().dtype()) == "float64");
  BOOST_TEST(other.to_string() == "Conv2D(3, 8, {1, 2})");
  BOOST_TEST(other(wave({2, 2, 2, 3}, 0, kFloat64)).shape().to_string() == "[2,2,1,8]");
}

BOOST_AUTO_TEST_CASE(convolution_misuse) {
  expect_error_begins([] { Conv2D(0, 1, 3); }, "InvalidArgument: Conv2D: expected positive sizes, got 0 and 1");
  expect_error_begins([] { Conv2D(1, -2, 3); }, "InvalidArgument: Conv2D: expected positive sizes, got 1 and -2");
  expect_error_begins([] { Conv2D(1, 1, {3, 0}); }, "InvalidArgument: Conv2D: expected a positive window, got {3, 0}");
  expect_error_begins([] { Conv2D(1, 1, 3, {.stride = 0}); },
                      "InvalidArgument: Conv2D: expected a positive stride, got 0");
  expect_error_begins([] { Conv2D(1, 1, 3, {.dilation = {1, -1}}); },
                      "InvalidArgument: Conv2D: expected a positive dilation, got {1, -1}");
  for (const int64_t groups : {0, 3}) {
    expect_error_begins(
        [&] { Conv2D(2, 4, 3, {.groups = groups}); },
        "InvalidArgument: Conv2D: expected a number of groups that divides 2 and 4, got " + std::to_string(groups));
  }
  const Conv2D layer(2, 4, 3);
  expect_error_begins([&] { layer(wave({1, 5, 5, 3})); },
                      "InvalidArgument: Conv2D: expected an input of shape [batch, height, width, 2], got [1,5,5,3]");
  expect_error_begins([&] { layer(wave({5, 5, 2})); },
                      "InvalidArgument: Conv2D: expected an input of shape [batch, height, width, 2], got [5,5,2]");
  expect_error_begins(
      [&] { layer(wave({1, 1, 5, 2})); },
      "InvalidArgument: height of the input: expected at least 2 for a window of 3 and a stride of 1, got 1");
  BOOST_TEST(layer(wave({1, 2, 5, 2})).shape().to_string() == "[1,0,3,4]");
}

BOOST_AUTO_TEST_CASE(pools) {
  const MaxPool2D largest({2, 3}, {.stride = {2, 1}, .padding = Padding::kSame});
  expect_near(
      everywhere(largest, image()), {1, 3, 4, 2},
      {0.859161794, 0.991664827, 0.999792874, 0.991664827, 0.999792874, 0.798487127, 0.999792874, 0.798487127,
       0.879273057, 0.940428972, 0.879273057, 0.940428972, 0.670229197, 0.985600293, 0.670229197, 0.985600293,
       0.949403882, 0.189114615, 0.949403882, 0.189114615, 0.980589509, 0.189114615, 0.980589509, 0.0680941939});
  const std::vector<double> means = {-0.0894442052, 0.0783979297, -0.0444417298, 0.107692942,
                                     0.101898201,   0.0330082625, 0.111578718,   -0.0241942704};
  expect_near(everywhere(AveragePool2D(2), image()), {1, 2, 2, 2}, means);
  std::vector<double> with_rest = means;
  for (const double v : {0.055888325, -0.122325458, -0.00877356529, -0.126343563}) with_rest.push_back(v);
  expect_near(everywhere(AveragePool2D(2, {.padding = Padding::kSame}), image()), {1, 3, 2, 2}, with_rest);
  BOOST_TEST(largest.to_string() == "MaxPool2D({2, 3})");
  BOOST_TEST(AveragePool2D(2).to_string() == "AveragePool2D(2)");
  BOOST_TEST(largest.variables().empty());
}

BOOST_AUTO_TEST_CASE(global_pools) {
  const Tensor x = wave({2, 3, 5, 2});
  const std::vector<double> all = values_of(x);
  std::vector<double> most(4, -1), means(4, 0);
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t at = i / 30 * 2 + i % 2;
    most[at] = std::max(most[at], all[i]);
    means[at] += all[i] / 15;
  }
  expect_near(everywhere(GlobalMaxPool2D(), x), {2, 2}, most);
  expect_near(everywhere(GlobalAveragePool2D(), x, 1e-5), {2, 2}, means, 1e-5);
  expect_near(everywhere(GlobalMaxPool2D({.keep_dims = true}), x), {2, 1, 1, 2}, most);
  expect_near(everywhere(GlobalAveragePool2D({.keep_dims = true}), x, 1e-5), {2, 1, 1, 2}, means, 1e-5);
  BOOST_TEST(GlobalMaxPool2D().to_string() == "GlobalMaxPool2D()");
  expect_error_begins(
      [] { GlobalAveragePool2D()(wave({4, 4, 1})); },
      "InvalidArgument: GlobalAveragePool2D: expected an input of shape [batch, height, width, channels], got "
      "[4,4,1]");
}

BOOST_AUTO_TEST_CASE(pool_misuse) {
  expect_error_begins([] { MaxPool2D(0); }, "InvalidArgument: MaxPool2D: expected a positive window, got 0");
  expect_error_begins([] { AveragePool2D(2, {.stride = {0, 1}}); },
                      "InvalidArgument: AveragePool2D: expected a positive stride, or 0, got {0, 1}");
  expect_error_begins(
      [] { AveragePool2D(2)(wave({4, 4, 1})); },
      "InvalidArgument: AveragePool2D: expected an input of shape [batch, height, width, channels], got "
      "[4,4,1]");
}

// ---- Batch normalisation --------------------------------------------------------------------------------------------

const std::vector<double> kNormalised = {
    0.276386142, 0.0993824005, -0.262244105, 1.47383738,  1.31787944, 0.237852752, -1.19881153,  1.25329328,
    2.08732986,  0.525825918,  -1.75004983,  0.917013645, 2.38375211, 0.888081729, -1.77197313,  0.552836597,
    2.12972021,  1.22999728,   -1.25885463,  0.255887032, 1.39158809, 1.46226239,  -0.344723403, 0.103729546};
const std::vector<double> kByRunning = {
    1.52810633, -0.608432055,  0.80432266,   1.208933,     2.92761159, -0.425340533, -0.454188764, 0.917319775,
    3.96155977, -0.0445696712, -1.1949147,   0.472676039,  4.35987663, 0.434420973,  -1.22437394,  -0.00885492563,
    4.01852179, 0.886516809,   -0.534871459, -0.401494741, 3.02665758, 1.19362807,   0.693491161,  -0.60268414};

Tensor batch(const Shape& shape) { return wave(shape) * 2.0F + 1.0F; }

BatchNorm make_norm() {
  BatchNorm layer(2, {.momentum = 0.9});
  layer.scale().assign(tensor({1.5F, -0.5F}));
  layer.offset().assign(tensor({0.25F, 0.75F}));
  return layer;
}

// Against tf.compat.v1.nn.fused_batch_norm(..., exponential_avg_factor=0.1): in training, then with what it moved.
BOOST_AUTO_TEST_CASE(batch_norm) {
  for (const Shape& shape : {Shape{2, 2, 3, 2}, Shape{12, 2}, Shape{3, 4, 2}, Shape{1, 2, 3, 2, 2}}) {
    const BatchNorm layer = make_norm();
    {
      const TrainingScope training;
      expect_near(layer(batch(shape)), shape, kNormalised, 2e-6);
    }
    expect_near(layer.running_mean().value(), {2}, {0.0974963382, 0.116799794});
    expect_near(layer.running_variance().value(), {2}, {1.12088025, 1.11221004});
    // Saved and loaded with the running statistics.
    expect_near(everywhere(layer, batch(shape), 2e-6), shape, kByRunning, 2e-6);
  }
}

BOOST_AUTO_TEST_CASE(batch_norm_traced_in_training) {
  for (const PartialShape& shape : {PartialShape{2, 2, 3, 2}, PartialShape{-1, 2}}) {
    const BatchNorm layer = make_norm();
    const Function step = trace(
        [&](const Tensor& x) {
          const TrainingScope training;
          return layer(x);
        },
        {TensorSpec(kFloat32, shape)});
    const Tensor x = batch(shape.rank() == 4 ? Shape{2, 2, 3, 2} : Shape{12, 2});
    for (int i = 0; i < 2; ++i) expect_near(step(x), x.shape(), kNormalised, 2e-6);
    // Twice: 0.9 (0.9 r + 0.1 b) + 0.1 b, from the statistics after one step.
    expect_near(layer.running_mean().value(), {2}, {1.9 * 0.0974963382, 1.9 * 0.116799794});
    expect_near(layer.running_variance().value(), {2},
                {0.81 + 1.9 * (1.12088025 - 0.9), 0.81 + 1.9 * (1.11221004 - 0.9)});
  }
}

BOOST_AUTO_TEST_CASE(batch_norm_in_a_graph_scope) {
  Graph graph;
  Operation init, move;
  {
    const GraphScope building(graph);
    const BatchNorm layer(2, {.momentum = 0.9});
    const TrainingScope training;
    const CollectEffects moves;
    named("y", layer(placeholder(kFloat32, {-1, 2}, "x")));
    move = group(moves.operations(), "move");
    named("mean", layer.running_mean().value());
    init = global_variables_initializer();
  }
  Session session(graph);
  session.run(init);
  const Feeds feeds = {{"x", batch({12, 2})}};
  session.run({"y"}, feeds);
  expect_near(session.run("mean"), {2}, {0, 0});
  session.run({"y", move}, feeds);
  expect_near(session.run("mean"), {2}, {0.0974963382, 0.116799794});
}

BOOST_AUTO_TEST_CASE(batch_norm_state_is_not_trained) {
  const BatchNorm layer = make_norm();
  const Sequential model(Conv2D(1, 2, 1), layer, Lambda(relu, "Relu"));
  BOOST_TEST(model.variables().size() == 4U);
  BOOST_REQUIRE_EQUAL(model.state().size(), 2U);
  BOOST_TEST(model.state()[0].name() == layer.running_mean().name());
  BOOST_TEST(model.state()[1].name() == layer.running_variance().name());
  BOOST_TEST(model.to_string() ==
             "Conv2D(1, 2, 1)                  4 parameters\n"
             "BatchNorm(2)                     4 parameters\n"
             "Relu()                           0 parameters\n");
}

// In training the gradient flows through the batch's statistics: a shift of all of x changes nothing.
BOOST_AUTO_TEST_CASE(batch_norm_gradient) {
  const BatchNorm layer = make_norm();
  const Tensor x = batch({3, 2, 2, 2});
  const TrainingScope training;
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sum(square(layer(x)) * wave({3, 2, 2, 2}, 0.3F));
  const auto grads = tape.gradient(y, {x, layer.scale(), layer.offset(), layer.running_mean()});
  expect_near(sum(grads[0], {0, 1, 2}), {2}, {0, 0}, 1e-5, reduce_max(abs(grads[0])).item<double>());
  BOOST_TEST(reduce_max(abs(grads[0])).item<float>() > 0.01);
  BOOST_TEST(grads[1].shape().to_string() == "[2]");
  BOOST_TEST(grads[2].shape().to_string() == "[2]");
  BOOST_TEST(!grads[3].defined());
}

BOOST_AUTO_TEST_CASE(batch_norm_misuse) {
  expect_error_begins([] { BatchNorm(0); },
                      "InvalidArgument: BatchNorm: expected a positive number of channels, got 0");
  expect_error_begins([] { BatchNorm(2, {.momentum = 1.5}); },
                      "InvalidArgument: BatchNorm: expected a momentum in [0, 1], got 1.5");
  expect_error_begins([] { BatchNorm(2, {.epsilon = -1}); },
                      "InvalidArgument: BatchNorm: expected an epsilon of at least 0, got -1");
  for (const Shape& shape : {Shape{2}, Shape{3, 3}}) {
    expect_error_begins(
        [&] { BatchNorm(2)(wave(shape)); },
        "InvalidArgument: BatchNorm: expected an input of shape [batch, ..., 2], got " + shape.to_string());
  }
}

// ---- Modes ----------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(training_scopes_nest) {
  BOOST_TEST(!in_training());
  {
    const TrainingScope training;
    BOOST_TEST(in_training());
    {
      const TrainingScope frozen(false);
      BOOST_TEST(!in_training());
    }
    BOOST_TEST(in_training());
  }
  BOOST_TEST(!in_training());
}

BOOST_AUTO_TEST_CASE(dropout) {
  const Dropout layer(0.25);
  const Tensor x = fill({100, 100}, 3.0F);
  BOOST_TEST(layer(x).id() == x.id());
  const TrainingScope training;
  const Function traced = trace([&](const Tensor& t) { return layer(t); }, {TensorSpec(kFloat32, {-1, 100})});
  set_seed(1);
  double last_kept = -1;
  for (int i = 0; i < 4; ++i) {
    const Tensor y = i < 2 ? layer(x) : traced(x);
    double kept = 0;
    for (const float v : y.to_vector<float>()) {
      BOOST_REQUIRE((v == 0.0F || v == 4.0F));
      kept += v > 0 ? 1 : 0;
    }
    // 7500 of 10000, of standard deviation 43.3; others every time.
    BOOST_TEST(std::fabs(kept - 7500) < 5 * 43.3);
    BOOST_TEST(kept != last_kept);
    last_kept = kept;
  }
  GradientTape tape;
  tape.watch(x);
  const Tensor y = layer(x);
  expect_near(tape.gradient(y, x) * 3.0F, x.shape(), values_of(y));
  BOOST_TEST(Dropout(0)(x).id() == x.id());
  for (const double rate : {-0.5, 1.0, std::nan("")}) BOOST_CHECK_THROW(Dropout{rate}, Error);
}

BOOST_AUTO_TEST_CASE(lambda) {
  expect_near(everywhere(Lambda(relu), tensor({-1.F, 2.F})), {2}, {0, 2});
  expect_error([] { Lambda(nullptr); }, "InvalidArgument: Lambda: expected a function, got an empty one");
}

// ---- Learning -------------------------------------------------------------------------------------------------------

// Images of noise with one bright bar, which lies or stands: a place does not tell them apart, a convolution does.
struct Bars {
  Tensor images, labels;
};
Bars bars(int count, int64_t seed) {
  constexpr int kSide = 8;
  std::vector<float> pixels = (random_uniform({count, kSide, kSide, 1}, {.seed = seed}) * 0.5F).to_vector<float>();
  const std::vector<int32_t> lines =
      random_uniform({count}, {.seed = seed + 1, .dtype = kInt32, .min = 0, .max = 2 * kSide}).to_vector<int32_t>();
  std::vector<int32_t> labels;
  for (size_t n = 0; n < lines.size(); ++n) {
    const auto line = static_cast<size_t>(lines[n] / 2);
    labels.push_back(lines[n] % 2);
    for (size_t k = 0; k < kSide; ++k)
      pixels[n * kSide * kSide + (labels.back() == 0 ? line * kSide + k : k * kSide + line)] = 1;
  }
  return {tensor(pixels, {count, kSide, kSide, 1}), tensor(labels)};
}

BOOST_AUTO_TEST_CASE(a_convolutional_network_learns) {
  set_seed(3);
  const Sequential model(Conv2D(1, 8, 3, {.use_bias = false}), BatchNorm(8, {.momentum = 0.8}), Lambda(relu, "Relu"),
                         MaxPool2D(2), Conv2D(8, 8, 2, {.activation = gelu_tanh}), AveragePool2D(2), Flatten(),
                         Dropout(0.1), Dense(8, 2));
  Adam adam(model.variables(), {.learning_rate = 0.02});
  const Function step = trace(
      [&](const Tensor& images, const Tensor& labels) {
        const TrainingScope training;
        GradientTape tape;
        const Tensor loss = sparse_cross_entropy(model(images), labels);
        adam.apply(tape.gradient(loss, adam.variables()));
        return loss;
      },
      {TensorSpec(kFloat32, {32, 8, 8, 1}), TensorSpec(kInt32, {32})});
  for (int i = 0; i < 120; ++i) {
    const Bars b = bars(32, int64_t{10} + 2 * i);
    step(b.images, b.labels);
  }
  const Bars fresh = bars(200, 5);
  BOOST_TEST(accuracy(everywhere(model, fresh.images, 1e-5), fresh.labels).item<double>() > 0.95);
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
