// Layers as functions on variable scopes, as in tf.compat.v1.layers.
//
//   Tensor hidden = layers::dense(x, 128, {.activation = relu});           // makes "dense/kernel" and "dense/bias"
//   Tensor logits = layers::dense(hidden, 10);                             // "dense_1/kernel", "dense_1/bias"
//   Tensor again = layers::dense(other, 128, {.name = "dense", .reuse = Reuse::kYes});
//
//   Tensor y = layers::conv2d(images, 32, 3, {.padding = Padding::kSame, .activation = relu});
//   y = layers::max_pooling2d(y, 2);
//   y = layers::batch_normalization(y, {.training = is_training});         // a bool, or a placeholder
//   y = layers::dropout(layers::flatten(y), 0.4, {.training = is_training});
//
// Variables are made by get_variable (variable_scope.h): in a GraphScope they are the graph's, elsewhere a store's. A
// layer without a name is named after its kind; further layers of that kind in the scope get a number. So outside of
// graphs, where a function is called repeatedly, give names and open scopes with Reuse::kAuto. Options that are left
// out come from the scope, as for get_variable: initializers of kernels (Glorot's uniform one). regularization_losses()
// gives the penalties of the scope's regularizer and of the layer's own; penalties of a layer's output
// (activity_regularizer, divided by the batch size) are there in a GraphScope, and elsewhere in a CollectLosses.
// Variables have x's dtype.
//
// All throw InvalidArgument for an x of another rank and if its last dimension, which gives the kernel's size, is
// unknown; AlreadyExists and NotFound as get_variable. Thread-safety: as get_variable.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>

#include "panto/lib/base/export.h"
#include "panto/lib/core/tensor/tensor.h"
#include "panto/nn/layers/activation.h"
#include "panto/nn/layers/convolution/convolution.h"
#include "panto/nn/layers/convolution/extents.h"
#include "panto/nn/layers/initializers.h"
#include "panto/nn/layers/weights/regularizers.h"
#include "panto/nn/variables/variable_scope.h"

namespace panto::layers {

struct DenseOptions {
  Activation activation = nullptr;  // none
  bool use_bias = true;
  Initializer kernel_initializer = nullptr;
  Initializer bias_initializer = constant_initializer(0);
  Regularizer kernel_regularizer = nullptr, bias_regularizer = nullptr, activity_regularizer = nullptr;
  bool trainable = true;
  std::string name = "";  // scope of its variables; "": "dense", "dense_1", ...
  std::optional<Reuse> reuse = std::nullopt;
};
// activation(x . kernel + bias): [..., inputs] -> [..., units]. Variables: "kernel" [inputs, units], "bias" [units].
PANTO_EXPORT Tensor dense(const Tensor& x, int64_t units, const DenseOptions& options = {},
                          std::source_location where = std::source_location::current());

template <int Rank>
struct ConvOptions {
  Extents<Rank> stride = 1;
  Padding padding = Padding::kValid;  // not kCausal
  Extents<Rank> dilation = 1;
  Activation activation = nullptr;  // none
  bool use_bias = true;
  Initializer kernel_initializer = nullptr;
  Initializer bias_initializer = constant_initializer(0);
  Regularizer kernel_regularizer = nullptr, bias_regularizer = nullptr, activity_regularizer = nullptr;
  bool trainable = true;
  std::string name = "";  // "": "conv1d", "conv2d", "conv3d", with a number
  std::optional<Reuse> reuse = std::nullopt;
};
// activation(x * kernel + bias), a cross-correlation, as Conv2D: for [batch, steps, inputs], [batch, height, width,
// inputs] and [batch, depth, height, width, inputs]. Variables: "kernel" [window..., inputs, filters], "bias"
// [filters].
PANTO_EXPORT Tensor conv1d(const Tensor& x, int64_t filters, Extents<1> window, const ConvOptions<1>& options = {},
                           std::source_location where = std::source_location::current());
PANTO_EXPORT Tensor conv2d(const Tensor& x, int64_t filters, Extents<2> window, const ConvOptions<2>& options = {},
                           std::source_location where = std::source_location::current());
PANTO_EXPORT Tensor conv3d(const Tensor& x, int64_t filters, Extents<3> window, const ConvOptions<3>& options = {},
                           std::source_location where = std::source_location::current());

template <int Rank>
struct ConvTransposeOptions {
  Extents<Rank> stride = 1;
  Padding padding = Padding::kValid;  // not kCausal
  Activation activation = nullptr;    // none
  bool use_bias = true;
  Initializer kernel_initializer = nullptr;
  Initializer bias_initializer = constant_initializer(0);
  Regularizer kernel_regularizer = nullptr, bias_regularizer = nullptr, activity_regularizer = nullptr;
  bool trainable = true;
  std::string name = "";  // "": "conv2d_transpose", "conv3d_transpose", with a number
  std::optional<Reuse> reuse = std::nullopt;
};
// As Conv2DTranspose. Variables: "kernel" [window..., filters, inputs], "bias" [filters].
PANTO_EXPORT Tensor conv2d_transpose(const Tensor& x, int64_t filters, Extents<2> window,
                                     const ConvTransposeOptions<2>& options = {},
                                     std::source_location where = std::source_location::current());
PANTO_EXPORT Tensor conv3d_transpose(const Tensor& x, int64_t filters, Extents<3> window,
                                     const ConvTransposeOptions<3>& options = {},
                                     std::source_location where = std::source_location::current());

template <int Rank>
struct SeparableConvOptions {
  Extents<Rank> stride = 1;
  Padding padding = Padding::kValid;  // not kCausal
  Extents<Rank> dilation = 1;
  int64_t depth_multiplier = 1;
  Activation activation = nullptr;  // none
  bool use_bias = true;
  Initializer depthwise_initializer = nullptr, pointwise_initializer = nullptr;
  Initializer bias_initializer = constant_initializer(0);
  Regularizer depthwise_regularizer = nullptr, pointwise_regularizer = nullptr, bias_regularizer = nullptr;
  Regularizer activity_regularizer = nullptr;
  bool trainable = true;
  std::string name = "";  // "": "separable_conv1d", "separable_conv2d", with a number
  std::optional<Reuse> reuse = std::nullopt;
};
// As SeparableConv1D and SeparableConv2D. Variables: "depthwise_kernel", "pointwise_kernel", "bias".
PANTO_EXPORT Tensor separable_conv1d(const Tensor& x, int64_t filters, Extents<1> window,
                                     const SeparableConvOptions<1>& options = {},
                                     std::source_location where = std::source_location::current());
PANTO_EXPORT Tensor separable_conv2d(const Tensor& x, int64_t filters, Extents<2> window,
                                     const SeparableConvOptions<2>& options = {},
                                     std::source_location where = std::source_location::current());

template <int Rank>
struct PoolOptions {
  Extents<Rank> stride = 0;           // 0: the window's size
  Padding padding = Padding::kValid;  // not kCausal
  std::string name = "";              // of the nodes
};
PANTO_EXPORT Tensor max_pooling1d(const Tensor& x, Extents<1> window, const PoolOptions<1>& options = {});
PANTO_EXPORT Tensor max_pooling2d(const Tensor& x, Extents<2> window, const PoolOptions<2>& options = {});
PANTO_EXPORT Tensor max_pooling3d(const Tensor& x, Extents<3> window, const PoolOptions<3>& options = {});
PANTO_EXPORT Tensor average_pooling1d(const Tensor& x, Extents<1> window, const PoolOptions<1>& options = {});
PANTO_EXPORT Tensor average_pooling2d(const Tensor& x, Extents<2> window, const PoolOptions<2>& options = {});
PANTO_EXPORT Tensor average_pooling3d(const Tensor& x, Extents<3> window, const PoolOptions<3>& options = {});

// [batch, ...] -> [batch, product of the other dimensions].
PANTO_EXPORT Tensor flatten(const Tensor& x, const std::string& name = "");

// Whether a layer is in training: a bool that is known when the graph is built, or one that is fed.
class PANTO_EXPORT Training {
 public:
  // NOLINTBEGIN(google-explicit-constructor): written as {.training = true} and {.training = is_training}
  template <std::same_as<bool> Known>
  Training(Known known) : known_(known) {}
  // Throws InvalidArgument unless `fed` is a bool scalar.
  Training(const Tensor& fed);
  // NOLINTEND(google-explicit-constructor)
  const Tensor& fed() const { return fed_; }  // undefined if known
  bool known() const { return known_; }

