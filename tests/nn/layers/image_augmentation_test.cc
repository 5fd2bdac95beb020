// Layers that change images: by given numbers what Keras makes of them (tests/reference/training/image_layer_cases.py),
// and what is drawn.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/io/npy.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/create.h"
#include "panto/lib/ops/random/random.h"
#include "panto/nn/layers/image.h"
#include "panto/tests/expect.h"
#include "panto/tests/nn/layers/layers.h"

namespace panto {
namespace {

const Tensor& keras(const std::string& name) {
  static const auto* const arrays = [] {
    auto* all = new std::map<std::string, Tensor>;
    for (const auto& [key, value] : read_npz(PANTO_TEST_SOURCE "/tests/reference/values/image_layers.npz")) {
      (*all)[key] = value;
    }
    return all;
  }();
  return arrays->at(name);
}
const Tensor& image() { return keras("image"); }
Tensor small() { return image() / 255.F; }
Tensor numbers() { return tensor({0.25F, -0.125F, 0.0625F}); }
Tensor turned_round() { return tensor({0.0625F, -0.125F, 0.25F}); }
Tensor positive() { return tensor({0.75F, 1.25F, 0.5F}); }
Tensor chosen() { return tensor({true, false, true}); }

// 1 of 255 apart at most 1e-4 of it; `share` of the elements may be further apart, where a place lies between pixels.
void expect_keras(const Tensor& got, const std::string& name, double tolerance = 1e-3, double share = 0) {
  BOOST_TEST_CONTEXT(name) {
    const Tensor& expected = keras(name);
    BOOST_REQUIRE_EQUAL(got.shape().to_string(), expected.shape().to_string());
    BOOST_TEST(dtype_name(got.dtype()) == "float32");
    const std::vector<double> a = values_of(got), b = values_of(expected);
    int64_t apart = 0;
    double worst = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const double distance = std::abs(a[i] - b[i]);
      if (!(distance <= tolerance)) ++apart;
      worst = std::max(worst, distance);
    }
    BOOST_TEST(static_cast<double>(apart) <= share * static_cast<double>(a.size()),
               apart << " apart, at most " << worst);
  }
}

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(image_augmentation)

BOOST_AUTO_TEST_CASE(geometry_as_keras) {
  for (const char* mode : {"reflect", "wrap", "nearest", "constant"}) {
    for (const char* interpolation : {"bilinear", "nearest"}) {
      const RandomRotation layer(0.5, {.fill_mode = mode, .interpolation = interpolation, .fill_value = 7});
      // A quarter turn puts pixels upon pixels, where "nearest" may take either neighbour.
      expect_keras(layer.transform(image(), numbers()), fmt::format("rotation/{}/{}", mode, interpolation), 2e-2,
                   interpolation == std::string("nearest") ? 0.05 : 0);
    }
  }
  expect_keras(RandomZoom(0.5).transform(image(), positive(), numbers() + 1.F), "zoom", 2e-2);
  expect_keras(RandomTranslation(0.5, 0.5).transform(image(), turned_round(), numbers()), "translation", 2e-2);
  expect_keras(RandomShear(0.5, 0.5).transform(image(), numbers(), turned_round()), "shear", 2e-2);
  expect_keras(RandomPerspective().transform(image(), wave({3, 4, 2}, 5) * 0.25F), "perspective", 5e-2);
  expect_keras(RandomCrop({4, 5}).transform(image(), tensor(1), tensor(2)), "crop");
  {
    const TrainingScope training;
    expect_keras(RandomCrop({7, 5})(image()), "crop_of_few", 2e-2);
    expect_keras(RandomCrop({9, 10})(image()), "crop_of_less", 2e-2);
  }
  for (const char* mode : {"horizontal", "vertical", "horizontal_and_vertical"}) {
    expect_keras(RandomFlip(mode).transform(image(), chosen()), std::string("flip/") + mode);
  }
  for (const char* interpolation : {"bilinear", "nearest"}) {
    const RandomElasticTransform layer({0, 1}, {.interpolation = interpolation});
    expect_keras(layer.transform(image(), wave({3, 6, 8}, 3) * 2.F, wave({3, 6, 8}, 4) * 2.F),
                 std::string("elastic/") + interpolation, 2e-2);
  }
}

BOOST_AUTO_TEST_CASE(colours_as_keras) {
  const ImageValueOptions unit{.value_range = {0, 1}};
  expect_keras(RandomBrightness(0.5).transform(image(), numbers()), "brightness");
  expect_keras(RandomContrast(0.5).transform(image(), positive()), "contrast");
  expect_keras(RandomSaturation(0.5).transform(image(), positive()), "saturation");
  expect_keras(RandomSaturation(0.5, unit).transform(small(), positive()), "saturation/unit", 1e-5);
  expect_keras(RandomHue(0.5).transform(image(), numbers()), "hue");
  expect_keras(RandomHue(0.5, unit).transform(small(), numbers()), "hue/unit", 1e-5);
  expect_keras(RandomColorDegeneration(0.5).transform(image(), numbers()), "degeneration");
  expect_keras(RandomGrayscale().transform(image(), chosen()), "grayscale");
  expect_keras(RandomInvert(0.5).transform(image(), chosen()), "invert");
  expect_keras(RandomPosterization(3).transform(image(), tensor({1, 3, 6})), "posterization");
  expect_keras(RandomPosterization(3, unit).transform(small(), tensor({1, 3, 6})), "posterization/unit", 1e-5, 0.02);
  expect_keras(RandomSharpness(0.5).transform(image(), positive()), "sharpness");
  expect_keras(Solarization(0.5, 0.5).transform(image(), numbers() * 255.F, positive() * 100.F), "solarization");
  expect_keras(Solarization(0.5, 0.5, unit).transform(small(), numbers() * 255.F, positive() * 100.F),
               "solarization/unit", 1e-5);
  expect_keras(RandomGaussianBlur({0, 1}, {.kernel_size = 5}).transform(image(), tensor(0.75F), tensor(0.5F), chosen()),
               "blur");
  expect_keras(AutoContrast()(image()), "auto_contrast");
  expect_keras(AutoContrast(unit)(small()), "auto_contrast/unit", 1e-5);
  const TrainingScope training;
  expect_keras(Equalization()(image()), "equalization");
  expect_keras(Equalization({.value_range = {0, 1}, .bins = 64})(small()), "equalization/unit", 1e-5, 0.02);
  const auto clahe = [](const ClaheOptions& options) { return ContrastLimitedAdaptiveHistogramEqualization(options); };
  expect_keras(clahe({.tile_grid_size = {2, 3}})(image()), "clahe", 1e-2);
  expect_keras(clahe({.value_range = {0, 1}, .clip_limit = 8, .tile_grid_size = {3, 4}})(small()), "clahe/unit", 1e-4,
               0.02);
}

BOOST_AUTO_TEST_CASE(mixed_as_keras) {
  const Tensor order = tensor({2, 0, 1});
  expect_keras(MixUp().transform(image(), abs(numbers()), order), "mix_up");
  const CutMix::Boxes boxes{tensor({0.5F, 2.F, 3.F}), tensor({4.F, 7.5F, 3.5F}), tensor({1.F, 0.25F, 2.F}),
                            tensor({3.F, 2.25F, 6.F})};
  expect_keras(CutMix().transform(image(), boxes, order), "cut_mix");
  const RandomErasing erasing({0, 1}, {.fill_value = 9});
  expect_keras(erasing.transform(image(), boxes, chosen(), zeros_like(image()) + 9.F), "erasing");
}

std::vector<std::shared_ptr<const Layer>> all_layers() {
  return {std::make_shared<RandomFlip>(),
          std::make_shared<RandomRotation>(0.2),
          std::make_shared<RandomZoom>(0.2),
          std::make_shared<RandomZoom>(0.2, FactorRange(-0.3, -0.1)),
          std::make_shared<RandomTranslation>(0.2, 0.3),
          std::make_shared<RandomShear>(0.2, 0.3),
          std::make_shared<RandomPerspective>(FactorRange(1, 1)),
          std::make_shared<RandomElasticTransform>(FactorRange(1, 1)),
          std::make_shared<RandomBrightness>(0.3),
          std::make_shared<RandomContrast>(0.3, 0.9),
          std::make_shared<RandomSaturation>(FactorRange(0.2, 0.4)),
          std::make_shared<RandomHue>(0.5),
          std::make_shared<RandomColorDegeneration>(0.5),
          std::make_shared<RandomColorJitter>(RandomColorJitterOptions{
              .brightness = 0.2, .contrast = 0.5, .saturation = FactorRange(0.2, 0.4), .hue = 0.3}),
          std::make_shared<RandomGrayscale>(0.5),
          std::make_shared<RandomInvert>(FactorRange(0.5, 0.5)),
          std::make_shared<RandomPosterization>(1, 4),
          std::make_shared<RandomSharpness>(0.4),
          std::make_shared<Solarization>(0.5, 0.5),
          std::make_shared<Equalization>(),
          std::make_shared<RandomGaussianBlur>(FactorRange(1, 1)),
          std::make_shared<MixUp>(),
          std::make_shared<CutMix>(),
          std::make_shared<RandomErasing>(),
          std::make_shared<RandAugment>(),
          std::make_shared<AugMix>()};
}

// Nothing happens but in training; there each call draws anew, by the seed; a traced function does so, too, for batches
// of any size; one image is a batch of one; integers become float32.
BOOST_AUTO_TEST_CASE(in_training_only) {
  for (const auto& layer : all_layers()) {
    BOOST_TEST_CONTEXT(layer->to_string()) {
      expect_near((*layer)(image()), image().shape(), values_of(image()), 0);
      const TrainingScope training;
      const auto drawn = [&](int64_t seed) {
        set_seed(seed);
        return values_of((*layer)(image()));
      };
      const std::vector<double> first = drawn(1);
      BOOST_TEST(first == drawn(1));
      bool changed = first != values_of(image()), other = false;
      for (int64_t seed = 2; seed < 12; ++seed) {
        const std::vector<double> next = drawn(seed);
        other = other || next != first;
        changed = changed || next != values_of(image());
        for (const double v : next) BOOST_REQUIRE(std::isfinite(v));
      }
      BOOST_TEST(changed);
      BOOST_TEST((other || layer->to_string() == "Equalization()"));
      set_seed(3);
      const Function traced =
          trace([&](const Tensor& x) { return (*layer)(x); }, {TensorSpec(kFloat32, {-1, 6, 8, 3})});
      BOOST_TEST(traced(image()).shape() == image().shape());
      BOOST_TEST(traced(image()[0] + zeros({5, 6, 8, 3})).shape() == Shape({5, 6, 8, 3}));
      BOOST_TEST((*layer)(image()[0]).shape() == Shape({6, 8, 3}));
      BOOST_TEST(((*layer)(cast(image(), kUint8)).dtype() == kFloat32));
      BOOST_TEST(((*layer)(cast(image(), kFloat64)).dtype() == kFloat64));
    }
  }
}

// Of many images: means of what is drawn, and the images on either side.
BOOST_AUTO_TEST_CASE(drawn_from_the_range) {
  const TrainingScope training;
  set_seed(5);
  const Tensor grey = full({4000, 1, 1, 3}, 100.0);
  const std::vector<double> bright = values_of(RandomBrightness({0.1, 0.3})(grey)(Slice(), 0, 0, 0));
  double least = 1e9, most = 0, total = 0;
  for (const double v : bright) least = std::min(least, v), most = std::max(most, v), total += v;
  BOOST_TEST(least >= 100 + 25.5 - 1e-3);
  BOOST_TEST(most <= 100 + 76.5 + 1e-3);
  BOOST_TEST(std::abs(total / 4000 - 151) < 1);
  const Tensor two = tile(reshape(tensor({0.F, 255.F}), {1, 1, 2, 1}), {4000, 1, 1, 1});
  const double flipped = mean(RandomFlip("horizontal")(two)(Slice(), 0, 0, 0)).item<double>() / 255;
  BOOST_TEST(std::abs(flipped - 0.5) < 0.03);
  const double inverted = mean(RandomInvert({0.2, 0.4})(zeros({4000, 1, 1, 3}))).item<double>() / 255;
  BOOST_TEST(std::abs(inverted - 0.3) < 0.03);
  const double greyed = mean(cast(RandomGrayscale(0.25)(tile(reshape(tensor({255.F, 0.F, 0.F}), {1, 1, 1, 3}),
                                                             {4000, 1, 1, 1}))(Slice(), 0, 0, 1) > 1.F,
                                  kFloat32))
                            .item<double>();
  BOOST_TEST(std::abs(greyed - 0.25) < 0.03);
  // The mean of MixUp's weights is a half; boxes of CutMix are within the image.
  const Tensor steps = reshape(cast(arange(int64_t{4000}), kFloat32), {4000, 1, 1, 1});
  const auto [mixed, labels] = MixUp(1).pair(steps, reshape(steps, {4000, 1}));
  expect_near(reshape(mixed, {4000}), {4000}, values_of(reshape(labels, {4000})), 1e-2);
  BOOST_TEST(std::abs(mean(labels).item<double>() - 1999.5) < 60);
  std::set<double> bits;
  for (const double v : values_of(RandomPosterization(1, 4)(full({200, 1, 1, 1}, 255.0)))) bits.insert(v);
  BOOST_TEST((bits == std::set<double>{128, 192, 224}));
}

BOOST_AUTO_TEST_CASE(labels_are_mixed_by_areas) {
  const TrainingScope training;
  set_seed(7);
  const Tensor images = reshape(cast(arange(int64_t{6}), kFloat32), {6, 1, 1, 1}) + zeros({6, 40, 40, 1});
  const Tensor labels = eye(6);
  const auto [mixed, shares] = CutMix({1, 1}).pair(images, labels);
  const std::vector<double> by_image = values_of(mean(mixed, {1, 2, 3}));
  const std::vector<double> by_label =
      values_of(reshape(matmul(shares, reshape(cast(arange(int64_t{6}), kFloat32), {6, 1})), {6}));
  for (size_t i = 0; i < 6; ++i) BOOST_TEST(std::abs(by_image[i] - by_label[i]) < 0.3);
  expect_near(sum(shares, 1), {6}, {1, 1, 1, 1, 1, 1}, 1e-5);
}

BOOST_AUTO_TEST_CASE(misuse) {
  expect_error_begins([] { RandomFlip("sideways"); }, "InvalidArgument: RandomFlip: expected \"horizontal\"");
  expect_error_begins([] { RandomRotation(1.5); }, "InvalidArgument: RandomRotation: expected a factor in [-1, 1]");
  expect_error_begins([] { RandomRotation(0.1, {.fill_mode = "stars"}); },
                      "InvalidArgument: RandomRotation: expected fill_mode");
  expect_error_begins([] { RandomZoom(0.1, {.interpolation = "cubic"}); },
                      "InvalidArgument: RandomZoom: expected interpolation");
  expect_error_begins([] { RandomCrop({0, 2}); }, "InvalidArgument: RandomCrop: expected a positive height and width");
  expect_error_begins([] { RandomBrightness(0.1, {.value_range = {1, 0}}); },
                      "InvalidArgument: RandomBrightness: expected a value_range that ascends");
  expect_error_begins([] { RandomPosterization(9); }, "InvalidArgument: RandomPosterization: expected numbers of bits");
  expect_error_begins([] { RandomGaussianBlur({0, 1}, {.kernel_size = 2}); },
                      "InvalidArgument: RandomGaussianBlur: expected an odd kernel_size");
  expect_error_begins([] { RandomFlip()(ones({2, 2})); },
                      "InvalidArgument: RandomFlip(horizontal_and_vertical): expected images [batch, height");
  const TrainingScope training;
  expect_error_begins([] { RandomHue(0.1)(ones({1, 2, 2, 1})); },
                      "InvalidArgument: RandomHue: expected images of 3 channels, got 1");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
