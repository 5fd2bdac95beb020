// Samples of convolutions, their gradients and pools, each against its definition.
#include <algorithm>
#include <limits>

#include "panto/autograd/tape.h"
#include "panto/lib/ops/ops.h"
#include "panto/tests/expect.h"
#include "panto/tests/ops/reference.h"
#include "panto/tests/ops/table.h"

namespace panto::test {
namespace {

const std::vector<int64_t> kOnes = {1, 1, 1, 1};

std::vector<int64_t> or_ones(std::vector<int64_t> list) { return list.empty() ? kOnes : list; }

// One of the two dimensions that windows slide along.
struct Side {
  int64_t input, size, stride, dilation, before, output;
  int64_t at(int64_t position, int64_t tap) const { return position * stride - before + tap * dilation; }
};

struct Layout {
  bool first;  // channels are dimension 1
  size_t height, width, channels;
  explicit Layout(const Given& g)
      : first(g.text("data_format") == "NCHW"), height(first ? 2 : 1), width(first ? 3 : 2), channels(first ? 1 : 3) {}
  Index index(int64_t n, int64_t y, int64_t x, int64_t c) const {
    return first ? Index{n, c, y, x} : Index{n, y, x, c};
  }
};

Side side_of(const Given& g, size_t dim, int64_t input, int64_t size, bool dilates) {
  Side s{input, size, g.integers("strides")[dim], dilates ? or_ones(g.integers("dilations"))[dim] : 1, 0, 0};
  const int64_t extent = (size - 1) * s.dilation + 1;
  const std::string padding = g.text("padding");
  if (padding == "SAME") {
    s.output = (input + s.stride - 1) / s.stride;
    s.before = std::max<int64_t>(0, (s.output - 1) * s.stride + extent - input) / 2;
    return s;
  }
  int64_t padded = input;
  if (padding == "EXPLICIT") {
    s.before = g.integers("explicit_paddings")[2 * dim];
    padded += s.before + g.integers("explicit_paddings")[2 * dim + 1];
  }
  s.output = (padded - extent) / s.stride + 1;
  return s;
}

// A convolution's sizes, from its input's and its filter's.
struct Sizes {
  Layout layout;
  Index input, filter;
  Side h, w;
  int64_t groups, group_out;

  Sizes(const Given& g, const Index& in, const Index& weights)
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

double& element(Array& a, const Index& index) {
  size_t flat = 0;
  for (size_t k = 0; k < index.size(); ++k)
    flat = flat * static_cast<size_t>(a.dims[k]) + static_cast<size_t>(index[k]);
  return a.values[flat];
}

std::vector<Array> conv(const Given& g) {
  const Sizes s(g, g.in[0].dims, g.in[1].dims);
  Array y = filled(s.output(), 0);
  s.for_each_product(
      [&](const Index& i, const Index& f, const Index& o) { element(y, o) += at(g.in[0], i) * at(g.in[1], f); });
  return {y};
}
std::vector<Array> conv_by_input(const Given& g) {
  const Sizes s(g, integers(g.in[0]), g.in[1].dims);
  Array dx = filled(s.input, 0);
  s.for_each_product(
      [&](const Index& i, const Index& f, const Index& o) { element(dx, i) += at(g.in[2], o) * at(g.in[1], f); });
  return {dx};
}
std::vector<Array> conv_by_filter(const Given& g) {
  const Sizes s(g, g.in[0].dims, integers(g.in[1]));
  Array df = filled(s.filter, 0);
  s.for_each_product(
      [&](const Index& i, const Index& f, const Index& o) { element(df, f) += at(g.in[0], i) * at(g.in[2], o); });
  return {df};
}

// A convolution: shapes of input, filter and output, and attributes.
struct Shapes {
  Index input, filter, output;
  Attrs attrs;
};

Attrs attrs_of(const char* padding, std::vector<int64_t> strides = kOnes, Attrs more = {}) {
  more.emplace_back("padding", padding);
  more.emplace_back("strides", std::move(strides));
  return more;
}

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
  };
}

Array sizes(const Index& dims) {
  Array a = list({});
  a.dims = {static_cast<int64_t>(dims.size())};
  for (const int64_t d : dims) a.values.push_back(static_cast<double>(d));
  return a.as(kInt32);
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

const Family family(
    "convolution",
    {
        {"Conv2D",
         {.samples = conv_samples(),
          .reference = conv,
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
               conv_error(attrs_of("VALID"), "height of the input: expected at least 2, the window's, got 0",
                          draw({1, 0, 4, 2})),
               conv_error(attrs_of("VALID", kOnes, {{"dilations", std::vector<int64_t>{1, 1, int64_t{1} << 62, 1}}}),
                          "width of the input: expected at least 4611686018427387905, the window's, got 4")},
          .units = 32,
          .floor = 4}},
        {"Conv2DBackpropInput",
         {.samples = by_input_samples(),
          .reference = conv_by_input,
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
          .reference = conv_by_filter,
          .errors = {{.in = {kImage, list({2, 2, 2}).as(kInt32), draw({1, 3, 3, 3})},
                      .attrs = attrs_of("VALID"),
                      .text = "filter_sizes: expected 4 numbers, got 3"},
                     {.in = {kImage, list({2, 2, 2, 3}).as(kInt32), draw({2, 3, 3, 3})},
                      .attrs = attrs_of("VALID"),
                      .text = "out_backprop: expected shape [1,3,3,3], got [2,3,3,3]"}},
          .units = 32,
          .floor = 4}},
    });

// ---- Pools ----------------------------------------------------------------------------------------------------------

struct Pool {
  Layout layout;
  Index input;
  Side h, w;

