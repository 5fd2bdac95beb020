// Embedding, layer normalisation, Gelu and LSTM against TensorFlow 2.21 (Keras 3.15), and networks of them that learn.
#include <algorithm>

#include "panto/autograd/tape.h"
#include "panto/lib/ops/random/random.h"
#include "panto/nn/layers/embedding.h"
#include "panto/nn/layers/normalization.h"
#include "panto/nn/layers/recurrent.h"
#include "panto/nn/training/loss.h"
#include "panto/nn/training/optimizer.h"
#include "panto/tests/expect.h"
#include "panto/tests/nn/layers/layers.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(sequence_layers)

BOOST_AUTO_TEST_CASE(embedding) {
  const Embedding layer(4, 3, {.initializer = waves(0), .name = "words"});
  const std::vector<double> table = values_of(wave({4, 3}));
  const auto row = [&](size_t i) { return std::vector<double>(&table[3 * i], &table[3 * i] + 3); };
  std::vector<double> expected;
  for (const size_t i : {3, 0, 3, 1}) {
    for (const double v : row(i)) expected.push_back(v);
  }
  for (const DType type : {kInt16, kInt32, kInt64}) {
    expect_near(everywhere(layer, cast(tensor({{3, 0}, {3, 1}}), type)), {2, 2, 3}, expected);
  }
  expect_near(layer(tensor(2)), {3}, row(2));
  BOOST_TEST(layer.table().name() == "words/table");
  BOOST_TEST(layer.to_string() == "Embedding(4, 3)");
}

BOOST_AUTO_TEST_CASE(embedding_starts_small) {
  const Embedding layer(200, 5);
  double least = 1, most = -1;
  for (const double v : values_of(layer.table().value())) {
    least = std::min(least, v);
    most = std::max(most, v);
  }
  BOOST_TEST((-0.05 <= least && least < -0.045 && 0.045 < most && most < 0.05));
}

BOOST_AUTO_TEST_CASE(embedding_misuse) {
  expect_error_begins([] { Embedding(0, 3); }, "InvalidArgument: Embedding: expected positive sizes, got 0 and 3");
  const Embedding layer(4, 3);
  expect_error_begins([&] { layer(tensor({1.F})); },
                      "InvalidArgument: Embedding: expected int16, int32 or int64 row numbers, got float32");
  for (const int index : {-1, 4}) {
    const std::string text = error_text([&] { layer(tensor({0, index})); });
    BOOST_TEST(text.find("got " + std::to_string(index)) != std::string::npos, text);
  }
}

BOOST_AUTO_TEST_CASE(layer_normalisation) {
  const LayerNorm layer(4, {.dtype = kFloat64});
  expect_near(layer.scale().value(), {4}, {1, 1, 1, 1});
  expect_near(layer.offset().value(), {4}, {0, 0, 0, 0});
  layer.scale().assign(wave({4}, 1, kFloat64));
  layer.offset().assign(wave({4}, 2, kFloat64));
  const Tensor x = wave({2, 4}, 0, kFloat64) * 3.0 + 1.0;
  const std::vector<double> expected = {0.967245665814, 0.115046427916,   -0.485170240745, 0.961329245572,
                                        1.54534872056,  -0.0103166418371, 0.224002822508,  0.89728897568};
  // epsilon is an attribute of 32 bits.
  expect_near(everywhere(layer, x), {2, 4}, expected, 1e-9);
  const TrainingScope training;
  expect_near(layer(reshape(x, {2, 1, 4})), {2, 1, 4}, expected, 1e-9);
  BOOST_TEST(layer.variables().size() == 2U);
  BOOST_TEST(layer.to_string() == "LayerNorm(4)");
  expect_error_begins([] { LayerNorm(0); },
                      "InvalidArgument: LayerNorm: expected a positive number of features, got 0");
  expect_error_begins([&] { layer(wave({2, 3}, 0, kFloat64)); },
                      "InvalidArgument: LayerNorm: expected an input of shape [..., 4], got [2,3]");
}

