// What layers that change images have in common.
//
// Images are [batch, height, width, channels], or one without the batch; integers become float32. In training (a
// TrainingScope; `fit`) a layer changes each image of a batch by numbers of its own, drawn from the process's generator
// (`set_seed`) at every call, also of a traced function; otherwise it gives the images themselves. The change alone, by
// given numbers, is each layer's `transform`; it is Keras's. Numbers stand for ranges as in Keras:
// RandomBrightness(0.2) draws from [-0.2, 0.2], RandomBrightness({0, 0.1}) from [0, 0.1].
#pragma once

#include <string>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/layer.h"

namespace panto {

// From where a layer draws its numbers.
struct FactorRange {
  FactorRange(double amount) : low(amount < 0 ? amount : -amount), high(amount < 0 ? -amount : amount) {}  // NOLINT
  FactorRange(double from, double to) : low(from < to ? from : to), high(from < to ? to : from) {}
  double low, high;
};
// What values of pixels mean: darkest and lightest.
struct ValueRange {
  double low = 0, high = 255;
};

class PANTO_EXPORT ImageLayer : public BuiltInLayer {
 public:
  // Throws InvalidArgument for an x of another rank than 3 and 4.
  Tensor forward(const Tensor& x) const final;

 private:
  // Floating [batch, height, width, channels], in training.
  virtual Tensor changed(const Tensor& images) const = 0;
  // Whether images are changed in and out of training.
  virtual bool always() const { return false; }
};

namespace detail {

// Throws InvalidArgument for what is not in [least, most]; with `one_sided`, a single number stands for [0, number].
FactorRange checked_factor(std::string_view layer, FactorRange range, double least, double most);
ValueRange checked_values(std::string_view layer, ValueRange range);

// One number for each image, from [low, high) or `low` where they are equal: [batch].
Tensor drawn_each(const Tensor& images, double low, double high);
// True for a share of the images that is drawn from the range itself: bool [batch].
Tensor chosen_each(const Tensor& images, FactorRange share);
// [batch] as [batch, 1, 1, 1], in the images' type if they are floating numbers.
Tensor column(const Tensor& each);
// The images' batch as int32 [1], beside `rest`: a shape.
Tensor shape_with_batch(const Tensor& images, const std::vector<int64_t>& rest);
// Height and width. Throws Unimplemented where a trace does not know them.
std::pair<int64_t, int64_t> known_size(std::string_view layer, const Tensor& images);
// Values of one range in another.
Tensor in_range(const Tensor& images, ValueRange from, ValueRange to);
Tensor clipped_to(const Tensor& images, ValueRange range);

}  // namespace detail
}  // namespace panto
