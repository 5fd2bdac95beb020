// Convolutions with an epilogue against the separate ops, bit by bit: sizes at which tiles, layouts and the way of
// multiplying change. A constant filter, which is laid out once, against one that is fed.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <limits>

#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/lib/runtime/session.h"
#include "panto/tests/device/support.h"
#include "panto/tests/ops/array_value.h"
#include "panto/trace/trace.h"

namespace panto {
namespace {

using test::random_tensor;
using test::random_values;
using test::same_bits;
using test::ThreadCount;

struct Case {
  const char* name;
  int64_t batch, height, width, in, out, rows, columns, stride = 1, groups = 1;
};

const std::vector<Case> kCases = {
    {"by definition", 1, 3, 4, 2, 3, 2, 2},
    {"images in tiles, a rest", 13, 14, 14, 32, 64, 3, 3},
    {"bands of one image", 1, 60, 50, 32, 48, 3, 3},
    {"two images in bands, strides", 2, 61, 47, 32, 64, 3, 3, 2},
    {"odd channels", 3, 17, 19, 20, 23, 3, 3},
    {"few output channels", 2, 32, 32, 64, 3, 3, 3},
    {"groups", 2, 20, 20, 32, 64, 3, 3, 1, 4},
    {"groups of four", 3, 20, 21, 32, 32, 3, 3, 2, 8},
    {"depthwise", 2, 13, 15, 80, 80, 3, 3, 1, 80},
    {"depthwise, strides", 1, 23, 22, 48, 48, 5, 5, 2, 48},
    {"1x1", 4, 28, 28, 64, 128, 1, 1},
    {"1x1, one pixel", 1, 1, 1, 300, 400, 1, 1},
    {"1x1 to one channel", 2, 30, 30, 64, 1, 1, 1},
    {"1x1 with strides", 4, 28, 27, 64, 128, 1, 1, 2},
    {"a window as product", 2, 6, 5, 128, 256, 3, 3},
    {"products in parts", 1, 1, 1, 20'000, 32, 1, 1},
};

// Numbers with what breaks arithmetic among them.
Tensor some(const Shape& shape, unsigned seed) {
  std::vector<float> values = random_values<float>(shape.numel(), seed);
  const float special[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                           -std::numeric_limits<float>::infinity(), -0.f, 1e-42f};
  for (size_t i = 0; i < values.size() / 101 && i < std::size(special); ++i) values[i * 101 + 7] = special[i];
  return tensor(values, shape);
}

struct Convolution {
  const Case& c;
  const char* format;

  bool first() const { return format[1] == 'C'; }
  Shape images(int64_t height, int64_t width, int64_t channels) const {
    return first() ? Shape{c.batch, channels, height, width} : Shape{c.batch, height, width, channels};
  }
  std::vector<int64_t> strides() const {
    return first() ? std::vector<int64_t>{1, 1, c.stride, c.stride} : std::vector<int64_t>{1, c.stride, c.stride, 1};
  }
  Tensor input() const { return random_tensor<float>(images(c.height, c.width, c.in)); }
  Tensor filter() const { return random_tensor<float>({c.rows, c.columns, c.in / c.groups, c.out}, 2); }
  Tensor output(const Tensor& x, const Tensor& w) const {
    return conv2d(x, w, strides(), "SAME", {.data_format = format});
  }
};

bool has(const std::vector<std::string>& ops, const char* name) { return std::ranges::find(ops, name) != ops.end(); }

struct Both {
  Tensor fused, separate;
};

Both both(const Convolution& k, const std::vector<std::string>& ops) {
  const Tensor x = k.input(), w = k.filter();
  Tensor y = k.output(x, w);
  std::vector<Tensor> args;
  const int64_t n = k.c.out;
  if (!ops.empty() && ops.front() == "BiasAdd") {
    const Tensor bias = some({n}, 3);
    y = bias_add(y, bias, {.data_format = k.format});
    args.push_back(bias);
  }
  if (has(ops, "FusedBatchNorm")) {
    const Tensor scale = some({n}, 4), offset = some({n}, 5), mean = random_tensor<float>({n}, 6);
    const Tensor variance = square(some({n}, 7));
    y = fused_batch_norm(y, scale, offset, mean, variance,
                         {.epsilon = 1e-3f, .data_format = k.format, .is_training = false})
            .y;
    for (const Tensor& t : {scale, offset, mean, variance}) args.push_back(t);
  }
  if (const auto scaled = std::ranges::find(ops, "Mul"); scaled != ops.end()) {
    const Tensor scale = some({n}, 9);
    y = y * (k.first() ? reshape(scale, {n, 1, 1}) : scale);
    args.push_back(scale);
    if (scaled + 1 != ops.end() && scaled[1] == "BiasAdd") {
      args.push_back(some({n}, 10));
      y = bias_add(y, args.back(), {.data_format = k.format});
    }
  }
  if (has(ops, "Add")) {
    const Tensor other = some(y.shape(), 8);
    y = y + other;
    args.push_back(other);
  }
  if (has(ops, "Relu")) y = relu(y);
  if (has(ops, "Relu6")) y = relu6(y);
  if (has(ops, "Tanh")) y = tanh(y);
  if (has(ops, "Sigmoid")) y = sigmoid(y);
  if (has(ops, "Swish")) y = y * sigmoid(y);
  return {fused_conv2d(x, w, args, k.strides(), "SAME", {.data_format = k.format, .fused_ops = ops, .epsilon = 1e-3f}),
          y};
}

BOOST_AUTO_TEST_SUITE(fused_conv, *boost::unit_test::label("heavy"))

BOOST_AUTO_TEST_CASE(same_bits_as_separate_ops) {
  const std::vector<std::vector<std::string>> epilogues = {
      {"BiasAdd"},
      {"Relu"},
      {"Add"},
      {"BiasAdd", "Relu"},
      {"BiasAdd", "Tanh"},
      {"Sigmoid"},
      {"FusedBatchNorm"},
      {"FusedBatchNorm", "Relu"},
      {"FusedBatchNorm", "Sigmoid"},
      {"FusedBatchNorm", "Add", "Relu"},
      {"BiasAdd", "FusedBatchNorm", "Add", "Tanh"},
      {"BiasAdd", "Add", "Relu"},
      {"Relu6"},
      {"Mul"},
      {"Mul", "BiasAdd", "Relu6"},
      {"Mul", "Add", "Relu"},
      {"BiasAdd", "Mul", "BiasAdd", "Add", "Relu"},
      {"Mul", "BiasAdd", "Swish"},
  };
  for (const Case& c : kCases) {
    for (const char* format : {"NHWC", "NCHW"}) {
      for (const auto& ops : epilogues) {
        for (const int threads : {1, 3}) {
          const ThreadCount scope(threads);
          const Both made = both({c, format}, ops);
          // NaN times NaN has the sign of either.
          const bool same = has(ops, "Swish") ? test::difference(made.separate, made.fused).empty()
                                              : same_bits(made.fused, made.separate);
          BOOST_TEST(same, c.name << ", " << format << ", " << ops.front() << " ... " << ops.back() << ", " << threads);
        }
      }
    }
  }
}

// In a frozen graph: what a network does after training.
BOOST_AUTO_TEST_CASE(constant_filters) {
  for (const Case& c : kCases) {
    for (const char* format : {"NHWC", "NCHW"}) {
      const Convolution k{c, format};
      const Tensor x = k.input(), w = k.filter(), bias = some({c.out}, 3);
      const Tensor y = k.output(x, w), dy = random_tensor<float>(y.shape(), 4);
      const auto by_input = [&](const Tensor& gradient) {
        return conv2d_backprop_input(shape(x), w, gradient, k.strides(), "SAME", {.data_format = k.format});
      };
      const Graph graph = trace(
                              [&](const Tensor& a, const Tensor& b) {
                                return std::vector<Tensor>{
                                    relu(bias_add(k.output(a, w), bias, {.data_format = k.format})), by_input(b)};
                              },
                              {{kFloat32, x.partial_shape()}, {kFloat32, dy.partial_shape()}})
                              .frozen_graph();
      std::vector<std::string> feeds;
      Fetches fetches;
      for (int id : graph.ids()) {
        const Node& node = graph.at(id);
        if (node.is(OpKind::kPlaceholder)) feeds.push_back(node.name());
        if (node.consumers().empty()) fetches.emplace_back(node.name());
      }
      BOOST_REQUIRE(feeds.size() == 2);
      Session session(graph);
      for (int i = 0; i < 2; ++i) {
        const std::vector<Tensor> got = session.run(fetches, {{feeds[0], x}, {feeds[1], dy}});
        BOOST_REQUIRE(got.size() == 2);
        BOOST_TEST(same_bits(got[0], relu(bias_add(y, bias, {.data_format = k.format}))), c.name << ", " << format);
        BOOST_TEST(same_bits(got[1], by_input(dy)), c.name << ", " << format);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace panto
