// Layers of images: convolution and pools. Images are [batch, height, width, channels].
#pragma once

#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/layer.h"

namespace panto {

// Of a window, or of its steps: `3` is {3, 3}.
struct Extent {
  int64_t height, width;
  constexpr Extent(int64_t side)
      : height(side), width(side) {}  // NOLINT(google-explicit-constructor): as in {.stride = 2}
  constexpr Extent(int64_t height, int64_t width) : height(height), width(width) {}
  bool operator==(const Extent&) const = default;
};

// kValid: windows lie inside the image, of which a rest may stay out: (size - window) / stride + 1 positions, rounded
// down. kSame: zeros around it, the odd one below and to the right, as TensorFlow: size / stride positions, rounded up.
enum class Padding : uint8_t { kValid, kSame };

struct Conv2DOptions {
  Extent stride = 1;
  Padding padding = Padding::kValid;
  Extent dilation = 1;              // distance of neighbouring elements of the window
  int64_t groups = 1;               // of channels, each convolved by itself
  Activation activation = nullptr;  // none
  bool use_bias = true;
  Initializer kernel_initializer = glorot_uniform();
  std::string name = "conv2d";  // of the variables: "conv2d/kernel", "conv2d/bias"
  DType dtype = kFloat32;
};

// activation(x * kernel + bias), a cross-correlation: [batch, height, width, inputs] -> [batch, rows, columns,
// filters]. The kernel is [window height, window width, inputs / groups, filters], the bias [filters]; that starts at
// zero.
class PANTO_EXPORT Conv2D final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless all sizes are positive and groups divides inputs and filters.
  Conv2D(int64_t inputs, int64_t filters, Extent window, Conv2DOptions options);
  Conv2D(int64_t inputs, int64_t filters, Extent window);
  // Throws InvalidArgument for an x that is no batch of images with `inputs` channels, or smaller than the window
  // without padding.
  Tensor forward(const Tensor& x) const override;
  std::vector<Variable> variables() const override;
  std::string to_string() const override;
  const Variable& kernel() const { return kernel_; }
  const Variable& bias() const { return bias_; }  // undefined without use_bias

 private:
  int64_t inputs_, filters_;
  Extent window_, stride_, dilation_;
  Padding padding_;
  Activation activation_;
  Variable kernel_, bias_;
};

struct PoolOptions {
  Extent stride = 0;  // 0: the window's size
  Padding padding = Padding::kValid;
};

// The largest element of each window; padding does not count.
class PANTO_EXPORT MaxPool2D final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless the window is positive and the stride positive or 0.
  explicit MaxPool2D(Extent window, PoolOptions options = {});
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  Extent window_, stride_;
  Padding padding_;
};

// The mean of each window; padding does not count.
class PANTO_EXPORT AveragePool2D final : public BuiltInLayer {
 public:
  // Throws as MaxPool2D.
  explicit AveragePool2D(Extent window, PoolOptions options = {});
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  Extent window_, stride_;
  Padding padding_;
};

struct GlobalPoolOptions {
  bool keep_dims = false;  // [batch, 1, 1, channels] instead of [batch, channels]
};

// The largest element, or the mean, of each channel of an image: [batch, height, width, channels] -> [batch, channels].
class PANTO_EXPORT GlobalMaxPool2D final : public BuiltInLayer {
 public:
  explicit GlobalMaxPool2D(GlobalPoolOptions options = {}) : options_(options) {}
  // Throws InvalidArgument for an x that is no batch of images.
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override { return "GlobalMaxPool2D()"; }

 private:
  GlobalPoolOptions options_;
};

class PANTO_EXPORT GlobalAveragePool2D final : public BuiltInLayer {
 public:
  explicit GlobalAveragePool2D(GlobalPoolOptions options = {}) : options_(options) {}
  // Throws as GlobalMaxPool2D.
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override { return "GlobalAveragePool2D()"; }

 private:
  GlobalPoolOptions options_;
};

}  // namespace panto
