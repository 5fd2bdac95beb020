// Recurrent layers and attention against Keras; loops, masks, states, cells of one's own; what they refuse.
#include <cmath>

#include "panto/lib/ops/random/random.h"
#include "panto/nn/layers/attention.h"
#include "panto/nn/layers/core/masking.h"
#include "panto/nn/layers/recurrent.h"
#include "panto/tests/expect.h"
#include "panto/tests/nn/layers/keras.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(keras_recurrent)

Tensor steps_that_count() { return tensor({{true, true, false, true, false}, {false, true, true, true, true}}); }

// Outputs and state, of a layer that Keras lets return both.
Outputs all_of(const RnnOutput& out, bool sequence) {
  Outputs all = {sequence ? out.sequence : out.last};
  all.insert(all.end(), out.state.begin(), out.state.end());
  return all;
}

void expect_rnn(const std::string& name, const Layer& layer, const LayerCall& call, DType t) {
  expect_as_keras({.name = name,
                   .call = call,
                   .variables = layer.variables(),
                   .shapes = {{2, 5, 4}},
                   .type = t,
                   .any_steps = true});
}
// With the number of steps known, and unrolled or not, or unknown.
template <class L, class Options>
void expect_rnn(const std::string& name, const Options& options, int64_t units, DType t) {
  for (const bool unroll : {true, false}) {
    Options all = options;
    all.cell.dtype = t;
    all.unroll = unroll;
    const L layer(4, units, all);
    expect_rnn(name, layer, [&](std::span<const Tensor> in) { return Outputs{layer(in[0])}; }, t);
  }
}

BOOST_AUTO_TEST_CASE(layers_of_one_cell) {
  for (const DType t : {kFloat32, kFloat64}) {
    expect_rnn<SimpleRnn>("simple_rnn", SimpleRnnLayerOptions{}, 3, t);
    expect_rnn<SimpleRnn>(
        "simple_rnn_backwards",
        SimpleRnnLayerOptions{
            .return_sequences = true, .go_backwards = true, .cell = {.activation = relu, .use_bias = false}},
        3, t);
    expect_rnn<Gru>("gru", GruLayerOptions{}, 3, t);
    expect_rnn<Gru>("gru_reset_before", GruLayerOptions{.return_sequences = true, .cell = {.reset_after = false}}, 3,
                    t);
    expect_rnn<Gru>("gru_no_bias", GruLayerOptions{.cell = {.use_bias = false}}, 3, t);
    expect_rnn<Lstm>(
        "lstm",
        LstmLayerOptions{.cell = {.activation = softsign, .recurrent_activation = "hard_sigmoid", .use_bias = false}},
        3, t);
  }
}

BOOST_AUTO_TEST_CASE(masks) {
  for (const DType t : {kFloat32, kFloat64}) {
    const Gru gru(4, 3, {.cell = {.dtype = t}});
    expect_rnn(
        "gru_masked", gru,
        [&](std::span<const Tensor> in) { return all_of(gru.run(in[0], {}, steps_that_count()), true); }, t);
    const Lstm lstm(4, 3, {.go_backwards = true, .zero_output_for_mask = true, .cell = {.dtype = t}});
    expect_rnn(
        "lstm_masked", lstm,
        [&](std::span<const Tensor> in) {
          const LstmOutput out = lstm.run(in[0], {}, steps_that_count());
          return Outputs{out.sequence, out.state.h, out.state.c};
        },
        t);
  }
}

BOOST_AUTO_TEST_CASE(several_cells) {
  for (const DType t : {kFloat32, kFloat64}) {
    const Rnn stacked(StackedRnnCells(LstmCell(4, 3, {.dtype = t}), GruCell(3, 2, {.dtype = t})));
    expect_rnn("stacked", stacked, [&](std::span<const Tensor> in) { return all_of(stacked.run(in[0]), true); }, t);
    const Bidirectional both(Gru(4, 2, {.return_sequences = true, .cell = {.dtype = t}}));
    expect_rnn("bidirectional", both, [&](std::span<const Tensor> in) { return Outputs{both(in[0])}; }, t);
    const Bidirectional average(Lstm(4, 2, {.cell = {.dtype = t}}), {.merge = BidirectionalMerge::kAverage});
    expect_rnn(
        "bidirectional_average", average, [&](std::span<const Tensor> in) { return Outputs{average(in[0])}; }, t);
  }
  BOOST_TEST(Rnn(StackedRnnCells(LstmCell(4, 3, {}), GruCell(3, 2))).to_string() ==
             "Rnn(StackedRnnCells(LstmCell(4, 3), GruCell(3, 2)))");
  const Bidirectional both(Gru(4, 2), Gru(4, 3, {.go_backwards = true}));
  BOOST_TEST(both(wave({2, 5, 4})).shape().to_string() == "[2,5]");
  const auto [forward, backward] = both.run(wave({2, 5, 4}), steps_that_count());
  BOOST_TEST(forward.sequence.shape().to_string() == "[2,5,2]");
  BOOST_TEST(backward.sequence.shape().to_string() == "[2,5,3]");
  // The step that is read last stands first.
  expect_near(backward.sequence(Slice(), 0), {2, 3}, values_of(backward.last), 1e-6, 1);
}

