// Layers that mix images with others, and layers that combine several changes. image_layer.h describes what these
// layers share.
//
//   MixUp mix(0.2);
//   const TrainingScope training;
//   auto [mixed, labels] = mix.pair(images, one_hot(classes, 10));
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/image/image_layer.h"

namespace panto {

// Mixes each image with another one of the batch (Zhang et al. 2018): weight * image + (1 - weight) * other, with
// weights of the Beta distribution.
class PANTO_EXPORT MixUp final : public ImageLayer {
 public:
  // Throws InvalidArgument unless alpha is positive.
  explicit MixUp(double alpha = 0.2);
  // `weights` [batch]; `others` the indices of the other images, integers [batch]. Also for labels [batch, ...].
  Tensor transform(const Tensor& images, const Tensor& weights, const Tensor& others) const;
  // Mixes images and labels alike, in training.
  std::pair<Tensor, Tensor> pair(const Tensor& images, const Tensor& labels) const;
  std::string to_string() const override;

 private:
  Tensor changed(const Tensor& images) const override;
  double alpha_;
};

// Replaces a box of each image by that of another image of the batch (Yun et al. 2019). Images must have a known size.
class PANTO_EXPORT CutMix final : public ImageLayer {
 public:
  // The Beta distribution's parameter is drawn from the factor, in [0, 1].
  explicit CutMix(FactorRange factor = {0, 1});
  // Boxes in pixels, [batch] each; right and bottom are exclusive.
  struct Boxes {
    Tensor left, right, top, bottom;
  };
  Tensor transform(const Tensor& images, const Boxes& boxes, const Tensor& others) const;
  // Mixes images by boxes and labels by the boxes' areas, in training.
  std::pair<Tensor, Tensor> pair(const Tensor& images, const Tensor& labels) const;
  std::string to_string() const override;

 private:
  struct Cut;
  Cut cut(const Tensor& images) const;
  Tensor changed(const Tensor& images) const override;
  FactorRange factor_;
};

struct RandomErasingOptions {
  FactorRange scale = {0.02, 0.33};                 // of the image's area, in [0, 1]
  std::optional<double> fill_value = std::nullopt;  // none: normal numbers times the largest value
  ValueRange value_range = {};
};
// Fills a box of the image (Zhong et al. 2020), in a share of the images that is drawn from the factor, in [0, 1].
// Images must have a known size.
class PANTO_EXPORT RandomErasing final : public ImageLayer {
 public:
  explicit RandomErasing(FactorRange factor = {0, 1}, RandomErasingOptions options = {});
  // Puts `filling` into the boxes of the images where `chosen`, bool [batch], is true.
  Tensor transform(const Tensor& images, const CutMix::Boxes& boxes, const Tensor& chosen, const Tensor& filling) const;
  std::string to_string() const override { return "RandomErasing()"; }

 private:
  Tensor changed(const Tensor& images) const override;
  FactorRange factor_;
  RandomErasingOptions options_;
};

struct RandAugmentOptions {
  ValueRange value_range = {};
  int64_t num_ops = 2;
  FactorRange factor = {0, 0.5};  // for all layers, in [0, 1]
  std::string interpolation = "bilinear";
};
// Applies `num_ops` layers of this library one after the other, chosen anew for each batch (Cubuk et al. 2020).
class PANTO_EXPORT RandAugment final : public ImageLayer {
 public:
  explicit RandAugment(const RandAugmentOptions& options = {});
  std::string to_string() const override { return "RandAugment()"; }

 private:
  Tensor changed(const Tensor& images) const override;
  int64_t num_ops_;
  std::vector<std::shared_ptr<const Layer>> layers_;
};

struct AugMixOptions {
  ValueRange value_range = {};
  int64_t num_chains = 3;
  int64_t chain_depth = 3;
  FactorRange factor = {0, 0.3};
  double alpha = 1;
  bool all_ops = true;  // also those of colour and sharpness
  std::string interpolation = "bilinear";
};
// Mixes several chains of up to `chain_depth` layers with each other and with the image (Hendrycks et al. 2020).
class PANTO_EXPORT AugMix final : public ImageLayer {
 public:
  explicit AugMix(const AugMixOptions& options = {});
  std::string to_string() const override { return "AugMix()"; }

 private:
  Tensor changed(const Tensor& images) const override;
  AugMixOptions options_;
  std::vector<std::shared_ptr<const Layer>> layers_;
};

}  // namespace panto