// By Python's math.erfc and math.tanh.
BOOST_AUTO_TEST_CASE(gelu_of_both_forms) {
  const Tensor x = tensor({-3.0, -1.0, -0.25, 0.0, 0.5, 2.0});
  expect_near(everywhere(Lambda(gelu_erf), x), {6},
              {-0.0040496940948903, -0.15865525393146, -0.10032341857927, 0, 0.34573123063701, 1.9544997361036}, 1e-12);
  expect_near(everywhere(Lambda(gelu_tanh), x), {6},
              {-0.0036373920817730, -0.15880800939172, -0.10032464929832, 0, 0.34571400982514, 1.9545976940878}, 1e-12);
}

// ---- LSTM -----------------------------------------------------------------------------------------------------------

Lstm make_lstm(bool return_sequences) {
  Lstm layer(3, 2,
             {.return_sequences = return_sequences,
              .cell = {.kernel_initializer = waves(1), .recurrent_initializer = waves(2), .dtype = kFloat64}});
  layer.cell().bias().assign(wave({8}, 3, kFloat64) * 0.5);
  return layer;
}
const std::vector<double> kHidden = {0.13994511043,   -0.186221439699, -0.127268518265,  -0.239667343594,
                                     -0.281185438852, -0.1238512547,   -0.0517257844566, 0.0998215252011,
                                     0.109043499422,  0.160072053921,  0.20295050797,    -0.0449934469651};

BOOST_AUTO_TEST_CASE(lstm) {
  const Tensor x = wave({2, 3, 3}, 0, kFloat64);
  expect_near(everywhere(make_lstm(true), x), {2, 3, 2}, kHidden, 1e-11);
  expect_near(everywhere(make_lstm(false), x), {2, 2}, {kHidden[4], kHidden[5], kHidden[10], kHidden[11]}, 1e-11);
}

BOOST_AUTO_TEST_CASE(lstm_gradients) {
  const Lstm layer = make_lstm(true);
  const Tensor x = wave({2, 3, 3}, 0, kFloat64);
  GradientTape tape;
  tape.watch(x);
  const Tensor loss = sum(layer(x) * wave({2, 3, 2}, 4, kFloat64));
  const auto grads = tape.gradient(loss, {x, layer.cell().bias(), layer.cell().recurrent_kernel()});
  expect_near(
      grads[0], {2, 3, 3},
      {-0.0512765590347, -0.0386799548916, 0.0116911843428, 0.000200695984151, -0.0331655383868, -0.034142572793,
       0.0156355184804, 0.0768521919934, 0.0630156284633, 0.190735665076, 0.12502077006, -0.0627884107169,
       0.0417932490963, 0.103888450285, 0.064527020465, 0.0139321934519, 0.0108810594296, -0.00279643034741},
      1e-11);
  expect_near(grads[1], {8},
              {0.0380150295004, 0.080885961784, 0.0512569566953, -0.0517626126337, 0.119451321744, -0.239781120995,
               -0.0334423524044, 0.0420400940274},
              1e-11);
  expect_near(
      grads[2], {2, 8},
      {-0.0165728999694, 0.00656201281154, 0.00123746600697, -0.00486967907522, 0.0172212590432, -0.00221477896472,
       0.00707872571766, -0.00489820820645, -0.0214682899053, 0.0174940738121, -0.00379257700491, -0.0058688621082,
       0.0081417231843, -0.0216602475259, 0.00390337049003, 0.00791505686079},
      1e-11);
}