BOOST_AUTO_TEST_CASE(convolutional) {
  for (const DType t : {kFloat32, kFloat64}) {
    const ConvLstm1D one(2, 2, 2, {.cell = {.dtype = t}});
    expect_as_keras("conv_lstm1d", one, {1, 3, 4, 2}, t);
    const ConvLstm2D two(1, 2, 2, {.return_sequences = true, .cell = {.padding = Padding::kSame, .dtype = t}});
    expect_as_keras("conv_lstm2d", two, {1, 2, 3, 2, 1}, t);
  }
  BOOST_TEST(ConvLstm3D(1, 2, 2)(wave({1, 2, 3, 3, 3, 1})).shape().to_string() == "[1,2,2,2,2]");
  BOOST_TEST(ConvLstm2D(1, 2, {2, 3}).to_string() == "ConvLstm2D(1, 2, {2, 3})");
  expect_error_begins(
      [] { ConvLstm1D(1, 2, 2)(wave({1, 2, 3, 2})); },
      "InvalidArgument: ConvLstm1D: expected an input of shape [batch, steps, length, 1], got [1,2,3,2]");
}

BOOST_AUTO_TEST_CASE(states_go_on) {
  const Gru gru(4, 3, {.cell = {.dtype = kFloat64}});
  const Tensor x = wave({2, 5, 4}, 1, kFloat64);
  const RnnOutput whole = gru.run(x), begin = gru.run(x(Slice(), Slice(0, 2)));
  const RnnOutput rest = gru.run(x(Slice(), Slice(2, 5)), begin.state);
  expect_near(rest.last, {2, 3}, values_of(whole.last), 1e-12, 1);
  expect_near(rest.sequence, {2, 3, 3}, values_of(whole.sequence(Slice(), Slice(2, 5))), 1e-12, 1);
  // The same as cell by cell.
  RnnStep step;
  for (int i = 0; i < 5; ++i) step = gru.cell()(x(Slice(), i), step.state);
  expect_near(step.output, {2, 3}, values_of(whole.last), 1e-12, 1);

  const Gru stateful(4, 3, {.stateful = true, .batch = 2, .cell = {.dtype = kFloat64}});
  for (size_t i = 0; i < 3; ++i) stateful.variables()[i].assign(gru.variables()[i].value());
  BOOST_TEST(stateful.variables().size() == 3U);
  BOOST_TEST(stateful.state().size() == 1U);
  const Function traced = trace([&](const Tensor& t) { return stateful(t); }, {TensorSpec(kFloat64, {2, -1, 4})});
  for (int round = 0; round < 2; ++round) {
    stateful(x(Slice(), Slice(0, 2)));
    expect_near(traced(x(Slice(), Slice(2, 5))), {2, 3}, values_of(whole.last), 1e-12, 1);
    stateful.reset_state();
  }
  expect_error_begins([&] { gru.reset_state(); }, "FailedPrecondition: Gru: expected a stateful layer, got another");
  expect_error_begins([&] { stateful(wave({3, 2, 4}, 1, kFloat64)); },
                      "InvalidArgument: Gru: expected a batch of 2, got an input of shape [3,2,4]");
  expect_error_begins([] { Lstm(4, 3, {.stateful = true}); },
                      "InvalidArgument: Lstm: expected the batch of a stateful layer, got 0");
}

// A cell of one's own, and of several outputs.
struct Leaky : RnnCell {
  Dense in{4, 3, {.dtype = kFloat64}}, back{3, 3, {.use_bias = false, .dtype = kFloat64}};
  Parts parts() const override { return {in, back}; }
  std::vector<int64_t> state_sizes() const override { return {3}; }
  RnnStep step(const Tensor& x, const RnnState& state) const override {
    const Tensor h = 0.5 * state[0] + 0.5 * tanh(in(x) + back(state[0]));
    return {h, {h}};
  }
};

