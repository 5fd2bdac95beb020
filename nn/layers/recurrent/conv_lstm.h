// Long short-term memory with convolutions instead of matrix products (Shi et al. 2015): for sequences of sequences,
// images or volumes.
//
//   ConvLstm2D layer(3, 16, 3, {.return_sequences = true});
//   Tensor y = layer(x);                        // [batch, steps, 32, 32, 3] -> [batch, steps, 30, 30, 16]
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/convolution/convolution.h"
#include "panto/nn/layers/recurrent/rnn.h"

namespace panto {

template <int Rank>
struct ConvLstmOptions {
  Extents<Rank> stride = 1;           // of the input's convolution
  Padding padding = Padding::kValid;  // the same; the state's convolution has kSame
  Extents<Rank> dilation = 1;
  Activation activation = "tanh";
  Activation recurrent_activation = "sigmoid";  // of the gates
  bool use_bias = true;
  Initializer kernel_initializer = glorot_uniform();
  Initializer recurrent_initializer = glorot_uniform();
  double forget_bias = 1;  // initial bias of the forget gate; the other biases start at zero
  std::string name = Rank == 1 ? "conv_lstm1d" : Rank == 2 ? "conv_lstm2d" : "conv_lstm3d";
  DType dtype = kFloat32;
};

// One step, as LstmCell with convolutions instead of products. The kernel is [window..., inputs, 4 filters], the
// recurrent kernel [window..., filters, 4 filters], the bias [4 filters], in the blocks of LstmCell. The states are h
// and c.
template <int Rank>
class PANTO_EXPORT ConvLstmCell final : public RnnCell {
 public:
  // Throws InvalidArgument unless all sizes are positive.
  ConvLstmCell(int64_t inputs, int64_t filters, Extents<Rank> window, ConvLstmOptions<Rank> options);
  std::vector<int64_t> state_sizes() const override { return {filters_, filters_}; }
  RnnStep step(const Tensor& x, const RnnState& state) const override;
  Parts parts() const override { return {kernel_, recurrent_kernel_, bias_}; }
  std::string to_string() const override;
  const Variable& kernel() const { return kernel_; }
  const Variable& recurrent_kernel() const { return recurrent_kernel_; }
  const Variable& bias() const { return bias_; }  // undefined without use_bias

  RnnStep start(const Tensor& x, bool one_step) const override;
  bool takes_undefined() const override { return true; }
  void expect_sequence(const Tensor& x, std::string_view layer) const override;
  std::shared_ptr<const RnnCell> fresh() const override;

 private:
  Tensor convolved(const Tensor& x) const;

  int64_t inputs_, filters_;
  Extents<Rank> window_;
  ConvLstmOptions<Rank> options_;
  Variable kernel_, recurrent_kernel_, bias_;
};
extern template class ConvLstmCell<1>;
extern template class ConvLstmCell<2>;
extern template class ConvLstmCell<3>;

// A ConvLstmCell over sequences: [batch, steps, height, width, inputs] -> [batch, rows, columns, filters], or [batch,
// steps, rows, columns, filters] with return_sequences. Not stateful.
template <int Rank>
class PANTO_EXPORT ConvLstm final : public Rnn {
 public:
  // Throws InvalidArgument unless all sizes are positive, and with `stateful`.
  ConvLstm(int64_t inputs, int64_t filters, Extents<Rank> window, RecurrentOptions<ConvLstmOptions<Rank>> options);
  ConvLstm(int64_t inputs, int64_t filters, Extents<Rank> window);
  const ConvLstmCell<Rank>& cell() const { return static_cast<const ConvLstmCell<Rank>&>(Rnn::cell()); }
};
extern template class ConvLstm<1>;
extern template class ConvLstm<2>;
extern template class ConvLstm<3>;
using ConvLstm1D = ConvLstm<1>;
using ConvLstm2D = ConvLstm<2>;
using ConvLstm3D = ConvLstm<3>;

}  // namespace panto
