#include "panto/nn/layers/activation.h"

#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/nn/layers/layer.h"
#include "panto/ops/math.h"
#include "panto/ops/nn.h"

namespace panto {
namespace {

struct Named {
  std::string_view name;
  Activation activation;
};

const std::vector<Named>& all_named() {
  static const auto* all = new std::vector<Named>{
      {"relu", relu},
      {"sigmoid", sigmoid},
      {"tanh", tanh},
      {"softplus", softplus},
      {"silu", silu},
      {"swish", silu},
      {"gelu", gelu},
      {"gelu_tanh", gelu_tanh},
      {"softmax", softmax},
      {"log_softmax", log_softmax},
      {"exp", exp},
      {"linear", nullptr},
      {"elu", elu},
      {"selu", selu},
      {"relu6", relu6},
      {"leaky_relu", leaky_relu},
      {"softsign", softsign},
      {"exponential", exp},
      {"celu", celu},
      {"glu", glu},
      {"mish", mish},
      {"squareplus", squareplus},
      {"hard_sigmoid", hard_sigmoid},
      {"hard_silu", hard_silu},
      {"hard_swish", hard_silu},
      {"hard_tanh", hard_tanh},
      {"hard_shrink", hard_shrink},
      {"soft_shrink", soft_shrink},
      {"tanh_shrink", tanh_shrink},
      {"log_sigmoid", log_sigmoid},
      {"sparse_plus", sparse_plus},
      {"sparse_sigmoid", sparse_sigmoid},
      {"sparsemax", sparsemax},
  };
  return *all;
}

}  // namespace

Activation::Activation(Tensor (*op)(Arg)) : function_([op](const Tensor& x) { return op(x); }) {}
Activation::Activation(Tensor (*function)(const Tensor&)) : function_(function) {}

Activation::Activation(std::string_view name) {
  std::string known;
  for (const Named& named : all_named()) {
    if (named.name == name) {
      *this = named.activation;
      return;
    }
    known.append(known.empty() ? "" : ", ").append(named.name);
  }
  invalid("activation: expected one of {}, got '{}'", known, printable(name));
}

Tensor Activation::operator()(const Tensor& x) const { return function_(x); }

}  // namespace panto
