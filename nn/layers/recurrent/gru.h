// Gated recurrent units (Cho et al. 2014).
//
//   Gru gru(16, 32, {.return_sequences = true, .cell = {.dropout = 0.2}});
//   Tensor y = gru(x);                                  // [batch, steps, 16] -> [batch, steps, 32]
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/recurrent/rnn.h"

namespace panto {

struct GruOptions {
  Activation activation = "tanh";
  Activation recurrent_activation = "sigmoid";
  bool reset_after = true;  // the reset gate acts after the product with the recurrent kernel, as in cuDNN and PyTorch
  bool use_bias = true;
  Initializer kernel_initializer = glorot_uniform();
  Initializer recurrent_initializer = glorot_uniform();  // Keras's is orthogonal
  double dropout = 0;            // share of the inputs dropped in training, the same at all steps
  double recurrent_dropout = 0;  // of the state before the recurrent kernel; the same for all gates
  std::string name = "gru";
  DType dtype = kFloat32;
};

// One step, with [z, r, g] = x . kernel + bias and, with reset_after, [z', r', g'] = h . recurrent_kernel + bias':
//   z = sigmoid(z + z'),  r = sigmoid(r + r'),  g = tanh(g + r g')
//   h' = z h + (1 - z) g
// Without reset_after g = tanh(g + (r h) . recurrent_kernel's last block). The kernel is [inputs, 3 units], the
// recurrent kernel [units, 3 units], the bias [2, 3 units] with reset_after, else [3 units]; their three blocks of
// columns are for update gate, reset gate and candidate, as in Keras. (PyTorch has them in the order r, z, n.)
class PANTO_EXPORT GruCell final : public RnnCell {
 public:
  // Throws InvalidArgument unless inputs and units are positive, and dropouts in [0, 1).
  GruCell(int64_t inputs, int64_t units, GruOptions options);
  GruCell(int64_t inputs, int64_t units);
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
  bool takes_undefined() const override { return !options_.reset_after || !options_.use_bias; }
  void expect_sequence(const Tensor& x, std::string_view layer) const override;
  std::shared_ptr<const RnnCell> fresh() const override;

 private:
  int64_t inputs_, units_;
  GruOptions options_;
  Variable kernel_, recurrent_kernel_, bias_;
};

using GruLayerOptions = RecurrentOptions<GruOptions>;

// A GruCell over sequences: [batch, steps, inputs] -> [batch, units], or [batch, steps, units] with return_sequences.
class PANTO_EXPORT Gru final : public Rnn {
 public:
  Gru(int64_t inputs, int64_t units, GruLayerOptions options);
  Gru(int64_t inputs, int64_t units);
  const GruCell& cell() const { return static_cast<const GruCell&>(Rnn::cell()); }
};

}  // namespace panto