BOOST_AUTO_TEST_CASE(cells_of_ones_own) {
  const Rnn layer(Leaky(), {.return_sequences = true});
  BOOST_TEST(layer.variables().size() == 3U);
  BOOST_TEST(layer.to_string() == "Rnn(Leaky())");
  const Tensor x = wave({2, 5, 4}, 1, kFloat64);
  const Tensor y = everywhere(layer, x);
  const Function loop = trace([&](const Tensor& t) { return layer(t); }, {TensorSpec(kFloat64, {-1, -1, 4})});
  expect_near(loop(x), {2, 5, 3}, values_of(y), 1e-12, 1);
  const Tensor masked = layer.run(x, {}, steps_that_count()).last;
  expect_near(masked, {2, 3}, values_of(layer.run(x, {}, steps_that_count()).state[0]), 1e-12, 1);
  expect_error_begins([&] { Bidirectional both(layer); },
                      "Unimplemented: Bidirectional: expected a second layer, since Leaky() does not make another");
}

BOOST_AUTO_TEST_CASE(dropout_is_the_same_at_all_steps) {
  set_seed(2);
  // State and inputs are added up, of which half is dropped.
  SimpleRnnOptions options{.activation = nullptr, .use_bias = false, .dropout = 0.5};
  options.kernel_initializer = [](const Shape& shape, DType type) { return eye(shape.dim(0), type); };
  options.recurrent_initializer = constant_initializer(0);
  const SimpleRnn layer(8, 8, {.return_sequences = true, .cell = options});
  const Tensor x = ones({4, 6, 8});
  expect_near(layer(x), {4, 6, 8}, values_of(x));
  const TrainingScope training;
  const Tensor y = layer(x);
  for (int i = 1; i < 6; ++i) expect_near(y(Slice(), i), {4, 8}, values_of(y(Slice(), 0)));
  const double share = mean(y(Slice(), 0)).item<double>();
  BOOST_TEST(share > 0.4);
  BOOST_TEST(share < 1.6);
  for (const double v : values_of(y)) BOOST_TEST((v == 0 || v == 2));
  const Gru gru(8, 3, {.cell = {.dropout = 0.25, .recurrent_dropout = 0.25}});
  const Lstm lstm(8, 3, {.cell = {.dropout = 0.25, .recurrent_dropout = 0.25}});
  for (const Layer* l : {static_cast<const Layer*>(&gru), static_cast<const Layer*>(&lstm)}) {
    BOOST_TEST(values_of((*l)(x)) != values_of((*l)(x)));
    const Function loop = trace([&](const Tensor& t) { return (*l)(t); }, {TensorSpec(kFloat32, {-1, -1, 8})});
    BOOST_TEST(values_of(loop(x)) != values_of(loop(x)));
  }
}

BOOST_AUTO_TEST_CASE(misuse) {
  const auto expect_invalid = [](const auto& f, const std::string& text) {
    expect_error_begins(f, "InvalidArgument: " + text);
  };
  expect_invalid([] { Gru(0, 2); }, "GruCell: expected positive sizes, got 0 and 2");
  expect_invalid([] { SimpleRnn(2, 2, {.cell = {.dropout = 1}}); }, "SimpleRnnCell: expected a rate in [0, 1), got 1");
  expect_invalid([] { Gru(2, 3)(wave({2, 3, 4})); },
                 "Gru: expected an input of shape [batch, steps, 2], got [2,3,4] [in Gru(2, 3)]");
  expect_invalid([] { Gru(2, 3).run(wave({2, 3, 2}), {wave({2, 2})}); },
                 "Gru: expected state 0 of shape [2,3], got [2,2]");
  expect_invalid([] { Gru(2, 3).run(wave({2, 3, 2}), {wave({2, 3}), wave({2, 3})}); }, "Gru: expected 1 states, got 2");
  expect_invalid([] { Gru(2, 3).run(wave({2, 3, 2}), {}, ones({2, 3})); },
                 "Gru: expected a mask of bool[2,3], got float32[2,3]");
  expect_invalid([] { Gru(2, 3).run(wave({2, 3, 2}), {}, ones({2, 4}, kBool)); },
                 "Gru: expected a mask of bool[2,3], got bool[2,4]");
  expect_invalid([] { Bidirectional(Gru(2, 3), Gru(2, 3)); },
                 "Bidirectional: expected a first layer that goes forwards and a second one that goes backwards");
}

// ---- Attention ------------------------------------------------------------------------------------------------------

