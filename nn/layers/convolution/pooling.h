// Pools of sequences [batch, steps, channels], images [batch, height, width, channels] and volumes [batch, depth,
// height, width, channels]: over windows, over everything, or into a given number of parts.
//
//   MaxPool2D(2)
//   AveragePool1D(3, {.stride = 1, .padding = Padding::kSame})
//   GlobalAveragePool2D()
//   AdaptiveAveragePool2D({7, 7})
#pragma once

#include <string>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/convolution/convolution.h"
#include "panto/nn/layers/convolution/extents.h"
#include "panto/nn/layers/layer.h"

namespace panto {

template <int Rank>
struct PoolOptionsOf {
  Extents<Rank> stride = 0;           // 0: the window's size
  Padding padding = Padding::kValid;  // not kCausal
};
using Pool1DOptions = PoolOptionsOf<1>;
using PoolOptions = PoolOptionsOf<2>;
using Pool3DOptions = PoolOptionsOf<3>;

// The largest element of each window; padding does not count. Volumes must be float32 or a 16-bit type.
template <int Rank>
class PANTO_EXPORT MaxPool final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless the window is positive and the stride positive or 0.
  explicit MaxPool(Extents<Rank> window, PoolOptionsOf<Rank> options = {});
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  Extents<Rank> window_, stride_;
  Padding padding_;
};
extern template class MaxPool<1>;
extern template class MaxPool<2>;
extern template class MaxPool<3>;
using MaxPool1D = MaxPool<1>;
using MaxPool2D = MaxPool<2>;
using MaxPool3D = MaxPool<3>;

// The mean of each window; padding does not count.
template <int Rank>
class PANTO_EXPORT AveragePool final : public BuiltInLayer {
 public:
  // Throws as MaxPool2D.
  explicit AveragePool(Extents<Rank> window, PoolOptionsOf<Rank> options = {});
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  Extents<Rank> window_, stride_;
  Padding padding_;
};
extern template class AveragePool<1>;
extern template class AveragePool<2>;
extern template class AveragePool<3>;
using AveragePool1D = AveragePool<1>;
using AveragePool2D = AveragePool<2>;
using AveragePool3D = AveragePool<3>;

struct GlobalPoolOptions {
  bool keep_dims = false;  // [batch, 1, 1, channels] instead of [batch, channels]
};

// GlobalMaxPool: the largest element of each channel of an image; GlobalAveragePool: the mean. [batch, height, width,
// channels] -> [batch, channels].
template <int Rank>
class PANTO_EXPORT GlobalMaxPool final : public BuiltInLayer {
 public:
  explicit GlobalMaxPool(GlobalPoolOptions options = {}) : options_(options) {}
  // Throws InvalidArgument unless x is a batch of images.
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  GlobalPoolOptions options_;
};
extern template class GlobalMaxPool<1>;
extern template class GlobalMaxPool<2>;
extern template class GlobalMaxPool<3>;
using GlobalMaxPool1D = GlobalMaxPool<1>;
using GlobalMaxPool2D = GlobalMaxPool<2>;
using GlobalMaxPool3D = GlobalMaxPool<3>;

template <int Rank>
class PANTO_EXPORT GlobalAveragePool final : public BuiltInLayer {
 public:
  explicit GlobalAveragePool(GlobalPoolOptions options = {}) : options_(options) {}
  // Throws as GlobalMaxPool2D.
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  GlobalPoolOptions options_;
};
extern template class GlobalAveragePool<1>;
extern template class GlobalAveragePool<2>;
extern template class GlobalAveragePool<3>;
using GlobalAveragePool1D = GlobalAveragePool<1>;
using GlobalAveragePool2D = GlobalAveragePool<2>;
using GlobalAveragePool3D = GlobalAveragePool<3>;

// The largest element (AdaptiveMaxPool) or the mean (AdaptiveAveragePool) of each of `parts` parts of an image: along a
// dimension of `size`, part i of n begins at floor(i size / n) and ends before ceil((i + 1) size / n), as in PyTorch
// and Keras.
template <int Rank>
class PANTO_EXPORT AdaptiveMaxPool final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless the parts are positive, and at most 65536.
  explicit AdaptiveMaxPool(Extents<Rank> parts);
  // Throws InvalidArgument unless x is a batch of images with at least one element in each dimension, Unimplemented if
  // a trace does not know its sizes.
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  Extents<Rank> parts_;
};
extern template class AdaptiveMaxPool<1>;
extern template class AdaptiveMaxPool<2>;
extern template class AdaptiveMaxPool<3>;
using AdaptiveMaxPool1D = AdaptiveMaxPool<1>;
using AdaptiveMaxPool2D = AdaptiveMaxPool<2>;
using AdaptiveMaxPool3D = AdaptiveMaxPool<3>;

template <int Rank>
class PANTO_EXPORT AdaptiveAveragePool final : public BuiltInLayer {
 public:
  // Throws as AdaptiveMaxPool2D.
  explicit AdaptiveAveragePool(Extents<Rank> parts);
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  Extents<Rank> parts_;
};
extern template class AdaptiveAveragePool<1>;
extern template class AdaptiveAveragePool<2>;
extern template class AdaptiveAveragePool<3>;
using AdaptiveAveragePool1D = AdaptiveAveragePool<1>;
using AdaptiveAveragePool2D = AdaptiveAveragePool<2>;
using AdaptiveAveragePool3D = AdaptiveAveragePool<3>;

}  // namespace panto
