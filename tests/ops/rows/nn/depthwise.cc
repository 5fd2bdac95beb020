// Samples of depthwise convolutions and their gradients, each against its definition.
#include <boost/test/unit_test.hpp>

#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/ops/rows/nn/fused_convolutions.h"
#include "panto/tests/ops/rows/nn/windows.h"

namespace panto::test::depthwise_rows {
namespace {

struct Products {
  Layout layout;
  Index input, filter;
  Side h, w;
  Products(const Given& g, const Index& in, const Index& weights)
      : layout(g),
        input(in),
        filter(weights),
        h(side_of(g, layout.height, in[layout.height], weights[0], true)),
        w(side_of(g, layout.width, in[layout.width], weights[1], true)) {}
  Index output() const { return layout.index(input[0], h.output, w.output, filter[2] * filter[3]); }
  template <class F>
  void for_each_product(F f) const {
    for_each_index({input[0], h.output, w.output, filter[2], filter[3]}, [&](const Index& o) {
      for_each_index({filter[0], filter[1]}, [&](const Index& tap) {
        const int64_t y = h.at(o[1], tap[0]), x = w.at(o[2], tap[1]);
        if (y < 0 || y >= h.input || x < 0 || x >= w.input) return;
        f(layout.index(o[0], y, x, o[3]), Index{tap[0], tap[1], o[3], o[4]},
          layout.index(o[0], o[1], o[2], o[3] * filter[3] + o[4]));
      });
    });
  }
};

struct Shapes {
  Index input, filter, output;
  Attrs attrs;
};

const Attrs kFirst = {{"data_format", "NCHW"}};

std::vector<Shapes> shapes() {
  return {
      {{2, 4, 3, 2}, {2, 2, 2, 1}, {2, 3, 2, 2}, attrs_of("VALID")},
      {{1, 4, 3, 2}, {3, 2, 2, 3}, {1, 4, 3, 6}, attrs_of("SAME")},
      {{1, 5, 4, 3}, {2, 3, 3, 1}, {1, 3, 2, 3}, attrs_of("SAME", {1, 2, 2, 1})},
      {{1, 5, 4, 1}, {2, 1, 1, 2}, {1, 2, 4, 2}, attrs_of("VALID", {1, 3, 1, 1})},
      {{1, 5, 5, 2},
       {2, 3, 2, 1},
       {1, 3, 5, 2},
       attrs_of("SAME", {1, 2, 1, 1}, {{"dilations", std::vector<int64_t>{1, 2, 2, 1}}})},
      {{1, 3, 4, 2},
       {2, 2, 2, 2},
       {1, 5, 3, 4},
       attrs_of("EXPLICIT", {1, 1, 2, 1}, {{"explicit_paddings", std::vector<int64_t>{0, 0, 1, 2, 0, 2, 0, 0}}})},
      {{1, 2, 4, 3}, {2, 2, 2, 1}, {1, 2, 3, 2}, attrs_of("VALID", kOnes, kFirst)},
      {{2, 2, 5, 3}, {3, 2, 2, 2}, {2, 4, 3, 2}, attrs_of("SAME", {1, 1, 2, 2}, kFirst)},
      {{0, 3, 3, 2}, {2, 2, 2, 1}, {0, 2, 2, 2}, attrs_of("VALID")},
      {{1, 2, 3, 2}, {3, 2, 2, 2}, {1, 0, 2, 4}, attrs_of("VALID")},  // no positions
  };
}
enum class Takes : uint8_t { kInputFilter, kSizesFilterGrad, kInputSizesGrad };

std::vector<Sample> samples(Takes takes) {
  std::vector<Sample> result;
  for (const Shapes& s : shapes()) {
    const Array input = draw(s.input), filter = draw(s.filter, -2, 2, 1), grad = draw(s.output, -2, 2, 2);
    switch (takes) {
      case Takes::kInputFilter: result.push_back({.in = {input, filter}, .attrs = s.attrs}); break;
      case Takes::kSizesFilterGrad: result.push_back({.in = {sizes(s.input), filter, grad}, .attrs = s.attrs}); break;
      case Takes::kInputSizesGrad: result.push_back({.in = {input, sizes(s.filter), grad}, .attrs = s.attrs}); break;
    }
  }
  return result;
}

const Array kImage = draw({1, 4, 4, 2}), kFilter = draw({2, 2, 2, 3});

// Large enough for the library's own way, and for several threads: against the definition in float64.
void large(int64_t window, int64_t multiplier, const char* format) {
  const bool first = format[1] == 'C';
  const auto numbers = [](const Index& dims, int seed) { return to_tensor(draw(dims, -2, 2, seed), kFloat64); };
  const auto single = [](const Tensor& t) { return cast(t, kFloat32); };
  const Tensor x = numbers(first ? Index{2, 70, 15, 13} : Index{2, 15, 13, 70}, 0);
  const Tensor filter = numbers({window, window, 70, multiplier}, 1);
  const std::vector<int64_t> strides = first ? std::vector<int64_t>{1, 1, 2, 2} : std::vector<int64_t>{1, 2, 2, 1};
  const Tensor y = depthwise_conv2d(x, filter, strides, "SAME", {.data_format = format});
  const Tensor single_y = depthwise_conv2d(single(x), single(filter), strides, "SAME", {.data_format = format});
  BOOST_TEST(difference(to_array(y), single_y, {.units = 64, .floor = 8}) == "");
  const DepthwiseConv2dNativeBackpropInputAttrs by_input{.data_format = format};
  const Tensor dx = depthwise_conv2d_backprop_input(shape(x), filter, y, strides, "SAME", by_input);
  const Tensor single_dx =
      depthwise_conv2d_backprop_input(shape(x), single(filter), single(y), strides, "SAME", by_input);
  BOOST_TEST(difference(to_array(dx), single_dx, {.units = 64, .floor = 100}) == "");
  const DepthwiseConv2dNativeBackpropFilterAttrs by_filter{.data_format = format};
  const Tensor df = depthwise_conv2d_backprop_filter(x, shape(filter), y, strides, "SAME", by_filter);
  const Tensor single_df =
      depthwise_conv2d_backprop_filter(single(x), shape(filter), single(y), strides, "SAME", by_filter);
  BOOST_TEST(difference(to_array(df), single_df, {.units = 64, .floor = 500}) == "");
  // Linear in each: <y, y> three times.
  const auto dot = [](const Tensor& a, const Tensor& b) { return sum(a * b).item<double>(); };
  BOOST_TEST(dot(x, dx) == dot(y, y), boost::test_tools::tolerance(1e-12));
  BOOST_TEST(dot(filter, df) == dot(y, y), boost::test_tools::tolerance(1e-12));
}
void all_large() {
  for (const int64_t window : {3, 5}) {
    for (const int64_t multiplier : {1, 2}) {
      for (const char* format : {"NHWC", "NCHW"}) large(window, multiplier, format);
    }
  }
}

// Two output channels for each of the images'.
Sample fused(std::vector<std::string> ops, const char* data_format = "NHWC", Attrs more = {}) {
  return FusedConvolution{{2, 2, 2, 2}, 4}.sample(std::move(ops), data_format, std::move(more));
}

std::vector<Sample> fused_samples() {
  std::vector<Sample> samples = {
      fused({}),
      fused({"BiasAdd"}, "NCHW"),
      fused({"FusedBatchNorm"}, "NHWC", {{"epsilon", 0.1}}),
      fused({"BiasAdd", "FusedBatchNorm", "Add", "Relu"}, "NCHW", {{"epsilon", 0.1}}),
      fused({"Mul", "BiasAdd", "Relu6"}),
      fused({"BiasAdd", "Mul", "BiasAdd", "Add", "Relu"}),
  };
  for (const char* op : kFusedActivations) samples.push_back(fused({"BiasAdd", op}));
  Sample empty = fused({"BiasAdd", "Relu"});
  empty.in[0] = draw({0, 4, 3, 2});
  samples.push_back(empty);
  return samples;
}

const Family family(
    "depthwise", {
                     {"DepthwiseConv2dNative",
                      {.samples = samples(Takes::kInputFilter),
                       .reference = conv<Products>,
                       .errors = {{.in = {draw({4, 4, 2}), kFilter},
                                   .attrs = attrs_of("VALID"),
                                   .text = "input: expected rank 4, got shape [4,4,2]"},
                                  {.in = {kImage, draw({2, 2, 1, 2})},
                                   .attrs = attrs_of("VALID"),
                                   .text = "channels of the input: expected the filter's 1, got 2"},
                                  {.in = {kImage, draw({2, 2, 2, 0})},
                                   .attrs = attrs_of("VALID"),
                                   .text = "filter: expected a shape without zeros, got [2,2,2,0]"},
                                  {.in = {kImage, kFilter},
                                   .attrs = attrs_of("VALID", {1, 1, 1, 2}),
                                   .text = "strides of batch and channels: expected 1, got 2"}},
                       .own = {{"large", all_large}},
                       .units = 16,
                       .floor = 8}},
                     {"DepthwiseConv2dNativeBackpropInput",
                      {.samples = samples(Takes::kSizesFilterGrad),
                       .reference = conv_by_input<Products>,
                       .errors = {{.in = {list({1, 4, 4}).as(kInt32), kFilter, draw({1, 3, 3, 6})},
                                   .attrs = attrs_of("VALID"),
                                   .text = "input_sizes: expected 4 numbers, got 3"},
                                  {.in = {list({1, 4, 4, 2}).as(kInt32), kFilter, draw({1, 3, 3, 5})},
                                   .attrs = attrs_of("VALID"),
                                   .text = "out_backprop: expected shape [1,3,3,6], got [1,3,3,5]"}},
                       .units = 32,
                       .floor = 8}},
                     {"DepthwiseConv2dNativeBackpropFilter",
                      {.samples = samples(Takes::kInputSizesGrad),
                       .reference = conv_by_filter<Products>,
                       .errors = {{.in = {kImage, list({2, 2, 2, 3}).as(kInt32), draw({1, 3, 2, 6})},
                                   .attrs = attrs_of("VALID"),
                                   .text = "out_backprop: expected shape [1,3,3,6], got [1,3,2,6]"}},
                       .units = 32,
                       .floor = 16}},
                     {"_FusedDepthwiseConv2dNative",
                      {.samples = fused_samples(),
                       .reference = fused_conv<Products>,
                       .errors = {fused_error(with_last(fused({"BiasAdd"}), draw({2})),
                                              "bias: number of channels: expected 4, got 2"),
                                  fused_error(with_last(fused({"Add"}), draw({2, 4, 1, 4})),
                                              "Add: expected shape [2,4,3,4], got [2,4,1,4]"),
                                  fused_error(without_last(fused({"FusedBatchNorm"})), "num_args: expected 4, got 3")},
                       .units = 64,
                       .floor = 8}},
                 });

}  // namespace
}  // namespace panto::test::depthwise_rows
