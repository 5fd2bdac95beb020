// Samples of convolutions and their gradients, each against its definition.
#include "panto/tests/ops/rows/nn/fused_convolutions.h"
#include "panto/tests/ops/rows/nn/windows.h"

namespace panto::test::convolution_rows {
namespace {

// A convolution's sizes, from its input's and its filter's.
struct Products {
  Layout layout;
  Index input, filter;
  Side h, w;
  int64_t groups, group_out;

  Products(const Given& g, const Index& in, const Index& weights)
      : layout(g),
        input(in),
        filter(weights),
        h(side_of(g, layout.height, in[layout.height], weights[0], true)),
        w(side_of(g, layout.width, in[layout.width], weights[1], true)),
        groups(in[layout.channels] / weights[2]),
        group_out(weights[3] / groups) {}

  Index output() const { return layout.index(input[0], h.output, w.output, filter[3]); }

  // f(index of the input, of the filter, of the output) for every product that there is.
  template <class F>
  void for_each_product(F f) const {
    for_each_index({input[0], h.output, w.output, filter[3]}, [&](const Index& o) {
      for_each_index({filter[0], filter[1], filter[2]}, [&](const Index& tap) {
        const int64_t y = h.at(o[1], tap[0]), x = w.at(o[2], tap[1]);
        if (y < 0 || y >= h.input || x < 0 || x >= w.input) return;
        const int64_t channel = o[3] / group_out * filter[2] + tap[2];
        f(layout.index(o[0], y, x, channel), Index{tap[0], tap[1], tap[2], o[3]}, layout.index(o[0], o[1], o[2], o[3]));
      });
    });
  }
};

// A convolution: shapes of input, filter and output, and attributes.
struct Shapes {
  Index input, filter, output;
  Attrs attrs;
};

std::vector<Shapes> convolutions() {
  return {
      {{2, 4, 3, 2}, {2, 2, 2, 3}, {2, 3, 2, 3}, attrs_of("VALID")},
      {{1, 4, 3, 2}, {3, 2, 2, 2}, {1, 4, 3, 2}, attrs_of("SAME")},
      {{1, 5, 4, 1}, {2, 3, 1, 2}, {1, 3, 2, 2}, attrs_of("SAME", {1, 2, 2, 1})},
      {{1, 5, 4, 1}, {2, 1, 1, 2}, {1, 2, 4, 2}, attrs_of("VALID", {1, 3, 1, 1})},
      {{1, 5, 4, 1},
       {2, 2, 1, 1},
       {1, 3, 3, 1},
       attrs_of("VALID", kOnes, {{"dilations", std::vector<int64_t>{1, 2, 1, 1}}})},
      {{1, 5, 5, 1},
       {2, 3, 1, 1},
       {1, 3, 5, 1},
       attrs_of("SAME", {1, 2, 1, 1}, {{"dilations", std::vector<int64_t>{1, 2, 2, 1}}})},
      {{1, 3, 4, 1},
       {2, 2, 1, 1},
       {1, 5, 3, 1},
       attrs_of("EXPLICIT", {1, 1, 2, 1}, {{"explicit_paddings", std::vector<int64_t>{0, 0, 1, 2, 0, 2, 0, 0}}})},
      // Windows of padding alone.
      {{1, 2, 2, 1},
       {1, 2, 1, 1},
       {1, 5, 4, 1},
       attrs_of("EXPLICIT", kOnes, {{"explicit_paddings", std::vector<int64_t>{0, 0, 2, 1, 0, 3, 0, 0}}})},
      {{1, 2, 4, 3}, {2, 2, 2, 3}, {1, 3, 3, 2}, attrs_of("VALID", kOnes, {{"data_format", "NCHW"}})},
      {{2, 1, 5, 3},
       {3, 2, 1, 2},
       {2, 2, 3, 2},
       attrs_of("SAME", {1, 1, 2, 2}, {{"data_format", "NCHW"}, {"dilations", std::vector<int64_t>{1, 1, 1, 1}}})},
      // Two groups.
      {{1, 3, 3, 4}, {2, 2, 2, 4}, {1, 2, 2, 4}, attrs_of("VALID")},
      {{1, 4, 3, 3}, {2, 2, 2, 4}, {1, 4, 3, 3}, attrs_of("SAME", kOnes, {{"data_format", "NCHW"}})},
      {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}, attrs_of("VALID")},
      {{1, 2, 2, 1}, {5, 5, 1, 1}, {1, 2, 2, 1}, attrs_of("SAME")},
      {{0, 3, 3, 2}, {2, 2, 2, 1}, {0, 2, 2, 1}, attrs_of("VALID")},
      {{2, 0, 3, 2}, {2, 2, 2, 1}, {2, 0, 3, 1}, attrs_of("SAME")},
      // Windows one too large, and more where strides are long: no positions.
      {{1, 2, 3, 2}, {3, 2, 2, 2}, {1, 0, 2, 2}, attrs_of("VALID")},
      {{1, 1, 4, 2}, {5, 2, 2, 1}, {1, 0, 3, 1}, attrs_of("VALID", {1, 3, 1, 1})},
      {{1, 1, 3, 3},
       {2, 2, 1, 3},
       {1, 3, 3, 0},
       attrs_of("EXPLICIT", kOnes,
                {{"data_format", "NCHW"},
                 {"explicit_paddings", std::vector<int64_t>{0, 0, 0, 0, 1, 0, 0, 0}},
                 {"dilations", std::vector<int64_t>{1, 1, 1, 3}}})},
  };
}

std::vector<Sample> conv_samples() {
  std::vector<Sample> samples;
  for (const Shapes& s : convolutions())
    samples.push_back({.in = {draw(s.input), draw(s.filter, -2, 2, 1)}, .attrs = s.attrs});
  return samples;
}
std::vector<Sample> by_input_samples() {
  std::vector<Sample> samples;
  for (const Shapes& s : convolutions()) {
    samples.push_back({.in = {sizes(s.input), draw(s.filter, -2, 2, 1), draw(s.output, -2, 2, 2)}, .attrs = s.attrs});
  }
  return samples;
}
std::vector<Sample> by_filter_samples() {
  std::vector<Sample> samples;
  for (const Shapes& s : convolutions()) {
    samples.push_back({.in = {draw(s.input), sizes(s.filter), draw(s.output, -2, 2, 2)}, .attrs = s.attrs});
  }
  return samples;
}

const Array kImage = draw({1, 4, 4, 2}), kFilter = draw({2, 2, 2, 3});
const std::vector<int64_t> kPaddings = {0, 0, 1, 1, 1, 1, 0, 0};

ErrorSample conv_error(Attrs attrs, const char* text, Array image = kImage, Array filter = kFilter) {
  return {.in = {std::move(image), std::move(filter)}, .attrs = std::move(attrs), .text = text};
}

// ---- With what follows ----------------------------------------------------------------------------------------------

Sample fused(std::vector<std::string> ops, const char* data_format = "NHWC", Attrs more = {}) {
  return FusedConvolution{{2, 2, 2, 3}, 3}.sample(std::move(ops), data_format, std::move(more));
}

std::vector<Sample> fused_samples() {
  std::vector<Sample> samples = {
      fused({}),
      fused({"BiasAdd"}),
      fused({"FusedBatchNorm"}, "NHWC", {{"epsilon", 0.1}}),
      fused({"Add"}),
      fused({"BiasAdd", "FusedBatchNorm", "Add", "Relu"}),
      fused({"BiasAdd", "FusedBatchNorm", "Add", "Relu"}, "NCHW", {{"epsilon", 0.1}}),
      fused({"FusedBatchNorm", "Sigmoid"}, "NCHW"),
      fused({"Mul"}),
      fused({"Mul", "BiasAdd", "Relu6"}, "NCHW"),
      fused({"BiasAdd", "Mul", "BiasAdd", "Add", "Relu"}),
      fused({"BiasAdd", "LeakyRelu"}, "NCHW", {{"leakyrelu_alpha", 0.5}}),
  };
  for (const char* op : kFusedActivations) {
    samples.push_back(fused({op}));
    samples.push_back(fused({"BiasAdd", op}));
    samples.push_back(fused({"Add", op}, "NCHW"));
  }
  Sample empty = fused({"BiasAdd", "Relu"});
  empty.in[0] = draw({0, 4, 3, 2});
  samples.push_back(empty);
  return samples;
}

const Family family(
    "convolution",
    {
        {"Conv2D",
         {.samples = conv_samples(),
          .reference = conv<Products>,
          .errors =
              {conv_error(attrs_of("VALID"), "input: expected rank 4, got shape [4,4,2]", draw({4, 4, 2})),
               conv_error(attrs_of("VALID"), "filter: expected rank 4, got shape [2,2]", kImage, draw({2, 2})),
               conv_error(attrs_of("VALID", {1, 1}), "strides: expected 4 numbers, got 2"),
               conv_error(attrs_of("VALID", {1, 0, 1, 1}), "strides[1]: expected at least 1, got 0"),
               conv_error(attrs_of("VALID", {2, 1, 1, 1}), "strides of batch and channels: expected 1, got 2"),
               conv_error(attrs_of("VALID", kOnes, {{"dilations", std::vector<int64_t>{1, 1, 1, 3}}}),
                          "dilations of batch and channels: expected 1, got 3"),
               conv_error(attrs_of("VALID", kOnes, {{"dilations", std::vector<int64_t>{1, -1, 1, 1}}}),
                          "dilations[1]: expected at least 1, got -1"),
               conv_error(attrs_of("ROUND"), "padding: expected one of (SAME, VALID, EXPLICIT), got 'ROUND'"),
               conv_error(attrs_of("VALID", kOnes, {{"data_format", "CHWN"}}),
                          "data_format: expected one of (NHWC, NCHW), got 'CHWN'"),
               conv_error(attrs_of("SAME", kOnes, {{"explicit_paddings", kPaddings}}),
                          "explicit_paddings: expected none with padding SAME, got 8"),
               conv_error(attrs_of("EXPLICIT"), "explicit_paddings: expected 8 numbers, got 0"),
               conv_error(attrs_of("EXPLICIT", kOnes,
                                   {{"explicit_paddings", std::vector<int64_t>{0, 0, -1, 0, 0, 0, 0, 0}}}),
                          "explicit_paddings[2]: expected at least 0, got -1"),
               conv_error(attrs_of("EXPLICIT", kOnes,
                                   {{"explicit_paddings", std::vector<int64_t>{0, 1, 0, 0, 0, 0, 0, 0}}}),
                          "explicit_paddings of batch and channels: expected 0, got 0 and 1"),
               conv_error(attrs_of("VALID"), "channels of the input: expected a multiple of the filter's 2, got 3",
                          draw({1, 4, 4, 3})),
               conv_error(attrs_of("VALID"), "output channels: expected a multiple of the 2 groups, got 3",
                          draw({1, 4, 4, 4})),
               conv_error(attrs_of("VALID"), "filter: expected a shape without zeros, got [0,2,2,3]", kImage,
                          draw({0, 2, 2, 3})),
               conv_error(attrs_of("VALID"),
                          "height of the input: expected at least 1 for a window of 2 and a stride of 1, got 0",
                          draw({1, 0, 4, 2})),
               conv_error(
                   attrs_of("VALID", kOnes, {{"dilations", std::vector<int64_t>{1, 1, int64_t{1} << 62, 1}}}),
                   "width of the input: expected at least 4611686018427387904 for a window of 4611686018427387905 "
                   "and a stride of 1, got 4")},
          .units = 32,
          .floor = 4}},
        {"Conv2DBackpropInput",
         {.samples = by_input_samples(),
          .reference = conv_by_input<Products>,
          .errors = {{.in = {list({1, 4, 4}).as(kInt32), kFilter, draw({1, 3, 3, 3})},
                      .attrs = attrs_of("VALID"),
                      .text = "input_sizes: expected 4 numbers, got 3"},
                     {.in = {list({1, 4, -4, 2}).as(kInt32), kFilter, draw({1, 3, 3, 3})},
                      .attrs = attrs_of("VALID"),
                      .text = "input_sizes: expected dimensions of at least 0, got -4"},
                     {.in = {list({1, 4, 4, 2}).as(kInt32), kFilter, draw({1, 3, 4, 3})},
                      .attrs = attrs_of("VALID"),
                      .text = "out_backprop: expected shape [1,3,3,3], got [1,3,4,3]"}},
          .units = 32,
          .floor = 4}},
        {"Conv2DBackpropFilter",
         {.samples = by_filter_samples(),
          .reference = conv_by_filter<Products>,
          .errors = {{.in = {kImage, list({2, 2, 2}).as(kInt32), draw({1, 3, 3, 3})},
                      .attrs = attrs_of("VALID"),
                      .text = "filter_sizes: expected 4 numbers, got 3"},
                     {.in = {kImage, list({2, 2, 2, 3}).as(kInt32), draw({2, 3, 3, 3})},
                      .attrs = attrs_of("VALID"),
                      .text = "out_backprop: expected shape [1,3,3,3], got [2,3,3,3]"}},
          .units = 32,
          .floor = 4}},
        {"_FusedConv2D",
         {.samples = fused_samples(),
          .reference = fused_conv<Products>,
          .errors =
              {fused_error(with_last(fused({"BiasAdd"}), draw({2})), "bias: number of channels: expected 3, got 2"),
               fused_error(with_last(fused({"BiasAdd"}, "NCHW"), draw({4})),
                           "bias: number of channels: expected 3, got 4"),
               fused_error(with_last(fused({"BiasAdd"}), draw({1, 3})), "args[0]: expected a vector, got shape [1,3]"),
               fused_error(with_last(fused({"FusedBatchNorm"}), draw({2})),
                           "variance: number of channels: expected 3, got 2"),
               fused_error(with_last(fused({"Add"}), draw({2, 4, 1, 3})),
                           "Add: expected shape [2,4,3,3], got [2,4,1,3]"),
               fused_error(without_last(fused({"FusedBatchNorm"})), "num_args: expected 4, got 3"),
               fused_error(fused({"Relu", "Tanh"}),
                           "fused_ops: expected at most one op after BiasAdd, "
                           "FusedBatchNorm (or Mul, BiasAdd), Add in this order, got 2"),
               fused_error(with_last(fused({"Mul"}), draw({2})), "scale: number of channels: expected 3, got 2"),
               fused_error(with_last(fused({"Mul", "BiasAdd"}), draw({2})),
                           "offset: number of channels: expected 3, got 2"),
               fused_error(fused({"Add", "BiasAdd"}),
                           "fused_ops: expected BiasAdd, FusedBatchNorm (or Mul, BiasAdd), Add in this order",
                           Code::kUnimplemented),
               fused_error(fused({"Conv"}),
                           "fused_ops: expected BiasAdd, FusedBatchNorm (or Mul, BiasAdd), Add in this order",
                           Code::kUnimplemented)},
          .units = 64,
          .floor = 8}},
    });

}  // namespace
}  // namespace panto::test::convolution_rows
