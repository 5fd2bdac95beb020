// Activations as layers: those with options or variables. Write any other as `Lambda("gelu", "gelu")`.
//
//   Sequential model(Dense(784, 128), PReLU({128}), Dense(128, 10), Softmax());
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

// x above the threshold, at most max_value; otherwise negative_slope (x - threshold).
class PANTO_EXPORT ReLU final : public BuiltInLayer {
 public:
  // Throws InvalidArgument for options below 0.
  explicit ReLU(ReLUOptions options = {});
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  ReLUOptions options_;
};

// x if x > 0, else negative_slope x (Maas et al. 2013). The default slope is Keras's; PyTorch's is 0.01.
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

// x if x > 0, else alpha x, where alpha is learned (He et al. 2015). Its shape is that of one example, in which
// dimensions may be 1: {28, 28, 32}, or {1, 1, 32} or {32} for one number per channel.
class PANTO_EXPORT PReLU final : public BuiltInLayer {
 public:
  explicit PReLU(const Shape& shape, PReLUOptions options = {});
  // Throws InvalidArgument if alpha does not broadcast to x.
  Tensor forward(const Tensor& x) const override;
  Parts parts() const override { return {alpha_}; }
  std::string to_string() const override;
  const Variable& alpha() const { return alpha_; }

 private:
  Variable alpha_;
};

// x if x > 0, else alpha (exp(x) - 1) (Clevert et al. 2016).
class PANTO_EXPORT ELU final : public BuiltInLayer {
 public:
  explicit ELU(double alpha = 1);
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  double alpha_;
};

// exp(x) divided by its sum along an axis.
class PANTO_EXPORT Softmax final : public BuiltInLayer {
 public:
  explicit Softmax(int64_t axis = -1);
  Tensor forward(const Tensor& x) const override;
  // Elements where the mask is false do not count: bool, broadcast to x. If none counts, all results are equal.
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
