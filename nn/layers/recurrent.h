// Long short-term memory (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000).
#pragma once

#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/layer.h"

namespace panto {

// Hidden state and memory cell, [batch, units]. Undefined tensors stand for zeros.
struct LstmState {
  Tensor h = {}, c = {};
};

struct LstmOptions {
  Initializer kernel_initializer = glorot_uniform();
  Initializer recurrent_initializer = glorot_uniform();
  double forget_bias = 1;     // what the forget gate's part of the bias starts at; the others at zero
  std::string name = "lstm";  // of the variables: "lstm/kernel", "lstm/recurrent_kernel", "lstm/bias"
  DType dtype = kFloat32;
};

// One step:
//   [i, f, g, o] = x . kernel + h . recurrent_kernel + bias
//   c' = sigmoid(f) * c + sigmoid(i) * tanh(g)
//   h' = sigmoid(o) * tanh(c')
// The kernel is [inputs, 4 units], the recurrent one [units, 4 units], the bias [4 units]; of each, the four blocks of
// columns are for input gate, forget gate, candidate and output gate, as in Keras (and, transposed, in PyTorch, which
// has two biases to be added).
class PANTO_EXPORT LstmCell {
 public:
  // Throws InvalidArgument unless inputs and units are positive.
  LstmCell(int64_t inputs, int64_t units, LstmOptions options);
  LstmCell(int64_t inputs, int64_t units);
  // x [batch, inputs]. Throws InvalidArgument for an x or a state of other shapes.
  LstmState operator()(const Tensor& x, const LstmState& state,
                       std::source_location where = std::source_location::current()) const;
  std::vector<Variable> variables() const;
  int64_t inputs() const { return inputs_; }
  int64_t units() const { return units_; }
  const Variable& kernel() const { return kernel_; }
  const Variable& recurrent_kernel() const { return recurrent_kernel_; }
  const Variable& bias() const { return bias_; }

 private:
  friend class Lstm;
  // x . kernel + bias: of [batch, inputs] or of [batch, steps, inputs].
  Tensor project(const Tensor& x) const;
  LstmState step(Tensor projected, const LstmState& state) const;
  void expect_state(const LstmState& state) const;

  int64_t inputs_, units_;
  Variable kernel_, recurrent_kernel_, bias_;
};

// The hidden states of all steps [batch, steps, units], and the state after the last one.
struct LstmOutput {
  Tensor sequence;
  LstmState state;
};

struct LstmLayerOptions {
  bool return_sequences = false;  // the hidden states of all steps, not of the last one only
  LstmOptions cell = {};
};

// A cell, step after step, from a state of zeros: [batch, steps, inputs] -> [batch, units], or [batch, steps, units]
// with return_sequences. The steps are unrolled: a trace must know their number.
class PANTO_EXPORT Lstm final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless inputs and units are positive.
  Lstm(int64_t inputs, int64_t units, LstmLayerOptions options);
  Lstm(int64_t inputs, int64_t units);
  // Throws InvalidArgument for an x of another shape or without a step, Unimplemented where the trace does not know the
  // number of steps.
  Tensor forward(const Tensor& x) const override;
  // From a given state. Throws as above.
  LstmOutput run(const Tensor& x, const LstmState& state = {},
                 std::source_location where = std::source_location::current()) const;
  std::vector<Variable> variables() const override { return cell_.variables(); }
  std::string to_string() const override;
  const LstmCell& cell() const { return cell_; }

 private:
  // The hidden states of all steps, and the last memory cell.
  std::pair<std::vector<Tensor>, Tensor> unroll(const Tensor& x, LstmState state) const;

  bool return_sequences_;
  LstmCell cell_;
};

}  // namespace panto
