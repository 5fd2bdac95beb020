#include "panto/nn/layers/core/activation_layers.h"

#include <cmath>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/lib/ops/arrays.h"
#include "panto/lib/ops/operators.h"
#include "panto/nn/layers/core/shapes.h"
#include "panto/nn/training/losses/loss_parts.h"
#include "panto/ops/array.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {

ReLU::ReLU(ReLUOptions options) : options_(options) {
  const auto expect = [](const char* what, double value) {
    if (!(value >= 0)) invalid("ReLU: expected {} of at least 0, got {}", what, value);
  };
  expect("a max_value", options.max_value);
  expect("a negative_slope", options.negative_slope);
  expect("a threshold", options.threshold);
}

Tensor ReLU::forward(const Tensor& x) const {
  const auto [most, slope, bound] = options_;
  const bool bounded = std::isfinite(most);
  if (slope != 0 && !bounded && bound == 0) return leaky_relu(x, {.alpha = static_cast<float>(slope)});
  if (slope == 0 && bound == 0 && most == 6) return relu6(x);
  Tensor y = bound != 0 ? x * cast(x > bound, x.dtype()) : relu(x);
  if (bounded) y = clip_by_value(std::move(y), 0.0, most);
  if (slope != 0) y = std::move(y) - slope * relu(bound - x);
  return y;
}

std::string ReLU::to_string() const {
  std::string text;
  const auto add = [&](const char* name, double value) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  };
  if (std::isfinite(options_.max_value)) add("max_value", options_.max_value);
  if (options_.negative_slope != 0) add("negative_slope", options_.negative_slope);
  if (options_.threshold != 0) add("threshold", options_.threshold);
  return "ReLU(" + text + ")";
}

LeakyReLU::LeakyReLU(double negative_slope) : negative_slope_(negative_slope) {
  if (!std::isfinite(negative_slope)) invalid("LeakyReLU: expected a finite slope, got {}", negative_slope);
}
Tensor LeakyReLU::forward(const Tensor& x) const {
  return leaky_relu(x, {.alpha = static_cast<float>(negative_slope_)});
}
std::string LeakyReLU::to_string() const { return fmt::format("LeakyReLU({})", negative_slope_); }

PReLU::PReLU(const Shape& shape, PReLUOptions options)
    : alpha_(options.initializer(shape, options.dtype), options.name + "/alpha") {}

Tensor PReLU::forward(const Tensor& x) const {
  const PartialShape &got = x.partial_shape(), &own = alpha_.shape();
  if (!detail::broadcasts_to(own, got)) {
    invalid("PReLU: expected an input to which {} broadcasts, got {}", own.to_string(), got.to_string());
  }
  return relu(x) - alpha_ * relu(-x);
}

std::string PReLU::to_string() const { return fmt::format("PReLU({})", alpha_.shape().to_string()); }

ELU::ELU(double alpha) : alpha_(alpha) {
  if (!std::isfinite(alpha)) invalid("ELU: expected a finite alpha, got {}", alpha);
}
Tensor ELU::forward(const Tensor& x) const {
  const Tensor y = elu(x);
  return alpha_ == 1 ? y : where(x > 0.0, y, y * alpha_);
}
std::string ELU::to_string() const { return fmt::format("ELU({})", alpha_); }

Softmax::Softmax(int64_t axis) : axis_(axis) {}
Tensor Softmax::forward(const Tensor& x) const { return softmax(x, AlongOptions{.axis = axis_}); }
Tensor Softmax::operator()(const Tensor& x, const Tensor& mask, std::source_location where) const {
  return from_caller(where, [&] {
    if (mask.dtype() != kBool) invalid("Softmax: expected a mask of bool, got {}", dtype_name(mask.dtype()));
    return forward(panto::where(mask, x, detail::lowest(x.dtype())));
  });
}
std::string Softmax::to_string() const { return fmt::format("Softmax({})", axis_); }

}  // namespace panto