BOOST_AUTO_TEST_CASE(lstm_from_a_state) {
  const Lstm layer = make_lstm(false);
  const Tensor x = wave({2, 3, 3}, 0, kFloat64);
  const LstmState start{wave({2, 2}, 5, kFloat64), wave({2, 2}, 6, kFloat64)};
  const LstmOutput out = layer.run(x, start);
  expect_near(out.sequence, {2, 3, 2},
              {-0.158045394125, 0.275441674798, -0.435433980163, 0.232230543591, -0.516676659818, 0.0683846865499,
               0.0934638960627, -0.0940478317691, 0.117318089261, 0.101259863123, 0.207192544377, -0.114733300314},
              1e-11);
  expect_near(out.state.c, {2, 2}, {-0.668603477812, 0.149271130292, 0.7320825278, -0.152986141716}, 1e-11);
  // The cell alone, and in two parts.
  const std::vector<Tensor> steps = unpack(x, 3, {.axis = 1});
  LstmState state = start;
  for (const Tensor& step : steps) state = layer.cell()(step, state);
  expect_near(state.h, {2, 2}, values_of(out.state.h), 1e-14);
  const LstmState middle = layer.run(slice(x, {0, 0, 0}, {2, 2, 3}), start).state;
  expect_near(layer.run(slice(x, {0, 2, 0}, {2, 1, 3}), middle).state.c, {2, 2}, values_of(out.state.c), 1e-14);
  // Without a state as from zeros.
  const Tensor zeros = fill({2, 2}, 0.0);
  expect_near(layer.run(x, {zeros, zeros}).sequence, {2, 3, 2}, kHidden, 1e-11);
}

// TensorFlow's op for one step, whose blocks of columns have another order.
BOOST_AUTO_TEST_CASE(lstm_cell_and_block_cell_agree) {
  const LstmCell cell(3, 2, {.kernel_initializer = waves(1), .recurrent_initializer = waves(2)});
  const Tensor x = wave({2, 3}), h = wave({2, 2}, 5), c = wave({2, 2}, 6), none = fill({2}, 0.0F);
  const auto reordered = [](const Tensor& t, int axis) {
    const std::vector<Tensor> parts = split(axis, t, 4);
    return concat({parts[0], parts[2], parts[1], parts[3]}, axis);
  };
  GradientTape tape({.persistent = true});
  for (const Tensor& t : {x, h, c}) tape.watch(t);
  const LstmState by_layer = cell(x, {h, c});
  const Tensor w = reordered(concat({cell.kernel().value(), cell.recurrent_kernel().value()}, 0), 1);
  const auto by_op = lstm_block_cell(x, c, h, w, none, none, none, reordered(cell.bias().value(), 0),
                                     {.forget_bias = 0, .cell_clip = -1});
  expect_near(by_op.h, {2, 2}, values_of(by_layer.h));
  expect_near(by_op.cs, {2, 2}, values_of(by_layer.c));
  const auto loss = [](const Tensor& hidden, const Tensor& memory) {
    return sum(hidden * wave({2, 2}, 4)) + sum(memory);
  };
  const std::vector<GradSource> sources = {x, h, c, cell.kernel(), cell.recurrent_kernel(), cell.bias()};
  const auto expected = tape.gradient(loss(by_layer.h, by_layer.c), sources);
  const auto got = tape.gradient(loss(by_op.h, by_op.cs), sources);
  for (size_t i = 0; i < sources.size(); ++i) expect_near(got[i], expected[i].shape(), values_of(expected[i]), 5e-6);
}

BOOST_AUTO_TEST_CASE(lstm_options) {
  const Lstm layer(3, 2, {.cell = {.name = "memory"}});
  const auto variables = layer.variables();
  BOOST_REQUIRE_EQUAL(variables.size(), 3U);
  BOOST_TEST(variables[0].name() == "memory/kernel");
  BOOST_TEST(variables[1].name() == "memory/recurrent_kernel");
  BOOST_TEST(variables[2].name() == "memory/bias");
  BOOST_TEST(variables[0].shape().to_string() == "[3,8]");
  BOOST_TEST(variables[1].shape().to_string() == "[2,8]");
  expect_near(variables[2].value(), {8}, {0, 0, 1, 1, 0, 0, 0, 0});  // as Keras
  BOOST_TEST(layer.to_string() == "Lstm(3, 2)");
  expect_near(LstmCell(1, 1, {.forget_bias = 0}).bias().value(), {4}, {0, 0, 0, 0});
}

