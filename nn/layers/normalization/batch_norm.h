// Layers that normalise by mean and variance.
#pragma once

#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/layer.h"

namespace panto {

struct BatchNormOptions {
  double momentum = 0.99;  // share of the running statistics that stays at each step
  double epsilon = 1e-3;   // added to the variance; both as Keras
  bool scale = true;       // multiply by what is learned
  bool center = true;      // add what is learned
  std::string name = "batch_norm";
  DType dtype = kFloat32;  // or float64
};

// (x - mean) / sqrt(variance + epsilon) * scale + offset by channel, the last dimension of x (Ioffe and Szegedy 2015).
// In training mean and variance are the batch's, taken over all other dimensions, and each call moves the running ones:
// running = momentum * running + (1 - momentum) * the batch's, of the variance the unbiased one (as TensorFlow's fused
// op and PyTorch; Keras 3 takes the biased one). Otherwise they are the running ones, which start at 0 and 1. Scale
// starts at 1, offset at 0. Variables are float32 for an x of float32, float16 or bfloat16, and float64 for one of
// float64. In a GraphScope the nodes that move the running statistics run when they are asked for: see
// CollectEffects. Thread-safety: of training, one call at a time.
class PANTO_EXPORT BatchNorm final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless channels is positive, momentum in [0, 1], epsilon at least 0 and the dtype one of the
  // two.
  BatchNorm(int64_t channels, BatchNormOptions options);
  explicit BatchNorm(int64_t channels);
  // x [..., channels] of known rank, at least 2. Throws InvalidArgument for others.
  Tensor forward(const Tensor& x) const override;
  Parts parts() const override { return {scale_, offset_, frozen(mean_), frozen(variance_)}; }
  std::string to_string() const override;
  const Variable& scale() const { return scale_; }    // undefined without it
  const Variable& offset() const { return offset_; }  // the same
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
  bool scale = true;      // multiply by what is learned
  bool center = true;     // add what is learned
  std::string name = "layer_norm";
  DType dtype = kFloat32;
};

// (x - mean) / sqrt(variance + epsilon) * scale + offset with mean and variance of the last dimension (Ba, Kiros and
// Hinton 2016): the same in training and otherwise. Scale starts at 1, offset at 0.
class PANTO_EXPORT LayerNorm final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless features is positive.
  LayerNorm(int64_t features, LayerNormOptions options);
  explicit LayerNorm(int64_t features);
  // x [..., features]. Throws InvalidArgument for others.
  Tensor forward(const Tensor& x) const override;
  Parts parts() const override { return {scale_, offset_}; }
  std::string to_string() const override;
  const Variable& scale() const { return scale_; }    // undefined without it
  const Variable& offset() const { return offset_; }  // the same

 private:
  int64_t features_;
  double epsilon_;
  Variable scale_, offset_;
};

}  // namespace panto
