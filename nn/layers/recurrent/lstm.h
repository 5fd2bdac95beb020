// Long short-term memory (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000).
//
//   Lstm lstm(16, 32);
//   auto [sequence, state] = lstm.run(x);       // all hidden states [batch, steps, 32], and the last state
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/recurrent/rnn.h"

namespace panto {

// Hidden state and memory cell, [batch, units]. Undefined tensors stand for zeros.
struct LstmState {
  Tensor h = {}, c = {};
};

struct LstmOptions {
  Activation activation = "tanh";
  Activation recurrent_activation = "sigmoid";  // of the gates
  bool use_bias = true;
  Initializer kernel_initializer = glorot_uniform();
  Initializer recurrent_initializer = glorot_uniform();  // Keras's is orthogonal
  double forget_bias = 1;        // initial bias of the forget gate; the other biases start at zero
  double dropout = 0;            // share of the inputs dropped in training, the same at all steps
  double recurrent_dropout = 0;  // of the hidden state before the recurrent kernel; the same for all gates
  std::string name = "lstm";     // of the variables: "lstm/kernel", "lstm/recurrent_kernel", "lstm/bias"
  DType dtype = kFloat32;
};

// One step:
//   [i, f, g, o] = x . kernel + h . recurrent_kernel + bias
//   c' = sigmoid(f) * c + sigmoid(i) * tanh(g)
//   h' = sigmoid(o) * tanh(c')
// The kernel is [inputs, 4 units], the recurrent kernel [units, 4 units], the bias [4 units]; their four blocks of
// columns are for input gate, forget gate, candidate and output gate, as in Keras (and, transposed, in PyTorch, which
// has two biases that are added). As an RnnCell its states are h and c.
class PANTO_EXPORT LstmCell final : public RnnCell {
 public:
  // Throws InvalidArgument unless inputs and units are positive, and dropouts in [0, 1).
  LstmCell(int64_t inputs, int64_t units, LstmOptions options);
  LstmCell(int64_t inputs, int64_t units);
  // x [batch, inputs]. Throws InvalidArgument for an x or a state of other shapes.
  LstmState operator()(const Tensor& x, const LstmState& state,
                       std::source_location where = std::source_location::current()) const;
  std::vector<int64_t> state_sizes() const override { return {units_, units_}; }
  RnnStep step(const Tensor& x, const RnnState& state) const override;
  Parts parts() const override { return {kernel_, recurrent_kernel_, bias_}; }
  std::string to_string() const override;
  int64_t inputs() const { return inputs_; }
  int64_t units() const { return units_; }
  const Variable& kernel() const { return kernel_; }
  const Variable& recurrent_kernel() const { return recurrent_kernel_; }
  const Variable& bias() const { return bias_; }  // undefined without use_bias

  Sequence prepare(const Tensor& x, bool one_step) const override;
  RnnStep advance(const Tensor& x, const RnnState& state, const std::vector<Tensor>& held) const override;
  bool takes_undefined() const override { return true; }
  void expect_sequence(const Tensor& x, std::string_view layer) const override;
  std::shared_ptr<const RnnCell> fresh() const override;

 private:
  friend class Lstm;
  void expect_state(const LstmState& state) const;

  int64_t inputs_, units_;
  LstmOptions options_;
  Variable kernel_, recurrent_kernel_, bias_;
};

// The hidden states of all steps [batch, steps, units], and the state after the last one.
struct LstmOutput {
  Tensor sequence;
  LstmState state;
};

using LstmLayerOptions = RecurrentOptions<LstmOptions>;

// An LstmCell over sequences, from a state of zeros: [batch, steps, inputs] -> [batch, units], or [batch, steps, units]
// with return_sequences.
class PANTO_EXPORT Lstm final : public Rnn {
 public:
  // Throws InvalidArgument unless inputs and units are positive.
  Lstm(int64_t inputs, int64_t units, LstmLayerOptions options);
  Lstm(int64_t inputs, int64_t units);
  // From a given state, with a mask as in Rnn::run. Throws as that.
  LstmOutput run(const Tensor& x, const LstmState& state = {}, const Tensor& mask = {},
                 std::source_location where = std::source_location::current()) const;
  const LstmCell& cell() const { return static_cast<const LstmCell&>(Rnn::cell()); }
};

}  // namespace panto