BOOST_AUTO_TEST_CASE(lstm_misuse) {
  expect_error_begins([] { Lstm(0, 2); }, "InvalidArgument: LstmCell: expected positive sizes, got 0 and 2");
  expect_error_begins([] { LstmCell(2, -1); }, "InvalidArgument: LstmCell: expected positive sizes, got 2 and -1");
  const Lstm layer(3, 2);
  expect_error_begins([&] { layer(wave({2, 3})); },
                      "InvalidArgument: Lstm: expected an input of shape [batch, steps, 3], got [2,3]");
  expect_error_begins([&] { layer(wave({2, 3, 4})); },
                      "InvalidArgument: Lstm: expected an input of shape [batch, steps, 3], got [2,3,4]");
  expect_error_begins([&] { layer(wave({2, 0, 3})); },
                      "InvalidArgument: Lstm: expected at least one step, got an input of shape [2,0,3]");
  expect_error_begins([&] { layer.cell()(wave({2, 4}), {}); },
                      "InvalidArgument: LstmCell: expected an input of shape [batch, 3], got [2,4]");
  expect_error_begins([&] { layer.cell()(wave({2, 3}), {wave({2, 3}), {}}); },
                      "InvalidArgument: LstmCell: expected a state of shape [batch, 2], got [2,3]");
  expect_error_begins([&] { layer.run(wave({2, 3, 3}), {{}, wave({2})}); },
                      "InvalidArgument: LstmCell: expected a state of shape [batch, 2], got [2]");
}

// A number of steps that the trace does not know: one loop.
BOOST_AUTO_TEST_CASE(lstm_of_any_number_of_steps) {
  const Lstm layer(3, 2, {.return_sequences = true});
  const Function traced = trace([&](const Tensor& t) { return layer(t); }, {TensorSpec(kFloat32, {2, -1, 3})});
  for (const int64_t steps : {1, 4}) {
    const Tensor x = wave({2, steps, 3});
    expect_near(traced(x), {2, steps, 2}, values_of(layer(x)), 1e-6, 1);
  }
}

// ---- Learning -------------------------------------------------------------------------------------------------------

// Which of two marks came first, long before the end of the sequence: what a network without memory cannot know.
struct Words {
  Tensor words, labels;
};
Words sequences(int count, int64_t seed) {
  constexpr size_t kSteps = 8;
  std::vector<int32_t> words =
      random_uniform({count, int64_t{kSteps}}, {.seed = seed, .dtype = kInt32, .min = 2, .max = 6})
          .to_vector<int32_t>();
  const std::vector<int32_t> places =
      random_uniform({count}, {.seed = seed + 1, .dtype = kInt32, .min = 0, .max = 8}).to_vector<int32_t>();
  std::vector<int32_t> labels;
  for (size_t n = 0; n < places.size(); ++n) {
    labels.push_back(places[n] % 2);
    const size_t first = n * kSteps + static_cast<size_t>(places[n] / 2);
    words[first] = labels.back();
    words[first + 3] = 1 - labels.back();
  }
  return {tensor(words, {count, int64_t{kSteps}}), tensor(labels)};
}

BOOST_AUTO_TEST_CASE(an_lstm_learns) {
  set_seed(7);
  const Sequential model(Embedding(6, 4), Lstm(4, 8, {.return_sequences = true}), LayerNorm(8), Lstm(8, 8),
                         Dense(8, 2));
  Adam adam(model.variables(), {.learning_rate = 0.02});
  const Function step = trace(
      [&](const Tensor& words, const Tensor& labels) {
        GradientTape tape;
        const Tensor loss = sparse_cross_entropy(model(words), labels);
        adam.apply(tape.gradient(loss, adam.variables()));
        return loss;
      },
      {TensorSpec(kInt32, {32, 8}), TensorSpec(kInt32, {32})});
  for (int i = 0; i < 150; ++i) {
    const Words w = sequences(32, int64_t{10} + 2 * i);
    step(w.words, w.labels);
  }
  const Words fresh = sequences(200, 5);
  BOOST_TEST(accuracy(everywhere(model, fresh.words, 1e-5), fresh.labels).item<double>() > 0.95);
}

