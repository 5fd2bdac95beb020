// A residual network of bottlenecks (He and others 2016; with the stride in the 3x3 convolution), made of layers.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "panto/nn/layers/convolution.h"
#include "panto/nn/layers/normalization.h"
#include "panto/panto.h"

namespace panto {

inline Conv2D plain_convolution(const Shape& kernel, int64_t stride = 1) {
  return {kernel[2], kernel[3], kernel[0], {.stride = stride, .padding = Padding::kSame, .use_bias = false}};
}

// relu(body(x) + shortcut(x)), where the shortcut is x itself if the shapes are the same.
class Bottleneck final : public Layer {
 public:
  Bottleneck(std::vector<Shape> kernels, int64_t stride)
      : body_(plain_convolution(kernels[0]), BatchNorm(kernels[0][3]), Lambda(relu, "relu"),
              plain_convolution(kernels[1], stride), BatchNorm(kernels[1][3]), Lambda(relu, "relu"),
              plain_convolution(kernels[2]), BatchNorm(kernels[2][3])) {
    if (kernels.size() > 3) shortcut_.emplace(plain_convolution(kernels[3], stride), BatchNorm(kernels[3][3]));
  }
  Tensor forward(const Tensor& x) const override { return relu(body_(x) + (shortcut_ ? (*shortcut_)(x) : x)); }
  Parts parts() const override { return {body_, shortcut_}; }
  std::string to_string() const override { return "Bottleneck"; }

 private:
  Sequential body_;
  std::optional<Sequential> shortcut_;
};

// Builds the network from its parameters: for each convolution the kernel and its norm's scale and offset; last a dense
// layer's weights and bias. First comes a convolution with a pool, then bottlenecks of three convolutions, or four if
// the number of channels changes. Those with four, except the first, halve the images.
inline Sequential resnet(const std::vector<Tensor>& parameters) {
  std::vector<Shape> kernels;
  for (size_t i = 0; i + 2 < parameters.size(); i += 3) kernels.push_back(parameters[i].shape());
  std::vector<std::shared_ptr<const Layer>> layers;
  const auto add = [&](auto layer) { layers.push_back(std::make_shared<const decltype(layer)>(std::move(layer))); };
  add(plain_convolution(kernels[0], 2));
  add(BatchNorm(kernels[0][3]));
  add(Lambda(relu, "relu"));
  add(MaxPool2D(3, {.stride = 2, .padding = Padding::kSame}));
  for (size_t i = 1; i < kernels.size();) {
    const size_t count = kernels[i][2] != kernels[i + 2][3] ? 4 : 3;
    const auto first = kernels.begin() + static_cast<std::ptrdiff_t>(i);
    add(Bottleneck({first, first + static_cast<std::ptrdiff_t>(count)}, count == 4 && i > 1 ? 2 : 1));
    i += count;
  }
  add(Lambda([](const Tensor& x) { return mean(x, {1, 2}); }, "means"));
  const Shape& last = parameters[parameters.size() - 2].shape();
  add(Dense(last[0], last[1]));
  Sequential network(std::move(layers));
  const std::vector<Variable> variables = network.variables();
  for (size_t i = 0; i < variables.size(); ++i) variables[i].assign(parameters[i]);
  return network;
}

}  // namespace panto
