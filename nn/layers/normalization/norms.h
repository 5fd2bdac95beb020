// Layers that normalise each example by itself, or by given statistics: the same in training and otherwise.
//
//   Sequential net(Conv2D(3, 32, 3), GroupNorm(32, {.groups = 8}), Lambda(relu, "relu"));
//   Sequential block(RMSNorm(64), Dense(64, 64));
#pragma once

#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/layer.h"

namespace panto {

struct GroupNormOptions {
  int64_t groups = 32;    // must divide the channels; -1: one per channel (instance normalisation)
  double epsilon = 1e-3;  // added to the variance, as Keras
  bool scale = true;      // multiply by a learned number
  bool center = true;     // add a learned number
  std::string name = "group_norm";
  DType dtype = kFloat32;
};

// (x - mean) / sqrt(variance + epsilon) * scale + offset with mean and variance of each group of channels of an example
// (Wu and He 2018), computed in at least float32. Scale starts at 1, offset at 0, one of each per channel.
class PANTO_EXPORT GroupNorm final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless channels is positive and a multiple of groups, and epsilon at least 0.
  GroupNorm(int64_t channels, GroupNormOptions options);
  explicit GroupNorm(int64_t channels);
  // x [batch, ..., channels] of known rank, at least 2. Throws InvalidArgument for other shapes.
  Tensor forward(const Tensor& x) const override;
  Parts parts() const override { return {scale_, offset_}; }
  std::string to_string() const override;
  const Variable& scale() const { return scale_; }    // undefined without options.scale
  const Variable& offset() const { return offset_; }  // undefined without options.center

 private:
  int64_t channels_, groups_;
  double epsilon_;
  Variable scale_, offset_;
};

struct RMSNormOptions {
  double epsilon = 1e-6;
  bool scale = true;
  std::string name = "rms_norm";
  DType dtype = kFloat32;
};

// x / sqrt(mean(x^2) + epsilon) * scale over the last dimension (Zhang and Sennrich 2019), computed in at least
// float32. Scale starts at 1.
class PANTO_EXPORT RMSNorm final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless features is positive and epsilon at least 0.
  RMSNorm(int64_t features, RMSNormOptions options);
  explicit RMSNorm(int64_t features);
  // x [..., features]. Throws InvalidArgument for other shapes.
  Tensor forward(const Tensor& x) const override;
  Parts parts() const override { return {scale_}; }
  std::string to_string() const override;
  const Variable& scale() const { return scale_; }  // undefined without options.scale

 private:
  int64_t features_;
  double epsilon_;
  Variable scale_;
};

struct UnitNormalizationOptions {
  std::vector<int64_t> axis = {-1};
};

// Divides x by its Euclidean length over some axes; zeros stay zeros.
class PANTO_EXPORT UnitNormalization final : public BuiltInLayer {
 public:
  explicit UnitNormalization(UnitNormalizationOptions options = {});
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override { return "UnitNormalization()"; }

 private:
  std::vector<int64_t> axis_;
};

struct NormalizationOptions {
  bool invert = false;  // compute x * sqrt(variance) + mean instead
  std::string name = "normalization";
  DType dtype = kFloat32;
};

// (x - mean) / sqrt(variance) per feature, the last dimension, with a mean and a variance computed before:
//
//   Normalization normalise(13);
//   normalise.adapt(houses);                                  // [rows, 13]
//   Sequential model(normalise, Dense(13, 64, {.activation = relu}), Dense(64, 1));
//
// Mean and variance start at 0 and 1, and are saved with the model. The standard deviation counts as at least 1e-7.
class PANTO_EXPORT Normalization final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless features is positive.
  Normalization(int64_t features, NormalizationOptions options);
  explicit Normalization(int64_t features);
  // With given statistics. Throws InvalidArgument unless both are vectors of the same length.
  Normalization(const Tensor& mean, const Tensor& variance, NormalizationOptions options = {});
  // Sets mean and variance to those of `data`, [..., features], over all other dimensions. Throws InvalidArgument for
  // other shapes, and for data without elements.
  void adapt(const Tensor& data) const;
  // x [..., features]. Throws InvalidArgument for other shapes.
  Tensor forward(const Tensor& x) const override;
  std::vector<Variable> variables() const override { return {}; }
  std::vector<Variable> state() const override { return {mean_, variance_}; }
  std::string to_string() const override;
  const Variable& mean() const { return mean_; }
  const Variable& variance() const { return variance_; }

 private:
  void expect_features(const Tensor& x) const;

  int64_t features_;
  bool invert_;
  Variable mean_, variance_;
};

}  // namespace panto
