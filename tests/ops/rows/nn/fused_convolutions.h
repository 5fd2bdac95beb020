// Samples of fused convolutions: a convolution, and what follows it.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "panto/tests/ops/rows/nn/windows.h"

namespace panto::test {

// Products: see windows.h.
template <class Products>
std::vector<Array> fused_conv(const Given& g) {
  const std::vector<std::string> ops = g.texts("fused_ops");
  Array y = conv<Products>(g)[0];
  const size_t axis = g.text("data_format") == "NCHW" ? 1 : 3;
  size_t next = 2;
  for (const std::string& op : ops) {
    const size_t arg = next;
    next += op == "BiasAdd" || op == "Mul" || op == "Add" ? 1 : op == "FusedBatchNorm" ? 4 : 0;
    for_each_index(y.dims, [&](const Index& index) {
      double& v = element(y, index);
      const auto of_channel = [&](size_t i) { return g.in[arg + i].values[static_cast<size_t>(index[axis])]; };
      if (op == "BiasAdd") v += of_channel(0);
      if (op == "Mul") v *= of_channel(0);
      if (op == "FusedBatchNorm") {
        v = (v - of_channel(2)) / std::sqrt(of_channel(3) + g.real("epsilon")) * of_channel(0) + of_channel(1);
      }
      if (op == "Add") v += at(g.in[arg], index);
      if (op == "Relu") v = std::max(v, 0.0);
      if (op == "Relu6") v = std::clamp(v, 0.0, 6.0);
      if (op == "Tanh") v = std::tanh(v);
      if (op == "Sigmoid") v = 1 / (1 + std::exp(-v));
      if (op == "Elu") v = v < 0 ? std::expm1(v) : v;
      if (op == "LeakyRelu") v = v < 0 ? v * g.real("leakyrelu_alpha") : v;
      if (op == "GeluApproximate") v = 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
      if (op == "Swish") v = v / (1 + std::exp(-v));
      if (op == "GeluExact") v = 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
    });
  }
  return {y};
}

// 2x4x3 images of two channels.
struct FusedConvolution {
  Index filter;
  int64_t channels;  // of the output

  Sample sample(std::vector<std::string> ops, const char* data_format = "NHWC", Attrs more = {}) const;
};

inline Sample FusedConvolution::sample(std::vector<std::string> ops, const char* data_format, Attrs more) const {
  const bool first = data_format[1] == 'C';
  Sample s{.in = {draw(first ? Index{2, 2, 4, 3} : Index{2, 4, 3, 2}), draw(filter, -2, 2, 1)},
           .attrs = attrs_of("SAME", kOnes, std::move(more))};
  unsigned seed = 2;
  for (const std::string& op : ops) {
    if (op == "BiasAdd" || op == "Mul") s.in.push_back(draw({channels}, -2, 2, seed++));
    if (op == "FusedBatchNorm") {
      for (int i = 0; i < 3; ++i) s.in.push_back(draw({channels}, -2, 2, seed++));
      s.in.push_back(draw({channels}, 0.5, 2, seed++));
    }
    if (op == "Add") s.in.push_back(draw(first ? Index{2, channels, 4, 3} : Index{2, 4, 3, channels}, -2, 2, seed++));
  }
  s.attrs.insert(
      s.attrs.end(),
      {{"num_args", static_cast<int>(s.in.size()) - 2}, {"data_format", data_format}, {"fused_ops", std::move(ops)}});
  return s;
}

inline const std::vector<const char*> kFusedActivations = {
    "Relu", "Relu6", "Tanh", "Sigmoid", "Elu", "LeakyRelu", "GeluApproximate", "GeluExact", "Swish"};

// A sample with another input or attributes.
inline ErrorSample fused_error(Sample s, const char* text, Code code = Code::kInvalidArgument) {
  return {.in = std::move(s.in), .attrs = std::move(s.attrs), .code = code, .text = text};
}
inline Sample with_last(Sample s, Array last) {
  s.in.back() = std::move(last);
  return s;
}
inline Sample without_last(Sample s) {
  s.in.pop_back();
  s.attrs[2] = {"num_args", static_cast<int>(s.in.size()) - 2};
  return s;
}

}  // namespace panto::test
