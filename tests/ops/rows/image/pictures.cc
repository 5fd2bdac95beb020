// Samples of boxes drawn on images, of images seen from elsewhere and of spectra, with what TensorFlow makes of them;
// more of these are in tests/device/media.
#include <string>

#include "panto/tests/device/media/media_reference.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test::pictures_rows {
namespace {

// A stored call. `primary`: whether the first input takes the type that is asked for.
Sample stored(const std::string& call, int inputs, Attrs attrs = {}, bool primary = true) {
  Sample sample;
  sample.attrs = std::move(attrs);
  for (int i = 0; i < inputs; ++i) {
    const Tensor& t = media_arrays().at(call + "/i" + std::to_string(i));
    Array a = to_array(t);
    a.type = i == 0 && primary ? DType::kInvalid : t.dtype();
    a.drawn = false;
    sample.in.push_back(std::move(a));
  }
  sample.out = {to_array(media_arrays().at(call + "/o0"))};
  sample.out[0].type = DType::kInvalid;
  return sample;
}

const Array kImage = filled({1, 2, 2, 1}, 0), kBox = filled({1, 1, 4}, 0).as(kFloat32),
            kSame = array({1, 8}, {1, 0, 0, 0, 1, 0, 0, 0}).as(kFloat32), kSize = list({2, 2}).as(kInt32),
            kZero = scalar(0).as(kFloat32);
const Attr kNearest = {"interpolation", "NEAREST"}, kBilinear = {"interpolation", "BILINEAR"};

const Family pictures(
    "pictures",
    {
        {"DrawBoundingBoxes",
         {.samples = {stored("DrawBoundingBoxes#channels3", 2)},
          .errors = {{.in = {filled({1, 2, 2, 2}, 0), kBox}, .text = "channels of images: expected 1, 3 or 4, got 2"},
                     {.in = {kImage, filled({1, 1, 3}, 0).as(kFloat32)}, .text = "dimension 2 of boxes: expected 4"}},
          .types = {kFloat32},
          .gradient = false,
          .fixed = {1}}},
        {"DrawBoundingBoxesV2",
         {.samples = {stored("DrawBoundingBoxesV2#channels1", 3), stored("DrawBoundingBoxesV2#channels4", 3)},
          .errors = {{.in = {filled({1, 2, 2, 3}, 0), kBox, filled({1, 2}, 0).as(kFloat32)},
                      .text = "dimension 1 of colors: expected at least the channels of images, 3, got 2"}},
          .types = {kFloat32},
          .gradient = false,
          .fixed = {1}}},
        {"ImageProjectiveTransformV2",
         {.samples = {stored("ImageProjectiveTransformV2;interpolation=NEAREST#integers", 3, {kNearest})},
          .errors = {{.in = {kImage, kSame, kSize},
                      .attrs = {{"interpolation", "LINEAR"}},
                      .text = "interpolation: expected NEAREST or BILINEAR, got 'LINEAR'"}},
          .types = {kInt32, kInt64},
          .gradient = false,
          .fixed = {2}}},
        {"ImageProjectiveTransformV3",
         {.samples = {stored("ImageProjectiveTransformV3;interpolation=BILINEAR;fill_mode=CONSTANT#turn", 4,
                             {kBilinear}),
                      stored("ImageProjectiveTransformV3;interpolation=NEAREST;fill_mode=REFLECT#two", 4,
                             {kNearest, {"fill_mode", "REFLECT"}})},
          .errors = {{.in = {kImage, kSame, kSize, kZero},
                      .attrs = {kNearest, {"fill_mode", "MIRROR"}},
                      .text = "fill_mode: expected CONSTANT, REFLECT, WRAP or NEAREST, got 'MIRROR'"},
                     {.in = {kImage, filled({2, 8}, 0).as(kFloat32), kSize, kZero},
                      .attrs = {kNearest},
                      .text = "transforms: expected one or one for each of 1 images, got 2"},
                     {.in = {kImage, filled({1, 6}, 0).as(kFloat32), kSize, kZero},
                      .attrs = {kNearest},
                      .text = "dimension 1 of transforms: expected 8, got 6"}},
          .types = {kFloat32},
          .units = 64,
          .floor = 200,
          .gradient = false,
          .fixed = {2}}},
        {"ScaleAndTranslate",
         {.samples = {stored("ScaleAndTranslate;kernel_type=lanczos3;antialias=true#down", 4),
                      stored("ScaleAndTranslate;kernel_type=triangle;antialias=false#out", 4,
                             {{"kernel_type", "triangle"}, {"antialias", false}})},
          .errors = {{.in = {kImage, kSize, filled({2}, 1).as(kFloat32), filled({2}, 0).as(kFloat32)},
                      .attrs = {{"kernel_type", "cubic"}},
                      .text = "kernel_type: expected lanczos1, lanczos3"},
                     {.in = {kImage, kSize, filled({2}, 0).as(kFloat32), filled({2}, 0).as(kFloat32)},
                      .text = "scale: expected positive numbers, got 0"},
                     {.in = {kImage, kSize, filled({3}, 1).as(kFloat32), filled({2}, 0).as(kFloat32)},
                      .text = "scale: expected a number for height and width, got 3"}},
          .types = {kFloat32},
          .units = 64,
          .floor = 200,
          .gradient = false,
          .fixed = {1}}},
        {"ScaleAndTranslateGrad",
         {.samples = {stored("ScaleAndTranslateGrad;kernel_type=keyscubic;antialias=true#up", 4,
                             {{"kernel_type", "keyscubic"}})},
          .errors = {{.in = {filled({2, 2, 2, 1}, 0), kImage, filled({2}, 1).as(kFloat32), filled({2}, 0).as(kFloat32)},
                      .text = "number of images in grads and original_image: expected"}},
          .units = 64,
          .floor = 16,
          .gradient = false}},
        {"AudioSpectrogram",
         {.samples = {stored("AudioSpectrogram;window_size=64;stride=32#power", 1,
                             {{"window_size", 64}, {"stride", 32}}, false),
                      stored("AudioSpectrogram;window_size=100;stride=60;magnitude_squared=true#squares", 1,
                             {{"window_size", 100}, {"stride", 60}, {"magnitude_squared", true}}, false)},
          .errors = {{.in = {filled({8, 1}, 0).as(kFloat32)},
                      .attrs = {{"window_size", 1}, {"stride", 1}},
                      .text = "window_size: expected 2 to 1073741824, got 1"},
                     {.in = {filled({8, 1}, 0).as(kFloat32)},
                      .attrs = {{"window_size", 2}, {"stride", 0}},
                      .text = "stride: expected 1 to 1073741824, got 0"},
                     {.in = {filled({8}, 0).as(kFloat32)},
                      .attrs = {{"window_size", 2}, {"stride", 1}},
                      .text = "input: expected a matrix, got shape [8]"}},
          .units = 64,
          .floor = 16,
          .gradient = false}},
        {"Mfcc",
         {.samples = {stored("Mfcc#defaults", 2, {}, false)},
          .errors = {{.in = {filled({1, 1, 9}, 1).as(kFloat32), scalar(100).as(kInt32)},
                      .text = "upper_frequency_limit: expected at most half of the sample rate 100, got 4000"},
                     {.in = {filled({1, 1, 9}, 1).as(kFloat32), scalar(0).as(kInt32)},
                      .text = "sample_rate: expected at least 1, got 0"},
                     {.in = {filled({1, 1, 9}, 1).as(kFloat32), scalar(8000).as(kInt32)},
                      .attrs = {{"dct_coefficient_count", 41}},
                      .text = "dct_coefficient_count: expected 1 to 40, got 41"}},
          .units = 64,
          .floor = 16,
          .gradient = false}},
    });

}  // namespace
}  // namespace panto::test::pictures_rows
