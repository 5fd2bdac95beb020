// Convolutions of sequences [batch, steps, channels], images [batch, height, width, channels] and volumes [batch,
// depth, height, width, channels].
//
//   Conv1D(16, 32, 3, {.padding = Padding::kCausal})
//   Conv2D(3, 32, {3, 5}, {.stride = 2, .activation = relu})
//   Conv2DTranspose(32, 3, 4, {.stride = 2, .padding = Padding::kSame})
//
// The last dimension has the channels. Kernels and biases have Keras's layout.
#pragma once

#include <optional>
#include <string>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/convolution/extents.h"
#include "panto/nn/layers/layer.h"

namespace panto {

// kValid: windows lie inside the image; a rest at the end may be left out: (size - window) / stride + 1 positions,
// rounded down. kSame: zero padding, the odd element below and to the right, as TensorFlow: size / stride positions,
// rounded up. kCausal, for Conv1D and layers built on it: zeros before the sequence, so that no step sees a later one.
enum class Padding : uint8_t { kValid, kSame, kCausal };

template <int Rank>
struct ConvOptions {
  Extents<Rank> stride = 1;
  Padding padding = Padding::kValid;
  Extents<Rank> dilation = 1;       // distance of neighbouring elements of the window
  int64_t groups = 1;               // groups of channels, each convolved separately
  Activation activation = nullptr;  // none
  bool use_bias = true;
  Initializer kernel_initializer = glorot_uniform();
  Initializer bias_initializer = constant_initializer(0);
  Regularizer kernel_regularizer = nullptr, bias_regularizer = nullptr, activity_regularizer = nullptr;
  Constraint kernel_constraint = nullptr, bias_constraint = nullptr;
  // Prefix of the variables: "conv2d/kernel", "conv2d/bias".
  std::string name = Rank == 1 ? "conv1d" : Rank == 2 ? "conv2d" : "conv3d";
  DType dtype = kFloat32;
};
using Conv1DOptions = ConvOptions<1>;
using Conv2DOptions = ConvOptions<2>;
using Conv3DOptions = ConvOptions<3>;

// activation(x * kernel + bias), a cross-correlation: [batch, height, width, inputs] -> [batch, rows, columns,
// filters]. The kernel is [window height, window width, inputs / groups, filters], the bias [filters]. Sequences have
// one spatial dimension, volumes three.
template <int Rank>
class PANTO_EXPORT Conv final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless all sizes are positive and groups divides inputs and filters.
  Conv(int64_t inputs, int64_t filters, Extents<Rank> window, ConvOptions<Rank> options);
  Conv(int64_t inputs, int64_t filters, Extents<Rank> window);
  // Throws InvalidArgument unless x is a batch of images with `inputs` channels, and without padding at least as large
  // as the window.
  Tensor forward(const Tensor& x) const override;
  Parts parts() const override { return {kernel_, bias_}; }
  std::string to_string() const override;
  const Variable& kernel() const { return kernel_; }
  const Variable& bias() const { return bias_; }  // undefined without use_bias

 private:
  int64_t inputs_, filters_;
  Extents<Rank> window_, stride_, dilation_;
  Padding padding_;
  Activation activation_;
  Variable kernel_, bias_;
};
extern template class Conv<1>;
extern template class Conv<2>;
extern template class Conv<3>;
using Conv1D = Conv<1>;
using Conv2D = Conv<2>;
using Conv3D = Conv<3>;

template <int Rank>
struct ConvTransposeOptions {
  Extents<Rank> stride = 1;
  Padding padding = Padding::kValid;  // not kCausal
  // How far the output extends beyond the last window, as in Keras, where kSame then crops (window - 1) / 2 from each
  // side. None: with kValid the windows' extent, at least `stride` per input; with kSame exactly `stride` per input.
  std::optional<Extents<Rank>> output_padding = std::nullopt;
  Extents<Rank> dilation = 1;
  Activation activation = nullptr;  // none
  bool use_bias = true;
  Initializer kernel_initializer = glorot_uniform();
  Initializer bias_initializer = constant_initializer(0);
  Regularizer kernel_regularizer = nullptr, bias_regularizer = nullptr, activity_regularizer = nullptr;
  Constraint kernel_constraint = nullptr, bias_constraint = nullptr;
  std::string name = Rank == 1 ? "conv1d_transpose" : Rank == 2 ? "conv2d_transpose" : "conv3d_transpose";
  DType dtype = kFloat32;
};
using Conv1DTransposeOptions = ConvTransposeOptions<1>;
using Conv2DTransposeOptions = ConvTransposeOptions<2>;
using Conv3DTransposeOptions = ConvTransposeOptions<3>;

