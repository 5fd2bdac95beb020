// The base of layers that change images.
//
// Images are [batch, height, width, channels], or one image without the batch; integers become float32. In training (a
// TrainingScope; `fit`) a layer changes each image of a batch by its own random numbers, drawn from the process's
// generator (`set_seed`) at every call, also at every call of a traced function; otherwise it returns the images. Each
// layer's `transform` makes the change alone, by given numbers; it is Keras's. One number stands for a range as in
// Keras: RandomBrightness(0.2) draws from [-0.2, 0.2], RandomBrightness({0, 0.1}) from [0, 0.1].
#pragma once

#include <string>
#include <string_view>

#include "panto/lib/base/export.h"
#include "panto/nn/layers/layer.h"

namespace panto {

// The range from which a layer draws its numbers.
struct FactorRange {
  FactorRange(double amount) : low(amount < 0 ? amount : -amount), high(amount < 0 ? -amount : amount) {}  // NOLINT
  FactorRange(double from, double to) : low(from < to ? from : to), high(from < to ? to : from) {}
  double low, high;
};
// The darkest and the lightest pixel value.
struct ValueRange {
  double low = 0, high = 255;
};

class PANTO_EXPORT ImageLayer : public BuiltInLayer {
 public:
  // Throws InvalidArgument unless x has rank 3 or 4.
  Tensor forward(const Tensor& x) const final;

 private:
  // Changes floating images [batch, height, width, channels] in training.
  virtual Tensor changed(const Tensor& images) const = 0;
  // True if images are changed outside of training too.
  virtual bool always() const { return false; }
};

namespace detail {

// Throws InvalidArgument unless the range is in [least, most]; with `one_sided`, a single number stands for [0,
// number].
FactorRange checked_factor(std::string_view layer, FactorRange range, double least, double most);
ValueRange checked_values(std::string_view layer, ValueRange range);

// One random number for each image, from [low, high); `low` if they are equal: [batch].
Tensor drawn_each(const Tensor& images, double low, double high);
// Draws a share from the range, and chooses that share of the images: bool [batch], true if chosen.
Tensor chosen_each(const Tensor& images, FactorRange share);
// Reshapes [batch] to [batch, 1, 1, 1], in the images' type if they are floating.
Tensor column(const Tensor& each);
// The shape {batch of the images, rest...} as an int32 vector.
Tensor shape_with_batch(const Tensor& images, const std::vector<int64_t>& rest);
// Height and width. Throws Unimplemented if a trace does not know them.
std::pair<int64_t, int64_t> known_size(std::string_view layer, const Tensor& images);
// Maps values linearly from one range to the other.
Tensor in_range(const Tensor& images, ValueRange from, ValueRange to);
Tensor clipped_to(const Tensor& images, ValueRange range);

}  // namespace detail
}  // namespace panto
