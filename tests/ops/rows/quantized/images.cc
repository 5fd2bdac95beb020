// Rows of quantized images. What is expected are TensorFlow's answers; more of them are replayed (replay_test.cc).
#include <array>

#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/tests/ops/families.h"
#include "panto/tests/ops/table.h"

namespace panto::test::images_rows {
namespace {

Array spread(std::vector<int64_t> dims, int step, int first = 0) {
  Array a = iota(std::move(dims));
  for (double& v : a.values) v = static_cast<double>(static_cast<int>(v) * step % 256 + first);
  return a;
}
const Array kImages = spread({2, 3, 4, 2}, 37), kFilter = spread({2, 2, 2, 3}, 53).as(kQUint8);
const Array kSmall = array({1, 2, 2, 2}, {0, 37, 74, 111, 40, 77, 114, 151});

std::vector<Array> convolved(const Array& images, double low) {
  return {images, kFilter, scalar(low), scalar(2), scalar(-3), scalar(4)};
}
const Attrs kSame = {{"strides", std::vector<int64_t>{1, 2, 2, 1}}, {"padding", "SAME"}};
const Attrs kValid = {{"strides", std::vector<int64_t>{1, 2, 2, 1}}, {"padding", "VALID"}};
const Attrs kPool = {
    {"ksize", std::vector<int64_t>{1, 2, 3, 1}}, {"strides", std::vector<int64_t>{1, 2, 2, 1}}, {"padding", "SAME"}};

Array range(double low) { return scalar(low); }
Array of(std::vector<double> values) { return list(std::move(values)); }

// t, and m, v, beta and gamma of two channels, with their ranges.
std::vector<Array> normalized(const Array& m) {
  return {kSmall,   range(-4),   range(4),  m,        range(-1),    range(1), of({50, 255}), range(0),
          range(3), of({0, 77}), range(-2), range(2), of({128, 9}), range(0), range(2)};
}

const Family quantized_images(
    "quantized",
    {
        {"QuantizedConv2D",
         {.samples = {{.in = convolved(kImages, -1),
                       .attrs = kSame,
                       .out = {array({2, 2, 2, 3}, {11188, 504,    1340,   -32668, 6344,   18988, 10774,  -5656,
                                                    -3142, -17778, -15888, 4946,   15828,  11736, -11556, 11140,
                                                    2472,  2252,   -5146,  11544,  -18358, 10846, -6112,  -4126}),
                               scalar(-693535.6875), scalar(693535.6875)}},
                      {.in = convolved(kImages, -1),
                       .attrs = kValid,
                       .out = {array({2, 1, 2, 3},
                                     {11188, 504, 1340, -32668, 6344, 18988, 15828, 11736, -11556, 11140, 2472, 2252}),
                               scalar(-693535.6875), scalar(693535.6875)}},
                      {.in = convolved(spread({1, 3, 4, 2}, 37), 1),
                       .attrs = kSame,
                       .out = {array({1, 2, 2, 3}, {9828, 56264, 27180, -34028, 62104, 44828, 12814, -18576, -31022,
                                                    -15738, -28808, -22934}),
                               scalar(-231178.578125), scalar(231178.578125)}}},
          .errors = {{.in = convolved(spread({1, 3, 4, 3}, 37), -1),
                      .attrs = kSame,
                      .text = "channels of the input: expected"},
                     {.in = convolved(spread({3, 4, 2}, 37), -1),
                      .attrs = kSame,
                      .text = "input: expected rank 4, got shape [3,4,2]"}},
          .types = {kQUint8}}},
        {"QuantizedAvgPool",
         {.samples = {{.in = {kImages, scalar(-1), scalar(2)},
                       .attrs = kPool,
                       .out = {array({2, 2, 2, 2},
                                     {94, 131, 141, 114, 154, 105, 137, 46, 128, 123, 69, 106, 103, 140, 129, 166}),
                               scalar(-1.0), scalar(2.0)}}},
          .errors = {{.in = {kImages, list({-1}), scalar(2)},
                      .attrs = kPool,
                      .text = "min_input: expected a scalar, got shape [1]"}},
          .types = {kQUint8}}},
        {"QuantizedAvgPool",
         {.samples = {{.in = {spread({2, 3, 4, 2}, 37, -128), scalar(-1), scalar(2)},
                       .attrs = kPool,
                       .out = {array({2, 2, 2, 2}, {-34, 3, 13, -14, 26, -22, 9, -82, 0, -5, -59, -22, -24, 12, 1, 38}),
                               scalar(-1.0), scalar(2.0)}}},
          .label = "signed",
          .types = {kQInt8}}},
        {"QuantizedMaxPool",
         {.samples = {{.in = {kImages, scalar(-1), scalar(2)},
                       .attrs = kPool,
                       .out = {array({2, 2, 2, 2},
                                     {188, 225, 222, 225, 228, 191, 228, 83, 234, 231, 126, 163, 200, 237, 166, 203}),
                               scalar(-1.0), scalar(2.0)}}},
          .errors = {{.in = {kImages, scalar(-1), scalar(2)},
                      .attrs = {{"ksize", std::vector<int64_t>{2, 1, 1, 1}},
                                {"strides", std::vector<int64_t>{1, 1, 1, 1}},
                                {"padding", "SAME"}},
                      .code = Code::kUnimplemented,
                      .text = "ksize of batch and channels: expected 1, got 2"}},
          .types = {kQUint8}}},
        {"QuantizedInstanceNorm",
         {.samples = {{.in = {kSmall, scalar(-1), scalar(2)},
                       .out = {array({1, 2, 2, 2}, {0, 0, 165, 165, 89, 89, 254, 254}), scalar(-1.3551959991455078),
                               scalar(1.3551959991455078)}},
                      {.in = {kSmall, scalar(-1), scalar(2)},
                       .attrs = {{"output_range_given", true}, {"given_y_min", -2.0}, {"given_y_max", 2.0}},
                       .out = {array({1, 2, 2, 2}, {42, 42, 154, 154, 102, 102, 214, 214}), scalar(-2.0),
                               scalar(2.0)}}},
          .errors = {{.in = {kSmall, scalar(2), scalar(1)},
                      .text = "x_max: expected more than x_min, which is 2, got 1"},
                     {.in = {kSmall, scalar(0), scalar(1)},
                      .attrs = {{"output_range_given", true}, {"given_y_min", 2.0}, {"given_y_max", 1.0}},
                      .text = "given_y_min: expected less than given_y_max, which is 1, got 2"},
                     {.in = {iota({2, 2}), scalar(0), scalar(1)}, .text = "x: expected rank 4, got shape [2,2]"}},
          .types = {kQUint8},
          .units = 16}},
        {"QuantizedBatchNormWithGlobalNormalization",
         {.samples =
              {{.in = normalized(of({10, 200})),
                .attrs = {{"out_type", kQInt32}, {"variance_epsilon", 0.001}, {"scale_after_normalization", true}},
                .out = {array({1, 2, 2, 2}, {-12292, -1888, -6074, -1695, -8931, -1784, -2713, -1592}),
                        scalar(-1048576.0), scalar(1048576.0)}}},
          .errors =
              {{.in = normalized(of({1, 2, 3})),
                .attrs = {{"out_type", kQInt32}, {"variance_epsilon", 0.001}, {"scale_after_normalization", true}},
                .text = "number of channels: expected 2, got 3"}},
          .types = {kQUint8}}},
        {"QuantizedResizeBilinear",
         {.samples = {{.in = {kSmall, list({3, 5}), scalar(-1), scalar(2)},
                       .out = {array({1, 3, 5, 2},
                                     {0,   37,  29,  66,  59,  96, 74, 111, 74,  111, 27,  64,  56,  93,  86,
                                      123, 101, 138, 101, 138, 40, 77, 69,  106, 99,  136, 114, 151, 114, 151}),
                               scalar(-1.0), scalar(2.0)}}},
          .errors = {{.in = {kSmall, list({3, 5}), scalar(-1), scalar(2)},
                      .attrs = {{"align_corners", true}, {"half_pixel_centers", true}},
                      .text = "half_pixel_centers: expected false with align_corners, got true"},
                     {.in = {kSmall, list({3, 5, 1}), scalar(-1), scalar(2)},
                      .text = "size: expected a height and a width, got 3 numbers"},
                     {.in = {kSmall, list({3, 5}), list({-1}), scalar(2)},
                      .text = "min: expected a scalar, got shape [1]"}},
          .types = {kQUint8}}},
        {"QuantizedResizeBilinear",
         {.samples = {{.in = {array({1, 2, 2, 2}, {-100000300, -63000189, -26000078, 11000033, -60000180, -23000069,
                                                   14000042, 51000153}),
                              list({3, 2}), scalar(-1), scalar(2)},
                       .attrs = {{"half_pixel_centers", true}},
                       .out = {array({1, 3, 2, 2}, {-100000303, -63000187, -26000077, 11000033, -80000241, -43000127,
                                                    -6000017, 31000093, -60000179, -23000067, 14000042, 51000152}),
                               scalar(-1.0), scalar(2.0)}}},
          .label = "32-bits",
          .types = {kQInt32}}},
        {"QuantizedResizeBilinear",
         {.samples = {{.in = {kSmall, list({3, 2}), scalar(-1), scalar(2)},
                       .attrs = {{"align_corners", true}},
                       .out = {array({1, 3, 2, 2},
                                     {0.0, 37.0, 74.0, 111.0, 20.0, 57.0, 94.0, 131.0, 40.0, 77.0, 114.0, 151.0}),
                               scalar(-1.0), scalar(2.0)}}},
          .label = "floats",
          .types = {kFloat32}}},
    });

}  // namespace
}  // namespace panto::test::images_rows