// The transpose of a convolution; it spreads every element over a window: [batch, height, width, inputs] -> [batch,
// rows, columns, filters]. With kValid rows = stride (height - 1) + max(window, stride), with kSame rows = stride
// height. The kernel is [window height, window width, filters, inputs].
template <int Rank>
class PANTO_EXPORT ConvTranspose final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless all sizes are positive and an output padding is in [0, stride).
  ConvTranspose(int64_t inputs, int64_t filters, Extents<Rank> window, ConvTransposeOptions<Rank> options);
  ConvTranspose(int64_t inputs, int64_t filters, Extents<Rank> window);
  // Throws InvalidArgument unless x is a batch of images with `inputs` channels.
  Tensor forward(const Tensor& x) const override;
  Parts parts() const override { return {kernel_, bias_}; }
  std::string to_string() const override;
  const Variable& kernel() const { return kernel_; }
  const Variable& bias() const { return bias_; }  // undefined without use_bias

 private:
  int64_t inputs_, filters_;
  Extents<Rank> window_, stride_, dilation_;
  Padding padding_;
  Extents<Rank> beyond_ = 0;  // output size - stride * input size
  Activation activation_;
  Variable kernel_, bias_;
};
extern template class ConvTranspose<1>;
extern template class ConvTranspose<2>;
extern template class ConvTranspose<3>;
using Conv1DTranspose = ConvTranspose<1>;
using Conv2DTranspose = ConvTranspose<2>;
using Conv3DTranspose = ConvTranspose<3>;

template <int Rank>
struct DepthwiseConvOptions {
  Extents<Rank> stride = 1;
  Padding padding = Padding::kValid;
  int64_t depth_multiplier = 1;  // output channels per input channel
  Extents<Rank> dilation = 1;
  Activation activation = nullptr;  // none
  bool use_bias = true;
  Initializer depthwise_initializer = glorot_uniform();
  Initializer bias_initializer = constant_initializer(0);
  Regularizer depthwise_regularizer = nullptr, bias_regularizer = nullptr, activity_regularizer = nullptr;
  Constraint depthwise_constraint = nullptr, bias_constraint = nullptr;
  std::string name = Rank == 1 ? "depthwise_conv1d" : "depthwise_conv2d";
  DType dtype = kFloat32;
};
using DepthwiseConv1DOptions = DepthwiseConvOptions<1>;
using DepthwiseConv2DOptions = DepthwiseConvOptions<2>;

// A convolution of each channel separately: [batch, height, width, inputs] -> [batch, rows, columns, inputs *
// depth_multiplier], with the outputs of the first channel first. The kernel is [window height, window width, inputs,
// depth_multiplier].
template <int Rank>
class PANTO_EXPORT DepthwiseConv final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless all sizes are positive.
  DepthwiseConv(int64_t inputs, Extents<Rank> window, DepthwiseConvOptions<Rank> options);
  DepthwiseConv(int64_t inputs, Extents<Rank> window);
  // Throws as Conv2D.
  Tensor forward(const Tensor& x) const override;
  Parts parts() const override { return {kernel_, bias_}; }
  std::string to_string() const override;
  const Variable& kernel() const { return kernel_; }
  const Variable& bias() const { return bias_; }  // undefined without use_bias

 private:
  int64_t inputs_;
  Extents<Rank> window_, stride_, dilation_;
  Padding padding_;
  Activation activation_;
  Variable kernel_, bias_;
};
extern template class DepthwiseConv<1>;
extern template class DepthwiseConv<2>;
using DepthwiseConv1D = DepthwiseConv<1>;
using DepthwiseConv2D = DepthwiseConv<2>;

template <int Rank>
struct SeparableConvOptions {
  Extents<Rank> stride = 1;
  Padding padding = Padding::kValid;
  Extents<Rank> dilation = 1;
  int64_t depth_multiplier = 1;
  Activation activation = nullptr;  // none
  bool use_bias = true;
  Initializer depthwise_initializer = glorot_uniform();
  Initializer pointwise_initializer = glorot_uniform();
  Initializer bias_initializer = constant_initializer(0);
  Regularizer depthwise_regularizer = nullptr, pointwise_regularizer = nullptr, bias_regularizer = nullptr;
  Regularizer activity_regularizer = nullptr;
  Constraint depthwise_constraint = nullptr, pointwise_constraint = nullptr, bias_constraint = nullptr;
  std::string name = Rank == 1 ? "separable_conv1d" : "separable_conv2d";
  DType dtype = kFloat32;
};
using SeparableConv1DOptions = SeparableConvOptions<1>;
using SeparableConv2DOptions = SeparableConvOptions<2>;

// A depthwise convolution, followed by a convolution with a window of 1 that mixes its channels: [batch, height, width,
// inputs] -> [batch, rows, columns, filters]. Kernels are [window height, window width, inputs, depth_multiplier] and
// [1, 1, inputs * depth_multiplier, filters].
template <int Rank>
class PANTO_EXPORT SeparableConv final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless all sizes are positive.
  SeparableConv(int64_t inputs, int64_t filters, Extents<Rank> window, SeparableConvOptions<Rank> options);
  SeparableConv(int64_t inputs, int64_t filters, Extents<Rank> window);
  // Throws as Conv2D.
  Tensor forward(const Tensor& x) const override;
  Parts parts() const override { return {depthwise_kernel_, pointwise_kernel_, bias_}; }
  std::string to_string() const override;
  const Variable& depthwise_kernel() const { return depthwise_kernel_; }
  const Variable& pointwise_kernel() const { return pointwise_kernel_; }
  const Variable& bias() const { return bias_; }  // undefined without use_bias

 private:
  int64_t inputs_, filters_;
  Extents<Rank> window_, stride_, dilation_;
  Padding padding_;
  Activation activation_;
  Variable depthwise_kernel_, pointwise_kernel_, bias_;
};
extern template class SeparableConv<1>;
extern template class SeparableConv<2>;
using SeparableConv1D = SeparableConv<1>;
using SeparableConv2D = SeparableConv<2>;

}  // namespace panto
