#include "panto/nn/layers/convolution.h"

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/reductions.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

bool positive(const Extent& e) { return e.height > 0 && e.width > 0; }

std::string text(const Extent& e) {
  return e.height == e.width ? fmt::format("{}", e.height) : fmt::format("{{{}, {}}}", e.height, e.width);
}

std::vector<int64_t> along_images(const Extent& e) { return {1, e.height, e.width, 1}; }

const char* op_text(Padding padding) { return padding == Padding::kSame ? "SAME" : "VALID"; }

void expect_images(const char* layer, const Tensor& x, int64_t channels) {
  const PartialShape expected{-1, -1, -1, channels}, &shape = x.partial_shape();
  if (expected.compatible_with(shape)) return;
  invalid("{}: expected an input of shape [batch, height, width, {}], got {}", layer,
          channels < 0 ? "channels" : fmt::format("{}", channels), shape.to_string());
}

Extent pool_stride(const char* layer, const Extent& window, const Extent& stride) {
  if (!positive(window)) invalid("{}: expected a positive window, got {}", layer, text(window));
  if (stride == Extent(0)) return window;
  if (!positive(stride)) invalid("{}: expected a positive stride, or 0, got {}", layer, text(stride));
  return stride;
}

}  // namespace

Conv2D::Conv2D(int64_t inputs, int64_t filters, Extent window) : Conv2D(inputs, filters, window, Conv2DOptions()) {}

Conv2D::Conv2D(int64_t inputs, int64_t filters, Extent window, Conv2DOptions options)
    : inputs_(inputs),
      filters_(filters),
      window_(window),
      stride_(options.stride),
      dilation_(options.dilation),
      padding_(options.padding),
      activation_(std::move(options.activation)) {
  if (inputs < 1 || filters < 1) invalid("Conv2D: expected positive sizes, got {} and {}", inputs, filters);
  if (!positive(window)) invalid("Conv2D: expected a positive window, got {}", text(window));
  if (!positive(stride_)) invalid("Conv2D: expected a positive stride, got {}", text(stride_));
  if (!positive(dilation_)) invalid("Conv2D: expected a positive dilation, got {}", text(dilation_));
  const int64_t groups = options.groups;
  if (groups < 1 || inputs % groups != 0 || filters % groups != 0) {
    invalid("Conv2D: expected a number of groups that divides {} and {}, got {}", inputs, filters, groups);
  }
  const Shape shape{window.height, window.width, inputs / groups, filters};
  kernel_ = Variable(options.kernel_initializer(shape, options.dtype), options.name + "/kernel");
  if (options.use_bias) bias_ = Variable(constant_initializer(0)({filters}, options.dtype), options.name + "/bias");
}

Tensor Conv2D::forward(const Tensor& x) const {
  expect_images("Conv2D", x, inputs_);
  Tensor y = conv2d(x, kernel_, along_images(stride_), op_text(padding_), {.dilations = along_images(dilation_)});
  if (bias_.defined()) y = bias_add(std::move(y), bias_);
  return activation_ ? activation_(y) : y;
}

std::vector<Variable> Conv2D::variables() const {
  if (!bias_.defined()) return {kernel_};
  return {kernel_, bias_};
}

std::string Conv2D::to_string() const { return fmt::format("Conv2D({}, {}, {})", inputs_, filters_, text(window_)); }

MaxPool2D::MaxPool2D(Extent window, PoolOptions options)
    : window_(window), stride_(pool_stride("MaxPool2D", window, options.stride)), padding_(options.padding) {}

Tensor MaxPool2D::forward(const Tensor& x) const {
  expect_images("MaxPool2D", x, -1);
  return max_pool(x, along_images(window_), along_images(stride_), op_text(padding_));
}

std::string MaxPool2D::to_string() const { return fmt::format("MaxPool2D({})", text(window_)); }

AveragePool2D::AveragePool2D(Extent window, PoolOptions options)
    : window_(window), stride_(pool_stride("AveragePool2D", window, options.stride)), padding_(options.padding) {}

Tensor AveragePool2D::forward(const Tensor& x) const {
  expect_images("AveragePool2D", x, -1);
  return avg_pool(x, along_images(window_), along_images(stride_), op_text(padding_));
}

std::string AveragePool2D::to_string() const { return fmt::format("AveragePool2D({})", text(window_)); }

Tensor GlobalMaxPool2D::forward(const Tensor& x) const {
  expect_images("GlobalMaxPool2D", x, -1);
  return max(x, {1, 2}, {.keep_dims = options_.keep_dims});
}

Tensor GlobalAveragePool2D::forward(const Tensor& x) const {
  expect_images("GlobalAveragePool2D", x, -1);
  return mean(x, {1, 2}, {.keep_dims = options_.keep_dims});
}

}  // namespace panto
