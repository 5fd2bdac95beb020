// Layers that change brightness, colours and sharpness of images at random, so that a model does not learn how images
// were taken. image_layer.h describes what these layers share. Colour layers take three channels, red, green and blue;
// all throw InvalidArgument for invalid factors and ranges.
//
//   Sequential augment(RandomBrightness(0.2), RandomContrast(0.2), RandomHue(0.1));
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/convolution/extents.h"
#include "panto/nn/layers/image/image_layer.h"

namespace panto {

struct ImageValueOptions {
  ValueRange value_range = {};
};

// Lightens or darkens, by shares of the value range in [-1, 1].
class PANTO_EXPORT RandomBrightness final : public ImageLayer {
 public:
  explicit RandomBrightness(FactorRange factor, ImageValueOptions options = {});
  Tensor transform(const Tensor& images, const Tensor& shares) const;  // [batch]
  std::string to_string() const override;

 private:
  Tensor changed(const Tensor& images) const override;
  FactorRange factor_;
  ValueRange values_;
};

// Multiplies the differences from each channel's mean by a number from [1, 1.2] for 0.2, from [1 - a, 1 + b] for {a,
// b}, both in [0, 1].
class PANTO_EXPORT RandomContrast final : public ImageLayer {
 public:
  explicit RandomContrast(double factor, ImageValueOptions options = {});
  RandomContrast(double lower, double upper, ImageValueOptions options = {});
  Tensor transform(const Tensor& images, const Tensor& factors) const;  // [batch]
  std::string to_string() const override;

 private:
  Tensor changed(const Tensor& images) const override;
  double lower_, upper_;
  ValueRange values_;
};

// Multiplies the saturation in HSV by f / (1 - f), for f drawn from the factor, in [0, 1]: 0 gives grey, 0.5 the image
// itself. Values are not scaled to [0, 1] before, as in Keras.
class PANTO_EXPORT RandomSaturation final : public ImageLayer {
 public:
  explicit RandomSaturation(FactorRange factor, ImageValueOptions options = {});
  Tensor transform(const Tensor& images, const Tensor& factors) const;  // [batch]: f / (1 - f)
  std::string to_string() const override;

 private:
  Tensor changed(const Tensor& images) const override;
  FactorRange factor_;
  ValueRange values_;
};

// Turns hues round the colour circle, to either side by up to half of the factor, in [0, 1].
class PANTO_EXPORT RandomHue final : public ImageLayer {
 public:
  explicit RandomHue(FactorRange factor, ImageValueOptions options = {});
  Tensor transform(const Tensor& images, const Tensor& turns) const;  // [batch], in [-0.5, 0.5]
  std::string to_string() const override;

 private:
  Tensor changed(const Tensor& images) const override;
  FactorRange factor_;
  ValueRange values_;
};

// Moves colours towards grey, by a factor in [-1, 1].
class PANTO_EXPORT RandomColorDegeneration final : public ImageLayer {
 public:
  explicit RandomColorDegeneration(FactorRange factor, ImageValueOptions options = {});
  Tensor transform(const Tensor& images, const Tensor& factors) const;  // [batch]
  std::string to_string() const override;

 private:
  Tensor changed(const Tensor& images) const override;
  FactorRange factor_;
  ValueRange values_;
};

struct RandomColorJitterOptions {
  ValueRange value_range = {};
  std::optional<FactorRange> brightness = std::nullopt;
  std::optional<double> contrast = std::nullopt;
  std::optional<FactorRange> saturation = std::nullopt, hue = std::nullopt;
};
// Applies RandomBrightness, RandomContrast, RandomSaturation and RandomHue, those that the options give, in this order.
class PANTO_EXPORT RandomColorJitter final : public ImageLayer {
 public:
  explicit RandomColorJitter(const RandomColorJitterOptions& options);
  std::string to_string() const override { return "RandomColorJitter()"; }

 private:
  Tensor changed(const Tensor& images) const override;
  std::vector<std::shared_ptr<const Layer>> layers_;
};

// Makes a share of the images grey.
class PANTO_EXPORT RandomGrayscale final : public ImageLayer {
 public:
  // `share` in [0, 1].
  explicit RandomGrayscale(double share = 0.5);
  Tensor transform(const Tensor& images, const Tensor& chosen) const;  // bool [batch]
  std::string to_string() const override;

