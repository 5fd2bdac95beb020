// The simplest recurrent layer (Elman 1990).
//
//   SimpleRnn rnn(16, 32);
//   Tensor y = rnn(x);                                  // [batch, steps, 16] -> [batch, 32]
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/recurrent/rnn.h"

namespace panto {

struct SimpleRnnOptions {
  Activation activation = "tanh";
  bool use_bias = true;
  Initializer kernel_initializer = glorot_uniform();
  Initializer recurrent_initializer = glorot_uniform();  // Keras's is orthogonal
  double dropout = 0;            // share of the inputs dropped in training, the same at all steps
  double recurrent_dropout = 0;  // of the state before the recurrent kernel
  std::string name = "simple_rnn";
  DType dtype = kFloat32;
};

// One step: h' = activation(x . kernel + h . recurrent_kernel + bias), which is also the output. The kernel is [inputs,
// units], the recurrent kernel [units, units], the bias [units].
class PANTO_EXPORT SimpleRnnCell final : public RnnCell {
 public:
  // Throws InvalidArgument unless inputs and units are positive, and dropouts in [0, 1).
  SimpleRnnCell(int64_t inputs, int64_t units, SimpleRnnOptions options);
  SimpleRnnCell(int64_t inputs, int64_t units);
  std::vector<int64_t> state_sizes() const override { return {units_}; }
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
  int64_t inputs_, units_;
  SimpleRnnOptions options_;
  Variable kernel_, recurrent_kernel_, bias_;
};

using SimpleRnnLayerOptions = RecurrentOptions<SimpleRnnOptions>;

// A SimpleRnnCell over sequences: [batch, steps, inputs] -> [batch, units], or [batch, steps, units] with
// return_sequences.
class PANTO_EXPORT SimpleRnn final : public Rnn {
 public:
  SimpleRnn(int64_t inputs, int64_t units, SimpleRnnLayerOptions options);
  SimpleRnn(int64_t inputs, int64_t units);
  const SimpleRnnCell& cell() const { return static_cast<const SimpleRnnCell&>(Rnn::cell()); }
};

}  // namespace panto
