// Layers that move, turn and cut images at random, so that a model does not learn where things stand. image_layer.h
// describes what these layers share.
//
//   Sequential augment(RandomFlip("horizontal"), RandomRotation(0.1), RandomZoom(0.2));
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/convolution/extents.h"
#include "panto/nn/layers/image/image_layer.h"

namespace panto {

// How values outside of an image, and between its pixels, are found.
struct ImageWarpOptions {
  std::string fill_mode = "reflect";       // "wrap", "nearest" (the edge), "constant"
  std::string interpolation = "bilinear";  // "nearest"
  double fill_value = 0;                   // for "constant"
};

// Mirrors half of the images horizontally, vertically, or in both directions.
class PANTO_EXPORT RandomFlip final : public ImageLayer {
 public:
  // "horizontal", "vertical", "horizontal_and_vertical". Throws InvalidArgument for another mode.
  explicit RandomFlip(std::string mode = "horizontal_and_vertical");
  Tensor transform(const Tensor& images, const Tensor& flips) const;  // bool [batch]
  std::string to_string() const override;

 private:
  Tensor changed(const Tensor& images) const override;
  std::string mode_;
};

// Turns images about the middle, by shares of a full turn.
class PANTO_EXPORT RandomRotation final : public ImageLayer {
 public:
  // A factor in [-1, 1]. This and the next constructors throw InvalidArgument for factors out of range and for unknown
  // option names.
  explicit RandomRotation(FactorRange factor, ImageWarpOptions options = {});
  Tensor transform(const Tensor& images, const Tensor& turns) const;  // [batch]
  std::string to_string() const override;

 private:
  Tensor changed(const Tensor& images) const override;
  FactorRange factor_;
  ImageWarpOptions options_;
};

// Zooms in (below 0) or out: 0.2 shows 1.2 times as much.
class PANTO_EXPORT RandomZoom final : public ImageLayer {
 public:
  // The same number for height and width, or one for each: in [-1, 1].
  explicit RandomZoom(FactorRange factor, ImageWarpOptions options = {});
  RandomZoom(FactorRange height, FactorRange width, ImageWarpOptions options = {});
  // `height` and `width`: 1 + the factors, [batch] each.
  Tensor transform(const Tensor& images, const Tensor& height, const Tensor& width) const;
  std::string to_string() const override;

 private:
  Tensor changed(const Tensor& images) const override;
  FactorRange height_;
  std::optional<FactorRange> width_;
  ImageWarpOptions options_;
};

// Moves images down and to the right, by shares of height and width in [-1, 1].
class PANTO_EXPORT RandomTranslation final : public ImageLayer {
 public:
  RandomTranslation(FactorRange height, FactorRange width, ImageWarpOptions options = {});
  Tensor transform(const Tensor& images, const Tensor& down, const Tensor& right) const;  // [batch] each
  std::string to_string() const override;

 private:
  Tensor changed(const Tensor& images) const override;
  FactorRange height_, width_;
  ImageWarpOptions options_;
};

// Slants images along x or y or both, by factors in [0, 1] to either side.
class PANTO_EXPORT RandomShear final : public ImageLayer {
 public:
  RandomShear(FactorRange x, FactorRange y, ImageWarpOptions options = {});
  Tensor transform(const Tensor& images, const Tensor& x, const Tensor& y) const;  // [batch] each
  std::string to_string() const override;

 private:
  Tensor changed(const Tensor& images) const override;
  FactorRange x_, y_;
  ImageWarpOptions options_;
};

struct RandomPerspectiveOptions {
  double scale = 1;  // how far corners move, in [0, 1]
  std::string interpolation = "bilinear";
  double fill_value = 0;
};
// Changes the perspective: moves the corners of a share of the images that is drawn from `factor`, in [0, 1].
class PANTO_EXPORT RandomPerspective final : public ImageLayer {
 public:
  explicit RandomPerspective(FactorRange factor = {0, 1}, RandomPerspectiveOptions options = {});
  // How far each corner moves, as shares of its coordinates x and y: [batch, 4, 2], of the corners (left, top), (right,
  // top), (left, bottom), (right, bottom).
  Tensor transform(const Tensor& images, const Tensor& moves) const;
  std::string to_string() const override;

 private:
  Tensor changed(const Tensor& images) const override;
  FactorRange factor_;
  RandomPerspectiveOptions options_;
};

// Crops a part of this size, at one place for the whole batch. Images that are not larger are cut to the middle of that
// aspect ratio and resized. Outside training it returns the images, as in Keras.
class PANTO_EXPORT RandomCrop final : public ImageLayer {
 public:
  // Throws InvalidArgument unless the size is positive.
  explicit RandomCrop(Extent size);
  Tensor transform(const Tensor& images, const Tensor& top, const Tensor& left) const;  // int32 scalars
  std::string to_string() const override;

 private:
  Tensor changed(const Tensor& images) const override;
  Extent size_;
};

struct RandomElasticTransformOptions {
  FactorRange scale = {0, 1};  // how far pixels move, in [0, 1]
  std::string interpolation = "bilinear";
  ValueRange value_range = {};
};
// Bends images like rubber: moves pixels by smooth random fields (Simard et al. 2003), in a share of the images that is
// drawn from `factor`, in [0, 1]. Outside of the image lies its reflection.
class PANTO_EXPORT RandomElasticTransform final : public ImageLayer {
 public:
  explicit RandomElasticTransform(FactorRange factor = {0, 1}, RandomElasticTransformOptions options = {});
  // `right` and `down`: how far each pixel's source lies in these directions, [batch, height, width] each, in pixels.
  Tensor transform(const Tensor& images, const Tensor& right, const Tensor& down) const;
  std::string to_string() const override;

 private:
  Tensor changed(const Tensor& images) const override;
  FactorRange factor_;
  RandomElasticTransformOptions options_;
};

}  // namespace panto
