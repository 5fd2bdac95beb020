// Samples of windows of images. Which parts are drawn is compared with TensorFlow's in replay_test.cc.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/call/scopes.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/ops/random/random.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::glimpses_rows {
namespace {

double number(int64_t i) { return static_cast<double>(i); }

// Two images of 3 by 4 pixels and two channels.
const Array kImages = make({2, 3, 4, 2}, [](const Index& i) {
  return 100 * number(i[0]) + 10 * number(i[1]) + number(i[2]) + 0.5 * number(i[3]);
});
const Array kOffsets = array({2, 2}, {0, 0, -1.5, 3});
const Array kNearOffsets = array({2, 2}, {0, 0, 0.25, -0.125});
Array size(double height, double width) { return list({height, width}).as(kInt32); }

Attrs places(bool centered, bool normalized) { return {{"centered", centered}, {"normalized", normalized}}; }
Attrs zero(bool centered, bool normalized) {
  return {{"centered", centered}, {"normalized", normalized}, {"uniform_noise", false}, {"noise", "zero"}};
}
std::vector<Sample> windows() {
  return {{.in = {kImages, size(2, 2), kOffsets}, .attrs = zero(true, true)},
          {.in = {kImages, size(2, 5), kOffsets}, .attrs = zero(false, false)},
          {.in = {kImages, size(4, 1), kNearOffsets}, .attrs = {}},
          {.in = {kImages, size(4, 3), kNearOffsets},
           .attrs = {{"uniform_noise", false}, {"noise", "gaussian"}, {"centered", false}}},
          {.in = {kImages, size(0, 3), kNearOffsets}, .attrs = places(true, false)}};
}
const std::vector<ErrorSample> kErrors = {
    {.in = {kImages, size(2, 2), kOffsets},
     .attrs = {{"noise", "loud"}},
     .text = "noise: expected uniform, gaussian or zero, got 'loud'"},
    {.in = {kImages, size(2, 2), kOffsets},
     .attrs = {{"noise", "zero"}},
     .text = "uniform_noise: expected false where noise is 'zero', got true"},
    {.in = {kImages, size(-1, 2), kOffsets}, .text = "size[0]: expected at least 0, got -1"},
    {.in = {kImages, size(2, 2), list({1, 2})}, .text = "offsets: expected a matrix, got shape [2]"},
    {.in = {kImages, size(2, 2), array({1, 2}, {0, 0})}, .text = "number of images in input and offsets: expected "},
    {.in = {array({1, 0, 4, 2}, {}), size(2, 2), array({1, 2}, {0, 0})},
     .text = "input: expected a height and width of at least 1, got shape [1,0,4,2]"},
    {.in = {kImages, size(2, 2), array({2, 2}, {0, std::nan(""), 0, 0})},
     .text = "offsets: expected numbers, got NaN"}};

// Without noise it is a part of the image, or 0: the window's first pixel by the definition.
template <int kVersion>
void parts() {
  for (const bool centered : {false, true}) {
    for (const bool normalized : {false, true}) {
      for (const double y : {-2., -0.6, 0., 0.3, 1., 2.7}) {
        for (const double x : {-1., 0., 0.4, 3.}) {
          const int64_t window[2] = {2, 3}, image[2] = {3, 4};
          const double given[2] = {y, x};
          int64_t first[2];
          for (int k = 0; k < 2; ++k) {
            double at = normalized ? given[k] * static_cast<double>(image[k]) : given[k];
            const bool by_middle = kVersion == 1 || (normalized && centered);
            const bool in_halves = kVersion == 1 ? centered : normalized && centered;
            if (in_halves) at = (at + static_cast<double>(image[k])) / 2;
            if (kVersion == 2 && centered && !normalized) at += static_cast<double>(image[k]) / 2;
            if (by_middle) at -= static_cast<double>(window[k]) / 2;
            first[k] = static_cast<int64_t>(static_cast<float>(at));
          }
          const Tensor offsets = to_tensor(array({2, 2}, {y, x, y, x}), kFloat32);
          const Tensor in = to_tensor(kImages, kFloat32), extent = tensor({2, 3});
          Tensor out;
          if constexpr (kVersion == 1) {
            out = extract_glimpse_v1(
                in, extent, offsets,
                {.centered = centered, .normalized = normalized, .uniform_noise = false, .noise = "zero"});
          } else {
            out = extract_glimpse(
                in, extent, offsets,
                {.centered = centered, .normalized = normalized, .uniform_noise = false, .noise = "zero"});
          }
          const Array expected = make({2, 2, 3, 2}, [&](const Index& i) {
            const int64_t r = first[0] + i[1], s = first[1] + i[2];
            return r < 0 || s < 0 || r >= 3 || s >= 4
                       ? 0.
                       : 100 * number(i[0]) + 10 * number(r) + number(s) + 0.5 * number(i[3]);
          });
          BOOST_TEST(difference(expected, out, {}) == "", y << " " << x << " " << centered << normalized);
        }
      }
    }
  }
}

// Outside of the image: numbers of its range; with gaussian noise those of each channel's mean and deviation.
void noise() {
  const Tensor image =
      to_tensor(make({1, 8, 8, 1}, [](const Index& i) { return static_cast<double>(i[1] % 2); }), kFloat32);
  const Tensor far = to_tensor(array({1, 2}, {5, 5}), kFloat32);
  set_seed(3);
  const auto values = [&](const char* kind) {
    const Tensor out = extract_glimpse(image, tensor({50, 50}), far, {.uniform_noise = false, .noise = kind});
    return to_array(out).values;
  };
  for (const char* kind : {"uniform", "gaussian"}) {
    const std::vector<double> drawn = values(kind);
    BOOST_TEST(std::ranges::min(drawn) >= 0);
    BOOST_TEST(std::ranges::max(drawn) <= 1);
    double sum = 0;
    for (const double v : drawn) sum += v;
    BOOST_CHECK_SMALL(sum / 2500 - 0.5, 0.05);
    const auto ends = std::ranges::count_if(drawn, [](double v) { return v == 0 || v == 1; });
    // Of normal numbers of deviation 1/2 a third is beyond the image's range, which keeps them.
    if (std::string_view(kind) == "gaussian") BOOST_CHECK_SMALL(static_cast<double>(ends) / 2500 - 0.3173, 0.06);
    BOOST_TEST(drawn != values(kind));
  }
}

// ---- Parts that are drawn ---------------------------------------------------------------------------------------

const Array kPicture = make({4, 5, 1}, [](const Index& i) { return 5 * number(i[0]) + number(i[1]); });
Array wide(double height, double width) { return list({height, width}).as(kInt64); }

// A part of the picture, in order; every place is drawn.
void crops() {
  const Tensor picture = to_tensor(kPicture, kFloat32), extent = tensor(std::vector<int64_t>{3, 3});
  set_seed(7);
  std::set<int> places;
  for (int n = 0; n < 300; ++n) {
    const std::vector<float> part = random_crop(picture, extent).to_vector<float>();
    places.insert(static_cast<int>(part[0]));
    for (size_t i = 0; i < 9; ++i)
      BOOST_TEST(part[i] == part[0] + 5 * static_cast<float>(i / 3) + static_cast<float>(i % 3));
  }
  BOOST_TEST(places == (std::set<int>{0, 1, 2, 5, 6, 7}));
}

const Array kBoxes = array({1, 2, 4}, {0.1, 0.2, 0.6, 0.7, 0.5, 0.5, 0.9, 0.95});
const Array kNoBoxes = array({1, 0, 4}, {});
Array image_size() { return list({60, 90, 3}); }
Array seen(double part) { return scalar(part).as(kFloat32); }
const Array kSeed = list({3, 5});

// By the definition: one of the boxes is seen enough, and area and shape are what is asked for, but for rounding.
void rules() {
  const double boxes[2][4] = {{6, 18, 36, 63}, {30, 45, 54, 85}};
  int whole = 0;
  for (int n = 0; n < 200; ++n) {
    const auto drawn = stateless_sample_distorted_bounding_box(
        tensor({60, 90, 3}), to_tensor(kBoxes, kFloat32), tensor(0.4F), tensor({n, 1}),
        {.aspect_ratio_range = {0.8F, 1.5F}, .area_range = {0.1F, 0.5F}});
    const std::vector<int32_t> begin = drawn.begin.to_vector<int32_t>(), extent = drawn.size.to_vector<int32_t>();
    BOOST_TEST((begin[2] == 0 && extent[2] == -1));
    const double height = extent[0], width = extent[1];
    whole += height == 60 && width == 90;
    if (height == 60 && width == 90) continue;
    BOOST_TEST((begin[0] >= 0 && begin[1] >= 0 && begin[0] + height <= 60 && begin[1] + width <= 90));
    BOOST_TEST((height * width >= 0.1 * 5400 && height * width <= 0.5 * 5400));
    BOOST_TEST((width >= 0.8 * height - 0.5 && width <= 1.5 * height + 0.5));
    const bool enough = std::ranges::any_of(boxes, [&](const double(&box)[4]) {
      const double rows = std::min(box[2], begin[0] + height) - std::max(box[0], static_cast<double>(begin[0]));
      const double columns = std::min(box[3], begin[1] + width) - std::max(box[1], static_cast<double>(begin[1]));
      return rows > 0 && columns > 0 && rows * columns >= 0.4 * (box[2] - box[0]) * (box[3] - box[1]) - 1e-9;
    });
    BOOST_TEST(enough);
    const std::vector<float> box = drawn.bboxes.to_vector<float>();
    BOOST_CHECK_SMALL(box[0] - static_cast<float>(begin[0]) / 60.F, 1e-6F);
    BOOST_CHECK_SMALL(box[3] - static_cast<float>((begin[1] + width) / 90), 1e-6F);
  }
  BOOST_TEST(whole < 10);
}

template <class... More>
std::vector<ErrorSample> box_errors(More... more) {
  return {{.in = {image_size(), kNoBoxes, more...},
           .text = "bounding_boxes: expected one without use_image_if_no_bounding_boxes, got none"},
          {.in = {list({60, 90}), kBoxes, more...}, .text = "length of image_size: expected 3, got 2"},
          {.in = {list({0, 90, 3}), kBoxes, more...}, .text = "image_size[0]: expected 1 to 2147483647, got 0"},
          {.in = {image_size(), array({1, 1, 4}, {0, 0, 1.5, 1}), more...},
           .text = "bounding_boxes: expected numbers from 0 to 1, got 1.5"},
          {.in = {image_size(), array({1, 4}, {0, 0, 1, 1}), more...}, .text = "bounding_boxes: expected rank 3, got "},
          {.in = {image_size(), kBoxes, more...},
           .attrs = {{"area_range", std::vector<float>{0.5, 2}}},
           .text = "area_range[1]: expected above 0 and at most 1, got 2"},
          {.in = {image_size(), kBoxes, more...},
           .attrs = {{"aspect_ratio_range", std::vector<float>{0.5}}},
           .text = "aspect_ratio_range: expected two numbers, got 1"},
          {.in = {image_size(), kBoxes, more...},
           .attrs = {{"max_attempts", 0}},
           .text = "max_attempts: expected 1 to 2147483647, got 0"}};
}
template <class... More>
std::vector<Sample> box_samples(More... more) {
  return {{.in = {image_size(), kBoxes, more...}},
          {.in = {image_size(), kBoxes, more...},
           .attrs = {{"area_range", std::vector<float>{0.01, 0.02}}, {"max_attempts", 3}}},
          {.in = {list({1, 1, 1}), kNoBoxes, more...}, .attrs = {{"use_image_if_no_bounding_boxes", true}}}};
}

const Family family(
    "image",
    {
        {"ExtractGlimpse",
         {.samples = windows(), .errors = kErrors, .own = {{"parts", parts<1>}}, .gradient = false, .random = true}},
        {"ExtractGlimpseV2",
         {.samples = windows(),
          .errors = kErrors,
          .own = {{"parts", parts<2>}, {"noise", noise}},
          .gradient = false,
          .random = true}},
        {"RandomCrop",
         {.samples = {{.in = {kPicture, wide(3, 2)}},
                      {.in = {kPicture, wide(4, 5)}, .attrs = {{"seed", 3}}},
                      {.in = {kPicture, wide(0, 5)}}},
          .errors = {{.in = {kPicture, wide(5, 5)}, .text = "size[0]: expected at most 4 pixels, got 5"},
                     {.in = {kPicture, wide(-1, 5)}, .text = "size[0]: expected at least 0, got -1"},
                     {.in = {list({1, 2}), wide(1, 1)}, .text = "image: expected rank 3, got "}},
          .own = {{"places", crops}},
          .gradient = false,
          .random = true}},
        {"SampleDistortedBoundingBox", {.samples = box_samples(), .errors = box_errors(), .random = true}},
        {"SampleDistortedBoundingBoxV2",
         {.samples = box_samples(seen(0.1)), .errors = box_errors(seen(0.1)), .random = true}},
        {"StatelessSampleDistortedBoundingBox",
         {.samples = box_samples(seen(0.3), kSeed), .errors = box_errors(seen(0.3), kSeed), .own = {{"rules", rules}}}},
    });

}  // namespace
}  // namespace panto::test::glimpses_rows
