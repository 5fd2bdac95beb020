#include "panto/nn/optimizer.h"

#include <algorithm>

#include "panto/lib/base/format.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/nn/initializers.h"
#include "panto/trace/graph_gradients.h"
#include "panto/trace/graph_scope.h"

namespace panto {

Optimizer::Optimizer(std::vector<Variable> variables) : variables_(std::move(variables)) {}
Optimizer::~Optimizer() = default;

void Optimizer::apply(std::span<const Tensor> gradients) {
  if (gradients.size() != variables_.size()) {
    invalid("gradients: expected one for each of {} variables, got {}", variables_.size(), gradients.size());
  }
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Variable& v = variables_[i];
    const Tensor& g = gradients[i];
    if (g.defined() && (g.dtype() != v.dtype() || !g.partial_shape().compatible_with(v.shape()))) {
      invalid("gradient of '{}': expected {}{}, got {}{}", v.name(), dtype_name(v.dtype()), v.shape().to_string(),
              dtype_name(g.dtype()), g.partial_shape().to_string());
    }
  }
  update(gradients);
}

std::string Optimizer::minimize(const Tensor& loss, std::string_view name) {
  const std::vector<GradSource> sources(variables_.begin(), variables_.end());
  const std::vector<Tensor> grads = panto::gradients(loss, sources);
  if (std::ranges::none_of(grads, [](const Tensor& g) { return g.defined(); })) {
    invalid("minimize: expected a loss that depends on a variable of the optimizer, got one that does not");
  }
  const CollectEffects steps;
  apply(grads);
  return group(steps.names(), name);
}

Sgd::Sgd(std::vector<Variable> variables, SgdOptions options) : Optimizer(std::move(variables)), options_(options) {}

void Sgd::update(std::span<const Tensor> gradients) {
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Variable& v = variables()[i];
    if (!gradients[i].defined()) continue;
    resource_apply_gradient_descent(v, options_.learning_rate, gradients[i]);
  }
}

Adam::Adam(std::vector<Variable> variables, AdamOptions options) : Optimizer(std::move(variables)), options_(options) {
  const Initializer zeros = constant_initializer(0);
  for (const Variable& v : this->variables()) {
    for (const char* slot : {"/m", "/v"}) slots_.emplace_back(zeros(Shape(v.shape()), v.dtype()), v.name() + slot);
  }
  const DType dtype = this->variables().empty() ? kFloat32 : this->variables()[0].dtype();
  slots_.emplace_back(constant_initializer(options.beta1)(Shape(), dtype), "beta1_power");
  slots_.emplace_back(constant_initializer(options.beta2)(Shape(), dtype), "beta2_power");
}

void Adam::update(std::span<const Tensor> gradients) {
  const Variable& power1 = slots_[slots_.size() - 2];
  const Variable& power2 = slots_[slots_.size() - 1];
  const Tensor beta1_power = power1.value();
  const Tensor beta2_power = power2.value();
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Variable& v = variables()[i];
    if (!gradients[i].defined()) continue;
    // The powers are kept in the type of the first variable.
    const bool same = beta1_power.dtype() == v.dtype();
    resource_apply_adam(v, slots_[2 * i], slots_[2 * i + 1], same ? beta1_power : cast(beta1_power, v.dtype()),
                        same ? beta2_power : cast(beta2_power, v.dtype()), options_.learning_rate, options_.beta1,
                        options_.beta2, options_.epsilon, gradients[i]);
  }
  power1.assign(beta1_power * options_.beta1);
  power2.assign(beta2_power * options_.beta2);
}

}  // namespace panto
