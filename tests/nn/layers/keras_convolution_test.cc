// Convolutions, pools and what changes sizes against Keras; what they refuse.
#include "panto/nn/layers/convolution.h"
#include "panto/tests/expect.h"
#include "panto/tests/nn/layers/keras.h"

namespace panto {
namespace {

BOOST_AUTO_TEST_SUITE(nn)
BOOST_AUTO_TEST_SUITE(keras_convolution)

BOOST_AUTO_TEST_CASE(convolutions) {
  for (const DType t : {kFloat32, kFloat64}) {
    expect_as_keras("conv1d", Conv1D(2, 3, 3, {.stride = 2, .padding = Padding::kSame, .dtype = t}), {2, 7, 2}, t);
    expect_as_keras("conv1d_causal", Conv1D(2, 3, 2, {.padding = Padding::kCausal, .dilation = 2, .dtype = t}),
                    {2, 6, 2}, t);
    expect_as_keras("conv2d", Conv2D(2, 3, {3, 2}, {.stride = {2, 1}, .padding = Padding::kSame, .dtype = t}),
                    {2, 5, 4, 2}, t);
    expect_as_keras("conv3d", Conv3D(2, 3, {2, 3, 2}, {.stride = {1, 2, 1}, .dtype = t}), {1, 3, 5, 3, 2}, t);
    expect_as_keras("conv3d_same",
                    Conv3D(2, 2, 2, {.stride = 2, .padding = Padding::kSame, .use_bias = false, .dtype = t}),
                    {1, 3, 2, 3, 2}, t);
  }
}

BOOST_AUTO_TEST_CASE(transposed) {
  for (const DType t : {kFloat32, kFloat64}) {
    expect_as_keras("conv1d_transpose", Conv1DTranspose(2, 3, 3, {.stride = 2, .dtype = t}), {2, 4, 2}, t);
    expect_as_keras("conv1d_transpose_wide", Conv1DTranspose(2, 2, 2, {.stride = 3, .dtype = t}), {1, 3, 2}, t);
    expect_as_keras("conv2d_transpose",
                    Conv2DTranspose(3, 2, {3, 2}, {.stride = {2, 3}, .padding = Padding::kSame, .dtype = t}),
                    {1, 3, 2, 3}, t);
    expect_as_keras("conv2d_transpose_padded",
                    Conv2DTranspose(2, 2, 3, {.stride = 2, .padding = Padding::kSame, .output_padding = 1, .dtype = t}),
                    {1, 3, 2, 2}, t);
    expect_as_keras("conv2d_transpose_valid", Conv2DTranspose(2, 2, 3, {.stride = 2, .output_padding = 1, .dtype = t}),
                    {1, 2, 3, 2}, t);
    expect_as_keras("conv3d_transpose", Conv3DTranspose(2, 2, {2, 3, 2}, {.stride = 2, .use_bias = false, .dtype = t}),
                    {1, 2, 2, 2, 2}, t);
  }
}

BOOST_AUTO_TEST_CASE(of_each_channel) {
  for (const DType t : {kFloat32, kFloat64}) {
    expect_as_keras("depthwise_conv1d", DepthwiseConv1D(2, 3, {.stride = 2, .depth_multiplier = 2, .dtype = t}),
                    {2, 6, 2}, t);
    expect_as_keras(
        "depthwise_conv2d",
        DepthwiseConv2D(2, {3, 2}, {.stride = 2, .padding = Padding::kSame, .depth_multiplier = 2, .dtype = t}),
        {1, 5, 4, 2}, t);
    expect_as_keras("separable_conv1d", SeparableConv1D(2, 3, 3, {.stride = 2, .dtype = t}), {2, 5, 2}, t);
    expect_as_keras("separable_conv2d",
                    SeparableConv2D(2, 3, {2, 3}, {.padding = Padding::kSame, .depth_multiplier = 2, .dtype = t}),
                    {1, 4, 3, 2}, t);
  }
}

// What Keras cannot compute on a CPU, by parts.
BOOST_AUTO_TEST_CASE(groups_of_volumes) {
  const Conv3D grouped(4, 6, 2, {.groups = 2, .kernel_initializer = waves(1), .dtype = kFloat64});
  const Tensor x = wave({1, 3, 3, 2, 4}, 2, kFloat64);
  const Tensor y = everywhere(grouped, x);
  const Tensor kernel = grouped.kernel().value();
  BOOST_TEST(kernel.shape().to_string() == "[2,2,2,2,6]");
  for (const int64_t g : {0, 1}) {
    const Conv3D part(2, 3, 2, {.dtype = kFloat64});
    part.kernel().assign(kernel(Ellipsis, Slice(3 * g, 3 * g + 3)));
    const Tensor of_part = part(x(Ellipsis, Slice(2 * g, 2 * g + 2)));
    expect_near(y(Ellipsis, Slice(3 * g, 3 * g + 3)), of_part.shape(), values_of(of_part), 1e-12, 1);
  }
}

// No step sees a later one.
BOOST_AUTO_TEST_CASE(causal) {
  const Conv1D layer(1, 1, 3, {.padding = Padding::kCausal, .kernel_initializer = waves(1)});
  const DepthwiseConv1D each(2, 3, {.padding = Padding::kCausal, .dilation = 2});
  BOOST_TEST(each(wave({1, 6, 2})).shape().to_string() == "[1,6,2]");
  const Tensor x = wave({1, 6, 1});
  const Tensor y = layer(x);
  BOOST_TEST(y.shape().to_string() == "[1,6,1]");
  const Tensor first = layer(x(Slice(), Slice(0, 4)));
  expect_near(first, {1, 4, 1}, values_of(y(Slice(), Slice(0, 4))));
}

BOOST_AUTO_TEST_CASE(pools) {
  for (const DType t : {kFloat32, kFloat64}) {
    expect_as_keras("max_pool1d", MaxPool1D(3, {.stride = 2, .padding = Padding::kSame}), {2, 6, 2}, t);
    expect_as_keras("average_pool1d", AveragePool1D(2, {.padding = Padding::kSame}), {2, 5, 2}, t);
    expect_as_keras("global_max_pool1d", GlobalMaxPool1D(), {2, 5, 3}, t);
    expect_as_keras("global_max_pool3d", GlobalMaxPool3D({.keep_dims = true}), {2, 2, 3, 2, 2}, t);
    expect_as_keras("global_average_pool1d", GlobalAveragePool1D(), {2, 5, 3}, t);
    expect_as_keras("global_average_pool3d", GlobalAveragePool3D(), {2, 2, 3, 2, 2}, t);
    expect_as_keras("adaptive_average_pool2d", AdaptiveAveragePool2D({3, 2}), {1, 5, 4, 2}, t);
    expect_as_keras("adaptive_max_pool1d", AdaptiveMaxPool1D(3), {2, 7, 2}, t);
    expect_as_keras("adaptive_max_pool3d", AdaptiveMaxPool3D(2), {1, 3, 4, 5, 1}, t);
    if (t == kFloat32) expect_as_keras("max_pool3d", MaxPool3D({2, 1, 2}), {1, 4, 3, 5, 2}, t);
    expect_as_keras("average_pool3d", AveragePool3D(2, {.stride = {1, 2, 1}, .padding = Padding::kSame}),
                    {1, 2, 3, 3, 2}, t);
  }
  BOOST_TEST(MaxPool3D(2).to_string() == "MaxPool3D(2)");
  BOOST_TEST(GlobalAveragePool1D().to_string() == "GlobalAveragePool1D()");
  BOOST_TEST(AdaptiveMaxPool2D({2, 3}).to_string() == "AdaptiveMaxPool2D({2, 3})");
}

BOOST_AUTO_TEST_CASE(margins_and_sizes) {
  for (const DType t : {kFloat32, kFloat64}) {
    expect_as_keras("zero_padding1d", ZeroPadding1D({2, 1}), {1, 2, 2}, t);
    expect_as_keras("zero_padding3d", ZeroPadding3D({{1, 0}, {0, 1}, {0, 2}}), {1, 2, 1, 2, 1}, t);
    expect_as_keras("cropping1d", Cropping1D({2, 1}), {1, 5, 2}, t);
    expect_as_keras("cropping2d", Cropping2D({{1, 0}, {0, 2}}), {2, 3, 4, 1}, t);
    expect_as_keras("cropping3d", Cropping3D({1, 0, 1}), {1, 4, 2, 3, 1}, t);
    expect_as_keras("up_sampling1d", UpSampling1D(3), {1, 3, 2}, t);
    expect_as_keras("up_sampling2d", UpSampling2D({2, 3}), {1, 2, 3, 2}, t);
    expect_as_keras("up_sampling3d", UpSampling3D({1, 2, 2}), {1, 2, 2, 2, 1}, t);
    expect_as_keras("center_crop", CenterCrop({2, 3}), {1, 5, 4, 2}, t);
  }
  const DType t = kFloat32;
  expect_as_keras("up_sampling2d_bilinear", UpSampling2D(2, {.interpolation = Interpolation::kBilinear}), {1, 3, 2, 2},
                  t);
  expect_as_keras("up_sampling2d_bicubic", UpSampling2D({2, 1}, {.interpolation = Interpolation::kBicubic}),
                  {1, 3, 4, 1}, t);
  expect_as_keras("resizing", Resizing({4, 5}), {1, 3, 3, 2}, t);
  BOOST_TEST(ZeroPadding2D({1, 2}).to_string() == "ZeroPadding2D({{1, 1}, {2, 2}})");
  BOOST_TEST(Cropping1D(1).to_string() == "Cropping1D({1, 1})");
  BOOST_TEST(UpSampling2D(2, {.interpolation = Interpolation::kBilinear}).to_string() == "UpSampling2D(2, bilinear)");
}

// Nothing known but the channels.
BOOST_AUTO_TEST_CASE(sizes_that_a_trace_does_not_know) {
  const auto same = [](const auto& layer, const Shape& shape) {
    std::vector<int64_t> dims(static_cast<size_t>(shape.rank()), -1);
    dims.back() = shape.dim(shape.rank() - 1);
    const Function traced =
        trace([&](const Tensor& t) { return layer(t); }, {TensorSpec(kFloat32, PartialShape(dims))});
    const Tensor x = wave(shape), y = layer(x);
    expect_near(traced(x), y.shape(), values_of(y), 1e-5, 1);
  };
  same(Conv1D(2, 3, 2, {.padding = Padding::kCausal}), {2, 5, 2});
  same(Conv2DTranspose(2, 3, 3, {.stride = 2}), {2, 3, 4, 2});
  same(Conv3DTranspose(2, 3, 2, {.stride = 2, .padding = Padding::kSame}), {2, 2, 3, 2, 2});
  same(SeparableConv2D(2, 3, 2), {2, 3, 4, 2});
  same(AveragePool3D(2), {1, 2, 3, 4, 2});
  same(Cropping2D({{1, 0}, {0, 2}}), {2, 3, 4, 2});
  same(UpSampling2D({2, 3}), {2, 3, 4, 2});
  same(UpSampling2D(2, {.interpolation = Interpolation::kBilinear}), {2, 3, 4, 2});
}

BOOST_AUTO_TEST_CASE(misuse) {
  const auto expect_invalid = [](const auto& f, const std::string& text) {
    expect_error_begins(f, "InvalidArgument: " + text);
  };
  expect_invalid([] { Conv1D(0, 1, 3); }, "Conv1D: expected positive sizes, got 0 and 1");
  expect_invalid([] { Conv3D(1, 1, {3, 0, 1}); }, "Conv3D: expected a positive window, got {3, 0, 1}");
  expect_invalid([] { Conv2D(1, 1, 3, {.padding = Padding::kCausal}); },
                 "Conv2D: expected padding kValid or kSame, got kCausal");
  expect_invalid([] { Conv1DTranspose(1, 1, 3, {.stride = 2, .output_padding = 2}); },
                 "Conv1DTranspose: expected an output padding of at least 0 and below the stride of 2, got 2");
  expect_invalid([] { DepthwiseConv2D(2, 3, {.depth_multiplier = 0}); },
                 "DepthwiseConv2D: expected positive sizes, got 2 and 0");
  expect_invalid([] { MaxPool1D(2, {.padding = Padding::kCausal}); },
                 "MaxPool1D: expected padding kValid or kSame, got kCausal");
  expect_invalid([] { AdaptiveMaxPool2D(0); }, "AdaptiveMaxPool2D: expected a positive number of parts, got 0");
  expect_invalid([] { ZeroPadding1D({-1, 0}); }, "ZeroPadding1D: expected margins of at least 0, got {-1, 0}");
  expect_invalid([] { UpSampling1D(2, {.interpolation = Interpolation::kBilinear}); },
                 "UpSampling1D: expected interpolation kNearest, which is not of images only, got bilinear");
  expect_invalid([] { Conv1D(2, 3, 2)(wave({2, 5, 3})); },
                 "Conv1D: expected an input of shape [batch, steps, 2], got [2,5,3] [in Conv1D(2, 3, 2)]");
  expect_invalid([] { Conv3D(2, 3, 2)(wave({2, 5, 2})); },
                 "Conv3D: expected an input of shape [batch, depth, height, width, 2], got [2,5,2]");
  expect_invalid([] { GlobalMaxPool1D()(wave({5, 3})); },
                 "GlobalMaxPool1D: expected an input of shape [batch, steps, channels], got [5,3]");
  expect_invalid([] { Cropping1D({2, 2})(wave({1, 3, 1})); },
                 "Cropping1D: expected an input that is larger than its margins {2, 2}, got [1,3,1]");
  expect_invalid([] { CenterCrop(4)(wave({1, 3, 5, 1})); },
                 "CenterCrop: expected images of at least 4, got an input of shape [1,3,5,1]");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