// The same in loops over doubles: an embedding, a dense layer to two classes, and gradient descent on the mean cross
// entropy.
struct PlainWords {
  static constexpr size_t kWidth = 3, kClasses = 2;
  std::vector<double> table, kernel, bias = std::vector<double>(kClasses);

  // Gives the loss before the step.
  double step(const std::vector<size_t>& words, const std::vector<size_t>& labels, double rate) {
    std::vector<double> by_table(table.size()), by_kernel(kernel.size()), by_bias(kClasses);
    const auto count = static_cast<double>(words.size());
    double loss = 0;
    for (size_t n = 0; n < words.size(); ++n) {
      const double* row = &table[kWidth * words[n]];
      double power[kClasses], total = 0;
      for (size_t c = 0; c < kClasses; ++c) {
        double logit = bias[c];
        for (size_t i = 0; i < kWidth; ++i) logit += row[i] * kernel[kClasses * i + c];
        total += power[c] = std::exp(logit);
      }
      loss -= std::log(power[labels[n]] / total) / count;
      for (size_t c = 0; c < kClasses; ++c) {
        const double by_logit = (power[c] / total - (c == labels[n] ? 1 : 0)) / count;
        by_bias[c] += by_logit;
        for (size_t i = 0; i < kWidth; ++i) {
          by_kernel[kClasses * i + c] += row[i] * by_logit;
          by_table[kWidth * words[n] + i] += kernel[kClasses * i + c] * by_logit;
        }
      }
    }
    const auto descend = [rate](std::vector<double>& values, const std::vector<double>& gradient) {
      for (size_t i = 0; i < values.size(); ++i) values[i] -= rate * gradient[i];
    };
    descend(table, by_table);
    descend(kernel, by_kernel);
    descend(bias, by_bias);
    return loss;
  }
};

// By rows and whole, eagerly and traced, an embedding learns what loops learn.
BOOST_AUTO_TEST_CASE(an_embedding_learns_by_rows) {
  PlainWords plain{.table = values_of(wave({50, 3})), .kernel = values_of(wave({3, 2}, 1))};
  double expected = 0;
  for (int i = 0; i < 40; ++i) expected = plain.step({7, 49, 7, 11}, {0, 1, 0, 1}, 0.5);
  BOOST_TEST(expected < 0.1);
  for (const bool rows : {false, true}) {
    for (const bool traced : {false, true}) {
      const Embedding table(50, 3, {.initializer = waves(0)});
      const Dense classes(3, 2, {.kernel_initializer = waves(1)});
      const Sequential model(table, classes);
      Sgd sgd(model.variables(), {.learning_rate = 0.5});
      const auto step = [&](const Tensor& words, const Tensor& labels) {
        GradientTape tape;
        const Tensor loss = sparse_cross_entropy(model(words), labels);
        if (rows) {
          sgd.apply(tape.sparse_gradient(loss, sgd.variables()));
        } else {
          sgd.apply(tape.gradient(loss, sgd.variables()));
        }
        return loss;
      };
      const Function graph = trace(step, {TensorSpec(kInt32, {4}), TensorSpec(kInt32, {4})});
      const Tensor words = tensor({7, 49, 7, 11}), labels = tensor({0, 1, 0, 1});
      double loss = 0;
      for (int i = 0; i < 40; ++i) loss = (traced ? graph(words, labels) : step(words, labels)).item<double>();
      BOOST_TEST(loss == expected, boost::test_tools::tolerance(1e-4));
      expect_near(table.table().value(), {50, 3}, plain.table, 1e-5);
      expect_near(classes.kernel().value(), {3, 2}, plain.kernel, 1e-5);
      expect_near(classes.bias().value(), {2}, plain.bias, 1e-5);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
