// Activations as layers: those that have options or variables. Any other is `Lambda("gelu", "gelu")`.
#pragma once

#include <limits>
#include <string>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/layer.h"

namespace panto {

struct ReLUOptions {
  double max_value = std::numeric_limits<double>::infinity();  // at least 0
  double negative_slope = 0;                                   // at least 0
  double threshold = 0;                                        // at least 0
};

// x above the threshold, but at most max_value; elsewhere negative_slope (x - threshold).
class PANTO_EXPORT ReLU final : public BuiltInLayer {
 public:
  // Throws InvalidArgument for options below 0.
  explicit ReLU(ReLUOptions options = {});
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  ReLUOptions options_;
};

// x above 0, elsewhere negative_slope x (Maas et al. 2013). Keras's slope; PyTorch's is 0.01.
class PANTO_EXPORT LeakyReLU final : public BuiltInLayer {
 public:
  explicit LeakyReLU(double negative_slope = 0.3);
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  double negative_slope_;
};

struct PReLUOptions {
  Initializer initializer = constant_initializer(0);  // Keras's; PyTorch's is 0.25
  std::string name = "prelu";                         // of the variable: "prelu/alpha"
  DType dtype = kFloat32;
};

// x above 0, elsewhere alpha x, where alpha is learned (He et al. 2015). Its shape is that of one example, of which
// dimensions may be 1: {28, 28, 32}, or {1, 1, 32} or {32} for one number for each channel.
class PANTO_EXPORT PReLU final : public BuiltInLayer {
 public:
  explicit PReLU(const Shape& shape, PReLUOptions options = {});
  // Throws InvalidArgument for an x to which alpha does not broadcast.
  Tensor forward(const Tensor& x) const override;
  Parts parts() const override { return {alpha_}; }
  std::string to_string() const override;
  const Variable& alpha() const { return alpha_; }

 private:
  Variable alpha_;
};

// x above 0, elsewhere alpha (exp(x) - 1) (Clevert et al. 2016).
class PANTO_EXPORT ELU final : public BuiltInLayer {
 public:
  explicit ELU(double alpha = 1);
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  double alpha_;
};

// exp(x) by its sum along an axis.
class PANTO_EXPORT Softmax final : public BuiltInLayer {
 public:
  explicit Softmax(int64_t axis = -1);
  Tensor forward(const Tensor& x) const override;
  // Elements for which the mask is false count as none: bool, broadcast to x. Where all are, all are the same.
  Tensor operator()(const Tensor& x, const Tensor& mask,
                    std::source_location where = std::source_location::current()) const;
  using Layer::operator();
  std::string to_string() const override;

 private:
  int64_t axis_;
};

// x itself.
class PANTO_EXPORT Identity final : public BuiltInLayer {
 public:
  Tensor forward(const Tensor& x) const override { return x; }
  std::string to_string() const override { return "Identity()"; }
};

}  // namespace panto
