// Noise layers, which keep a model from relying on single elements. They act in training only; otherwise they return x.
//
//   Sequential net(Dense(64, 64, {.activation = relu}), GaussianNoise(0.1), Dense(64, 10));
//
// They draw from the process's generator (`set_seed`) at every call, also at every call of a traced function.
#pragma once

#include <string>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/layer.h"

namespace panto {

// Sets whole channels of [batch, steps, channels], [batch, height, width, channels] or [batch, depth, height, width,
// channels] to zero, a random share `rate` of them, and divides the others by 1 - rate (Tompson et al. 2015).
template <int Rank>
class PANTO_EXPORT SpatialDropout final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless 0 <= rate < 1.
  explicit SpatialDropout(double rate);
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  double rate_;
};
extern template class SpatialDropout<1>;
extern template class SpatialDropout<2>;
extern template class SpatialDropout<3>;
using SpatialDropout1D = SpatialDropout<1>;
using SpatialDropout2D = SpatialDropout<2>;
using SpatialDropout3D = SpatialDropout<3>;

// Multiplies by normal numbers of mean 1 and variance rate / (1 - rate) (Srivastava et al. 2014).
class PANTO_EXPORT GaussianDropout final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless 0 <= rate < 1.
  explicit GaussianDropout(double rate);
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  double rate_;
};

// Adds normal numbers of mean 0.
class PANTO_EXPORT GaussianNoise final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless stddev is at least 0.
  explicit GaussianNoise(double stddev);
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  double stddev_;
};

// Sets a share `rate` of the elements to selu's limit at minus infinity, then scales and shifts all so that mean 0 and
// variance 1 are kept (Klambauer et al. 2017).
class PANTO_EXPORT AlphaDropout final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless 0 <= rate < 1.
  explicit AlphaDropout(double rate);
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  double rate_;
};

}  // namespace panto
