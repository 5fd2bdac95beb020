// Layers that normalise by mean and variance.
//
//   Sequential net(Conv2D(3, 32, 3), BatchNorm(32), Lambda(relu, "relu"));
//   Sequential block(Dense(64, 64), LayerNorm(64));
#pragma once

#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/layer.h"

namespace panto {

struct BatchNormOptions {
  double momentum = 0.99;  // share of the running statistics that is kept at each step
  double epsilon = 1e-3;   // added to the variance; both defaults are Keras's
  bool scale = true;       // multiply by a learned number
  bool center = true;      // add a learned number
  std::string name = "batch_norm";
  DType dtype = kFloat32;  // or float64
};

// (x - mean) / sqrt(variance + epsilon) * scale + offset per channel, the last dimension of x (Ioffe and Szegedy 2015).
// In training mean and variance are the batch's, over all other dimensions, and each call updates the running ones:
// running = momentum * running + (1 - momentum) * the batch's, with the unbiased variance (as TensorFlow's fused op and
// PyTorch; Keras 3 takes the biased one). Otherwise they are the running ones, which start at 0 and 1. Scale starts at
// 1, offset at 0. Variables are float32 for an x of float32, float16 or bfloat16, and float64 for an x of float64. In a
// GraphScope the nodes that update the running statistics run only if asked for: see CollectEffects. Thread-safety: one
// call in training at a time.
class PANTO_EXPORT BatchNorm final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless channels is positive, momentum in [0, 1], epsilon at least 0 and the dtype float32 or
  // float64.
  BatchNorm(int64_t channels, BatchNormOptions options);
  explicit BatchNorm(int64_t channels);
  // x [..., channels] of known rank, at least 2. Throws InvalidArgument for other shapes.
  Tensor forward(const Tensor& x) const override;
  Parts parts() const override { return {scale_, offset_, frozen(mean_), frozen(variance_)}; }
  std::string to_string() const override;
  const Variable& scale() const { return scale_; }    // undefined without options.scale
  const Variable& offset() const { return offset_; }  // undefined without options.center
  const Variable& running_mean() const { return mean_; }
  const Variable& running_variance() const { return variance_; }

 private:
  int64_t channels_;
  double momentum_, epsilon_;
  DType dtype_;
  Variable scale_, offset_, mean_, variance_;
};

struct LayerNormOptions {
  double epsilon = 1e-5;  // Keras's is 1e-3
  bool scale = true;      // multiply by a learned number
  bool center = true;     // add a learned number
  std::string name = "layer_norm";
  DType dtype = kFloat32;
};

// (x - mean) / sqrt(variance + epsilon) * scale + offset with mean and variance over the last dimension (Ba, Kiros and
// Hinton 2016), in training and otherwise. Scale starts at 1, offset at 0.
class PANTO_EXPORT LayerNorm final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless features is positive.
  LayerNorm(int64_t features, LayerNormOptions options);
  explicit LayerNorm(int64_t features);
  // x [..., features]. Throws InvalidArgument for other shapes.
  Tensor forward(const Tensor& x) const override;
  Parts parts() const override { return {scale_, offset_}; }
  std::string to_string() const override;
  const Variable& scale() const { return scale_; }    // undefined without options.scale
  const Variable& offset() const { return offset_; }  // undefined without options.center

 private:
  int64_t features_;
  double epsilon_;
  Variable scale_, offset_;
};

}  // namespace panto
