// Padding, cropping and resizing of sequences [batch, steps, channels], images [batch, height, width, channels] and
// volumes [batch, depth, height, width, channels].
//
//   ZeroPadding2D(1)             // around
//   ZeroPadding1D({2, 0})        // before
//   Cropping2D({{1, 0}, {2, 2}})
//   UpSampling2D(2, {.interpolation = Interpolation::kBilinear})
#pragma once

#include <string>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/convolution/extents.h"
#include "panto/nn/layers/layer.h"

namespace panto {

// Adds zeros around the input.
template <int Rank>
class PANTO_EXPORT ZeroPadding final : public BuiltInLayer {
 public:
  // Throws InvalidArgument for negative margins.
  explicit ZeroPadding(Margins<Rank> margins = 1);
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  Margins<Rank> margins_;
};
extern template class ZeroPadding<1>;
extern template class ZeroPadding<2>;
extern template class ZeroPadding<3>;
using ZeroPadding1D = ZeroPadding<1>;
using ZeroPadding2D = ZeroPadding<2>;
using ZeroPadding3D = ZeroPadding<3>;

// Removes the margins.
template <int Rank>
class PANTO_EXPORT Cropping final : public BuiltInLayer {
 public:
  // Throws InvalidArgument for negative margins.
  explicit Cropping(Margins<Rank> margins = 1);
  // Throws InvalidArgument for an x that is smaller than its margins.
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  Margins<Rank> margins_;
};
extern template class Cropping<1>;
extern template class Cropping<2>;
extern template class Cropping<3>;
using Cropping1D = Cropping<1>;
using Cropping2D = Cropping<2>;
using Cropping3D = Cropping<3>;

// How values between the elements of an image are computed: the nearest element's value, or linear or cubic
// interpolation through two or four elements (as the resizing ops with half_pixel_centers). Sequences and volumes:
// kNearest only.
enum class Interpolation : uint8_t { kNearest, kBilinear, kBicubic };

struct UpSamplingOptions {
  Interpolation interpolation = Interpolation::kNearest;
};

// Repeats each element `factor` times in each dimension. kBilinear and kBicubic give float32.
template <int Rank>
class PANTO_EXPORT UpSampling final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless factors are positive, and for an interpolation of sequences or volumes.
  explicit UpSampling(Extents<Rank> factor = 2, UpSamplingOptions options = {});
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  Extents<Rank> factor_;
  Interpolation interpolation_;
};
extern template class UpSampling<1>;
extern template class UpSampling<2>;
extern template class UpSampling<3>;
using UpSampling1D = UpSampling<1>;
using UpSampling2D = UpSampling<2>;
using UpSampling3D = UpSampling<3>;

// Resizes images: [batch, height, width, channels] -> [batch, rows, columns, channels]; float32 if interpolated.
class PANTO_EXPORT Resizing final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless the size is positive.
  explicit Resizing(Extent size, UpSamplingOptions options = {.interpolation = Interpolation::kBilinear});
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  Extent size_;
  Interpolation interpolation_;
};

// The middle of images: [batch, height, width, channels] -> [batch, rows, columns, channels].
class PANTO_EXPORT CenterCrop final : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless the size is positive.
  explicit CenterCrop(Extent size);
  // Throws InvalidArgument for smaller images, Unimplemented if a trace does not know their size.
  Tensor forward(const Tensor& x) const override;
  std::string to_string() const override;

 private:
  Extent size_;
};

}  // namespace panto