template <class L>
void expect_attention(const std::string& name, const L& layer, DType t, const Tensor& mask = {}, int inputs = 2) {
  const Shape shapes[] = {{2, 3, 4}, {2, 4, 4}, {2, 4, 4}};
  expect_as_keras({.name = name,
                   .call =
                       [&](std::span<const Tensor> in) {
                         return Outputs{layer(in[0], in[1], inputs > 2 ? in[2] : Tensor(), mask)};
                       },
                   .variables = layer.variables(),
                   .shapes = {shapes, shapes + inputs},
                   .type = t,
                   .any_steps = true,
                   .in_matrices = true});
}

BOOST_AUTO_TEST_CASE(attention) {
  const Tensor mask = tensor({{true, false, true, true}, {false, true, false, false}, {true, true, false, false}});
  for (const DType t : {kFloat32, kFloat64}) {
    expect_attention("attention", Attention({.use_scale = true, .dtype = t}), t);
    expect_attention("attention_concat", Attention({.score = AttentionScore::kConcat, .use_scale = true, .dtype = t}),
                     t);
    expect_attention("attention_causal", Attention({.causal = true}), t);
    expect_attention("additive_attention", AdditiveAttention(4, {.dtype = t}), t, {}, 3);
    const MultiHeadAttentionOptions grouped{.heads = 4, .key_dim = 3, .key_value_heads = 2, .dtype = t};
    expect_attention("group_query_attention", MultiHeadAttention(4, grouped), t);
    MultiHeadAttentionOptions causal = grouped;
    causal.causal = true;
    causal.use_bias = false;
    expect_attention("group_query_attention_masked", MultiHeadAttention(4, causal), t, mask);
  }
  BOOST_TEST(MultiHeadAttention(8, {.heads = 4, .key_value_heads = 2}).to_string() ==
             "MultiHeadAttention(8, 4 heads of 2, 2 of keys)");
  expect_error_begins([] { MultiHeadAttention(8, {.heads = 4, .key_value_heads = 3}); },
                      "InvalidArgument: MultiHeadAttention: expected key_value_heads that divide 4 heads, got 3");
  expect_error_begins([] { Attention()(wave({2, 3, 4}), wave({2, 4, 5})); },
                      "InvalidArgument: Attention: expected keys of shape [batch, steps, 4], got [2,4,5]");
  expect_error_begins([] { AdditiveAttention(3)(wave({2, 3, 4})); },
                      "InvalidArgument: AdditiveAttention: expected queries of shape [batch, steps, 3], got [2,3,4]");
}

// Step after step, with the keys so far, as all at once.
BOOST_AUTO_TEST_CASE(cached_keys) {
  for (const int64_t shared : {0, 2}) {
    const MultiHeadAttention attend(8, {.heads = 4, .causal = true, .key_value_heads = shared, .dtype = kFloat64});
    const Tensor x = wave({2, 5, 8}, 1, kFloat64), y = attend(x);
    AttentionCache cache;
    expect_near(attend.step(x(Slice(), Slice(0, 2)), cache), {2, 2, 8}, values_of(y(Slice(), Slice(0, 2))), 1e-12, 1);
    for (int i = 2; i < 5; ++i) {
      const Tensor now = attend.step(x(Slice(), Slice(i, i + 1)), cache);
      expect_near(now, {2, 1, 8}, values_of(y(Slice(), Slice(i, i + 1))), 1e-12, 1);
    }
    BOOST_TEST(cache.keys.dim(2) == 5);
    // In a trace the cache goes in and out.
    using Three = std::tuple<Tensor, Tensor, Tensor>;
    const auto step = trace(
        [&](const Tensor& t, const Tensor& keys, const Tensor& values) {
          AttentionCache in{keys, values};
          const Tensor out = attend.step(t, in);
          return Three(out, in.keys, in.values);
        },
        {TensorSpec(kFloat64, {2, 1, 8}), TensorSpec(kFloat64, {2, -1, -1, -1}),
         TensorSpec(kFloat64, {2, -1, -1, -1})});
    AttentionCache first;
    attend.step(x(Slice(), Slice(0, 4)), first);
    const auto [out, keys, values] = step(x(Slice(), Slice(4, 5)), first.keys, first.values);
    expect_near(out, {2, 1, 8}, values_of(y(Slice(), Slice(4, 5))), 1e-12, 1);
    BOOST_TEST(keys.dim(2) == 5);
    AttentionCache wrong{wave({2, 3, 1, 2}, 0, kFloat64), wave({2, 3, 1, 2}, 0, kFloat64)};
    expect_error_begins([&] { attend.step(x, wrong); },
                        "InvalidArgument: MultiHeadAttention: expected a cache of shape");
  }
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
