// Images moved, turned and cut at random, against learning where things stand. image_layer.h says what these layers
// have in common.
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

// What lies outside of an image, and between its pixels.
struct ImageWarpOptions {
  std::string fill_mode = "reflect";       // "wrap", "nearest" (the edge), "constant"
  std::string interpolation = "bilinear";  // "nearest"
  double fill_value = 0;                   // of "constant"
};

// Half of the images in mirror writing, or upside down, or both.
class PANTO_EXPORT RandomFlip final : public ImageLayer {
 public:
  // "horizontal", "vertical", "horizontal_and_vertical". Throws InvalidArgument for another.
  explicit RandomFlip(std::string mode = "horizontal_and_vertical");
  Tensor transform(const Tensor& images, const Tensor& flips) const;  // bool [batch]
  std::string to_string() const override;

 private:
  Tensor changed(const Tensor& images) const override;
  std::string mode_;
};

// Turned about the middle, by shares of a full turn.
class PANTO_EXPORT RandomRotation final : public ImageLayer {
 public:
  // A factor in [-1, 1]. This and the next ones throw InvalidArgument for others and for options of other names.
  explicit RandomRotation(FactorRange factor, ImageWarpOptions options = {});
  Tensor transform(const Tensor& images, const Tensor& turns) const;  // [batch]
  std::string to_string() const override;

 private:
  Tensor changed(const Tensor& images) const override;
  FactorRange factor_;
  ImageWarpOptions options_;
};

// Nearer (below 0) or further: 0.2 shows 1.2 times as much.
class PANTO_EXPORT RandomZoom final : public ImageLayer {
 public:
  // Of height and width the same number, or one each: in [-1, 1].
  explicit RandomZoom(FactorRange factor, ImageWarpOptions options = {});
  RandomZoom(FactorRange height, FactorRange width, ImageWarpOptions options = {});
  // 1 + the factors, [batch] each.
  Tensor transform(const Tensor& images, const Tensor& height, const Tensor& width) const;
  std::string to_string() const override;

 private:
  Tensor changed(const Tensor& images) const override;
  FactorRange height_;
  std::optional<FactorRange> width_;
  ImageWarpOptions options_;
};

// Moved down and to the right, by shares of height and width in [-1, 1].
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

// Slanted, along x or y or both, by factors in [0, 1] to either side.
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
// Seen from elsewhere: the corners move, of a share of the images that is drawn from `factor`, in [0, 1].
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

// A part of this size, at one place for the whole batch. Where images are not larger, their middle of that form,
// resized. Otherwise than in training, the images, as in Keras.
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
// Bent, as rubber is: pixels move by smooth random fields (Simard et al. 2003), of a share of the images that is drawn
// from `factor`, in [0, 1]. Outside lies the image's reflection.
class PANTO_EXPORT RandomElasticTransform final : public ImageLayer {
 public:
  explicit RandomElasticTransform(FactorRange factor = {0, 1}, RandomElasticTransformOptions options = {});
  // By fields of what is to the right and below, [batch, height, width] each, in pixels.
  Tensor transform(const Tensor& images, const Tensor& right, const Tensor& down) const;
  std::string to_string() const override;

 private:
  Tensor changed(const Tensor& images) const override;
  FactorRange factor_;
  RandomElasticTransformOptions options_;
};

}  // namespace panto