 private:
  Tensor changed(const Tensor& images) const override;
  double share_;
};

// Replaces each value by the largest value less it, in a share of the images that is drawn from the factor, in [0, 1].
class PANTO_EXPORT RandomInvert final : public ImageLayer {
 public:
  explicit RandomInvert(FactorRange factor = {0, 1}, ImageValueOptions options = {});
  Tensor transform(const Tensor& images, const Tensor& chosen) const;  // bool [batch]
  std::string to_string() const override;

 private:
  Tensor changed(const Tensor& images) const override;
  FactorRange factor_;
  ValueRange values_;
};

// Reduces values to fewer bits, from 1 to 8. `below` is exclusive.
class PANTO_EXPORT RandomPosterization final : public ImageLayer {
 public:
  explicit RandomPosterization(int64_t bits, ImageValueOptions options = {});
  RandomPosterization(int64_t least, int64_t below, ImageValueOptions options = {});
  Tensor transform(const Tensor& images, const Tensor& bits) const;  // integers [batch]
  std::string to_string() const override;

 private:
  Tensor changed(const Tensor& images) const override;
  int64_t least_, below_;
  ValueRange values_;
};

// Blurs (0), keeps (0.5) or sharpens (1) images, by a factor in [0, 1].
class PANTO_EXPORT RandomSharpness final : public ImageLayer {
 public:
  explicit RandomSharpness(FactorRange factor, ImageValueOptions options = {});
  Tensor transform(const Tensor& images, const Tensor& factors) const;  // [batch]
  std::string to_string() const override;

 private:
  Tensor changed(const Tensor& images) const override;
  FactorRange factor_;
  ValueRange values_;
};

// Adds a number, then inverts the values that reach a threshold: both are drawn as shares of 255, in [0, 1].
class PANTO_EXPORT Solarization final : public ImageLayer {
 public:
  // A single number 0.2 stands for [0, 0.2].
  Solarization(FactorRange addition, FactorRange threshold, ImageValueOptions options = {});
  Tensor transform(const Tensor& images, const Tensor& additions, const Tensor& thresholds) const;  // [batch], of 255
  std::string to_string() const override;

 private:
  Tensor changed(const Tensor& images) const override;
  FactorRange addition_, threshold_;
  ValueRange values_;
};

// Stretches each channel from the darkest value to the lightest, in training and otherwise.
class PANTO_EXPORT AutoContrast final : public ImageLayer {
 public:
  explicit AutoContrast(ImageValueOptions options = {});
  std::string to_string() const override { return "AutoContrast()"; }

 private:
  Tensor changed(const Tensor& images) const override;
  bool always() const override { return true; }
  ValueRange values_;
};

struct EqualizationOptions {
  ValueRange value_range = {};
  int64_t bins = 256;
};
// Makes all values equally frequent, in each channel over the whole batch, as in Keras.
class PANTO_EXPORT Equalization final : public ImageLayer {
 public:
  explicit Equalization(EqualizationOptions options = {});
  std::string to_string() const override { return "Equalization()"; }

 private:
  Tensor changed(const Tensor& images) const override;
  EqualizationOptions options_;
};

struct ClaheOptions {
  ValueRange value_range = {};
  double clip_limit = 4;
  Extent tile_grid_size = {8, 8};
};
// Equalizes within tiles and interpolates between them; histograms are clipped at a multiple of their mean (Zuiderveld
// 1994). In training and otherwise. Images must have a known size.
class PANTO_EXPORT ContrastLimitedAdaptiveHistogramEqualization final : public ImageLayer {
 public:
  explicit ContrastLimitedAdaptiveHistogramEqualization(ClaheOptions options = {});
  std::string to_string() const override { return "ContrastLimitedAdaptiveHistogramEqualization()"; }

 private:
  Tensor changed(const Tensor& images) const override;
  bool always() const override { return true; }
  ClaheOptions options_;
};

struct RandomGaussianBlurOptions {
  Extent kernel_size = {3, 3};  // odd
  FactorRange sigma = {0, 1};   // in [0, 1]
  ValueRange value_range = {};
};
// Blurs a share of the images, drawn from the factor, in [0, 1], with one width for the whole batch.
class PANTO_EXPORT RandomGaussianBlur final : public ImageLayer {
 public:
  explicit RandomGaussianBlur(FactorRange factor = {0, 1}, RandomGaussianBlurOptions options = {});
  // By standard deviations along x and y, scalars, of the images where `chosen` is true: bool [batch].
  Tensor transform(const Tensor& images, const Tensor& along_x, const Tensor& along_y, const Tensor& chosen) const;
  std::string to_string() const override;

 private:
  Tensor changed(const Tensor& images) const override;
  FactorRange factor_;
  RandomGaussianBlurOptions options_;
};

}  // namespace panto