 private:
  bool known_ = false;
  Tensor fed_;
};

struct DropoutOptions {
  Training training = false;
  std::string name = "";  // of the nodes
};
// In training, sets a random share `rate` of the elements to zero and divides the others by 1 - rate; otherwise returns
// x. Throws InvalidArgument unless 0 <= rate < 1.
PANTO_EXPORT Tensor dropout(const Tensor& x, double rate = 0.5, const DropoutOptions& options = {});

struct BatchNormalizationOptions {
  double momentum = 0.99;  // share of the moving statistics that is kept at each step
  double epsilon = 1e-3;   // added to the variance
  bool center = true, scale = true;
  Initializer beta_initializer = constant_initializer(0), gamma_initializer = constant_initializer(1);
  Initializer moving_mean_initializer = constant_initializer(0), moving_variance_initializer = constant_initializer(1);
  Regularizer beta_regularizer = nullptr, gamma_regularizer = nullptr;
  Training training = false;
  bool trainable = true;
  std::string name = "";  // "": "batch_normalization", with a number
  std::optional<Reuse> reuse = std::nullopt;
};
// (x - mean) / sqrt(variance + epsilon) * gamma + beta per channel, the last dimension, with the batch's mean and
// variance in training, otherwise the moving ones. moving = momentum * moving + (1 - momentum) * the batch's; the
// batch's variance is unbiased for images of 32 and 16 bits, as in TensorFlow's fused op, otherwise biased. In a
// GraphScope the nodes that update the moving statistics are in the collection "update_ops" and run only if asked for,
// as in TensorFlow; elsewhere each call in training updates them:
//
//   const ControlDependencies moved(get_collection(graph, "update_ops"));
//   train = Adam({.learning_rate = 1e-3}).minimize(loss);
//
// Variables: "gamma", "beta", "moving_mean", "moving_variance" [channels], float32 for an x of 16 bits. Throws
// InvalidArgument for an x of rank 1 and options out of range.
PANTO_EXPORT Tensor batch_normalization(const Tensor& x, const BatchNormalizationOptions& options = {},
                                        std::source_location where = std::source_location::current());

}  // namespace panto::layers