  Pool(const Given& g, const Index& in)
      : layout(g),
        input(in),
        h(side_of(g, layout.height, in[layout.height], g.integers("ksize")[layout.height], false)),
        w(side_of(g, layout.width, in[layout.width], g.integers("ksize")[layout.width], false)) {}

  // f(index of the window, indices of its elements).
  template <class F>
  void for_each_window(F f) const {
    for_each_index({input[0], h.output, w.output, input[layout.channels]}, [&](const Index& o) {
      std::vector<Index> elements;
      for_each_index({h.size, w.size}, [&](const Index& tap) {
        const int64_t y = h.at(o[1], tap[0]), x = w.at(o[2], tap[1]);
        if (y >= 0 && y < h.input && x >= 0 && x < w.input) elements.push_back(layout.index(o[0], y, x, o[3]));
      });
      f(layout.index(o[0], o[1], o[2], o[3]), elements);
    });
  }
  Array result() const { return filled(layout.index(input[0], h.output, w.output, input[layout.channels]), 0); }
};

const Index& largest(const Array& x, const std::vector<Index>& elements) {
  const Index* best = &elements[0];
  for (const Index& e : elements) {
    if (at(x, e) > at(x, *best) || (at(x, e) != at(x, e) && at(x, *best) == at(x, *best))) best = &e;
  }
  return *best;
}

std::vector<Array> max_pool(const Given& g) {
  const Pool p(g, g.in[0].dims);
  Array y = p.result();
  p.for_each_window(
      [&](const Index& o, const std::vector<Index>& e) { element(y, o) = at(g.in[0], largest(g.in[0], e)); });
  return {y};
}
std::vector<Array> max_pool_grad(const Given& g) {
  const Pool p(g, g.in[0].dims);
  Array dx = filled(g.in[0].dims, 0);
  p.for_each_window(
      [&](const Index& o, const std::vector<Index>& e) { element(dx, largest(g.in[0], e)) += at(g.in[2], o); });
  return {dx};
}
std::vector<Array> max_pool_grad_grad(const Given& g) {
  const Pool p(g, g.in[0].dims);
  Array y = p.result();
  p.for_each_window(
      [&](const Index& o, const std::vector<Index>& e) { element(y, o) = at(g.in[2], largest(g.in[0], e)); });
  return {y};
}
std::vector<Array> avg_pool(const Given& g) {
  const Pool p(g, g.in[0].dims);
  Array y = p.result();
  p.for_each_window([&](const Index& o, const std::vector<Index>& elements) {
    for (const Index& e : elements) element(y, o) += at(g.in[0], e) / static_cast<double>(elements.size());
  });
  return {y};
}
std::vector<Array> avg_pool_grad(const Given& g) {
  const Pool p(g, integers(g.in[0]));
  Array dx = filled(p.input, 0);
  p.for_each_window([&](const Index& o, const std::vector<Index>& elements) {
    for (const Index& e : elements) element(dx, e) += at(g.in[1], o) / static_cast<double>(elements.size());
  });
  return {dx};
}

struct PoolShapes {
  Index input, output;
  Attrs attrs;
};

Attrs pool_attrs(const char* padding, std::vector<int64_t> ksize, std::vector<int64_t> strides, Attrs more = {}) {
  more.emplace_back("ksize", std::move(ksize));
  return attrs_of(padding, std::move(strides), std::move(more));
}

const Attrs kFirst = {{"data_format", "NCHW"}};

std::vector<PoolShapes> pools() {
  return {
      {{1, 4, 4, 3}, {1, 2, 2, 3}, pool_attrs("VALID", {1, 2, 2, 1}, {1, 2, 2, 1})},
      {{2, 5, 3, 1}, {2, 3, 2, 1}, pool_attrs("SAME", {1, 3, 2, 1}, {1, 2, 2, 1})},
      {{1, 5, 4, 2}, {1, 3, 3, 2}, pool_attrs("VALID", {1, 3, 2, 1}, kOnes)},
      {{1, 5, 5, 1}, {1, 2, 2, 1}, pool_attrs("SAME", {1, 2, 1, 1}, {1, 3, 4, 1})},
      {{1, 2, 4, 4}, {1, 2, 2, 2}, pool_attrs("VALID", {1, 1, 2, 2}, {1, 1, 2, 2}, kFirst)},
      {{2, 2, 3, 5}, {2, 2, 3, 3}, pool_attrs("SAME", {1, 1, 2, 3}, {1, 1, 1, 2}, kFirst)},
      {{1, 2, 2, 70}, {1, 1, 1, 70}, pool_attrs("VALID", {1, 2, 2, 1}, kOnes)},
      {{1, 2, 3, 1}, {1, 2, 3, 1}, pool_attrs("SAME", {1, 5, 7, 1}, kOnes)},
      {{0, 3, 3, 2}, {0, 1, 1, 2}, pool_attrs("VALID", {1, 2, 2, 1}, {1, 2, 2, 1})},
      {{2, 3, 3, 0}, {2, 1, 1, 0}, pool_attrs("VALID", {1, 3, 3, 1}, kOnes)},
  };
}
std::vector<PoolShapes> explicit_pools() {
  return {{{1, 3, 4, 2},
           {1, 2, 3, 2},
           pool_attrs("EXPLICIT", {1, 2, 2, 1}, {1, 2, 2, 1},
                      {{"explicit_paddings", std::vector<int64_t>{0, 0, 1, 0, 1, 1, 0, 0}}})},
          {{1, 2, 3, 3},
           {1, 2, 2, 2},
           pool_attrs("EXPLICIT", {1, 1, 3, 3}, {1, 1, 2, 2},
                      {{"explicit_paddings", std::vector<int64_t>{0, 0, 0, 0, 2, 0, 1, 1}}, {"data_format", "NCHW"}})}};
}

enum class Takes : uint8_t { kInput, kInputOutputGrad, kInputOutputGradGrad, kSizesGrad };

std::vector<Sample> pool_samples(Takes takes, const std::vector<PoolShapes>& shapes) {
  std::vector<Sample> samples;
  for (const PoolShapes& s : shapes) {
    const Array input = draw(s.input, -20, 20), output = draw(s.output, -2, 2, 1), grad = draw(s.output, -2, 2, 2);
    switch (takes) {
      case Takes::kInput: samples.push_back({.in = {input}, .attrs = s.attrs}); break;
      case Takes::kInputOutputGrad: samples.push_back({.in = {input, output, grad}, .attrs = s.attrs}); break;
      case Takes::kInputOutputGradGrad:
        samples.push_back({.in = {input, output, draw(s.input, -2, 2, 3)}, .attrs = s.attrs});
        break;
      case Takes::kSizesGrad: samples.push_back({.in = {sizes(s.input), grad}, .attrs = s.attrs}); break;
    }
  }
  return samples;
}

// TensorFlow has no op for it; the gradient itself is that of MaxPool-explicit.
void explicit_second_order() {
  const Tensor x = to_tensor(draw({1, 2, 2, 1}), kFloat32), dy = to_tensor(draw({1, 2, 2, 1}), kFloat32);
  GradientTape tape;
  tape.watch(dy);
  const Tensor dx =
      max_pool_grad(x, dy, dy, {1, 2, 2, 1}, {1, 1, 1, 1}, "EXPLICIT", {.explicit_paddings = {0, 0, 1, 0, 1, 0, 0, 0}});
  expect_error_begins([&] { tape.gradient(dx, dy); },
                      "Unimplemented: gradient of MaxPoolGrad: expected padding SAME or VALID, got EXPLICIT");
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const Array kEqualOnes = array({1, 2, 4, 1}, {3, 3, 1, 2, 3, 0, 2, 2});
const Array kNans = array({1, 1, 6, 1}, {1, kNan, 2, 3, kNan, kNan});
const Attrs kTwoByTwo = pool_attrs("VALID", {1, 2, 2, 1}, {1, 2, 2, 1});
const Attrs kPairs = pool_attrs("VALID", {1, 1, 2, 1}, kOnes);

const Family pooling(
    "pooling",
    {
        {"MaxPool",
         {.samples = pool_samples(Takes::kInput, pools()),
          .reference = max_pool,
          .errors = {{.in = {draw({4, 4, 1})}, .attrs = kTwoByTwo, .text = "input: expected rank 4, got shape [4,4,1]"},
                     {.in = {kImage},
                      .attrs = pool_attrs("VALID", {1, 2, 2}, kOnes),
                      .text = "ksize: expected at least 4 elements, got 3"},
                     {.in = {kImage},
                      .attrs = pool_attrs("VALID", {1, 2, 2, 1, 1}, kOnes),
                      .text = "ksize: expected 4 numbers, got 5"},
                     {.in = {kImage},
                      .attrs = pool_attrs("VALID", {1, 0, 2, 1}, kOnes),
                      .text = "ksize[1]: expected at least 1, got 0"},
                     {.in = {kImage},
                      .attrs = pool_attrs("VALID", {1, 1, 1, 2}, kOnes),
                      .code = Code::kUnimplemented,
                      .text = "ksize of batch and channels: expected 1, got 2"},
                     {.in = {kImage},
                      .attrs = pool_attrs("VALID", {1, 6, 2, 1}, kOnes),
                      .text = "height of the input: expected at least 6, the window's, got 4"},
                     {.in = {kImage},
                      .attrs = pool_attrs("EXPLICIT", {1, 2, 2, 1}, kOnes,
                                          {{"explicit_paddings", std::vector<int64_t>{0, 0, 0, 0, 0, 2, 0, 0}}}),
                      .text = "explicit_paddings: expected less than the window's 2, got 0 and 2"},
                     {.in = {kImage},
                      .attrs = pool_attrs("VALID", {1, 1, 1, 1}, kOnes, {{"data_format", "NCHW_VECT_C"}}),
                      .code = Code::kUnimplemented,
                      .text = "data_format: expected NHWC or NCHW, got NCHW_VECT_C"}}}},
        {"MaxPool",
         {.samples = pool_samples(Takes::kInput, explicit_pools()),
          .reference = max_pool,
          .label = "explicit",
          .second_order = false}},
        {"MaxPool",
         {.samples = {{.in = {kEqualOnes}, .attrs = kTwoByTwo}},
          .reference = max_pool,
          .label = "equal",
          .gradient = false}},
        {"MaxPool",
         {.samples = {{.in = {kNans}, .attrs = kPairs}}, .reference = max_pool, .label = "nan", .gradient = false}},
        {"MaxPoolGrad",
         {.samples = pool_samples(Takes::kInputOutputGrad, pools()),
          .reference = max_pool_grad,
          .errors = {{.in = {kImage, draw({1, 2, 3, 2}), draw({1, 2, 2, 2})},
                      .attrs = kTwoByTwo,
                      .text = "orig_output: expected shape [1,2,2,2], got [1,2,3,2]"},
                     {.in = {kImage, draw({1, 2, 2, 2}), draw({1, 2, 2, 1})},
                      .attrs = kTwoByTwo,
                      .text = "grad: expected shape [1,2,2,2], got [1,2,2,1]"}}}},
        {"MaxPoolGrad",
         {.samples = pool_samples(Takes::kInputOutputGrad, explicit_pools()),
          .reference = max_pool_grad,
          .own = {{"second_order", explicit_second_order}},
          .label = "explicit",
          .types = {kInt32, kInt64}}},
        {"MaxPoolGrad",
         {.samples = {{.in = {kEqualOnes, draw({1, 1, 2, 1}), draw({1, 1, 2, 1})}, .attrs = kTwoByTwo}},
          .reference = max_pool_grad,
          .label = "equal",
          .gradient = false}},
        {"MaxPoolGrad",
         {.samples = {{.in = {kNans, draw({1, 1, 5, 1}), draw({1, 1, 5, 1})}, .attrs = kPairs}},
          .reference = max_pool_grad,
          .label = "nan",
          .gradient = false}},
        {"MaxPoolGradGrad",
         {.samples = pool_samples(Takes::kInputOutputGradGrad, pools()),
          .reference = max_pool_grad_grad,
          .errors = {{.in = {kImage, draw({1, 2, 2, 2}), draw({1, 2, 2, 2})},
                      .attrs = kTwoByTwo,
                      .text = "grad: expected shape [1,4,4,2], got [1,2,2,2]"}}}},
        {"AvgPool",
         {.samples = pool_samples(Takes::kInput, pools()),
          .reference = avg_pool,
          .errors =
              {{.in = {draw({4, 4, 1})}, .attrs = kTwoByTwo, .text = "value: expected rank 4, got shape [4,4,1]"}},
          .units = 16,
          .floor = 16}},
        {"AvgPoolGrad",
         {.samples = pool_samples(Takes::kSizesGrad, pools()),
          .reference = avg_pool_grad,
          .errors = {{.in = {list({1, 4, 4}).as(kInt32), draw({1, 2, 2, 1})},
                      .attrs = kTwoByTwo,
                      .text = "orig_input_shape: expected 4 numbers, got 3"},
                     {.in = {list({1, 4, 4, 1}).as(kInt32), draw({1, 2, 3, 1})},
                      .attrs = kTwoByTwo,
                      .text = "grad: expected shape [1,2,2,1], got [1,2,3,1]"}},
          .units = 16,
          .floor = 2}},
    });

}  // namespace
}  // namespace panto::test
