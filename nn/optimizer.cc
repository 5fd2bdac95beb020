#include "panto/nn/optimizer.h"

#include <algorithm>

#include "panto/lib/base/format.h"
#include "panto/lib/ops/operators.h"
#include "panto/lib/ops/ops.h"
#include "panto/nn/initializers.h"
#include "panto/trace/graph_gradients.h"
#include "panto/trace/graph_scope.h"

namespace panto {

namespace {

void expect_fits(const Variable& v, const Tensor& g) {
  if (g.dtype() != v.dtype() || !g.partial_shape().compatible_with(v.shape())) {
    invalid("gradient of '{}': expected {}{}, got {}{}", v.name(), dtype_name(v.dtype()), v.shape().to_string(),
            dtype_name(g.dtype()), g.partial_shape().to_string());
  }
}

// One index for each row, and rows that could be the variable's.
void expect_rows_fit(const Variable& v, const Gradient& g) {
  if (!g.indices.defined() || (g.indices.dtype() != kInt32 && g.indices.dtype() != kInt64)) {
    invalid("gradient of '{}': expected rows with indices of int32 or int64, got {}", v.name(),
            g.indices.defined() ? dtype_name(g.indices.dtype()) : "none");
  }
  const PartialShape& rows = g.rows.partial_shape();
  bool fits = g.rows.dtype() == v.dtype() && rows.rank() != 0;
  if (rows.known_rank() && v.shape().known_rank()) {
    fits = fits && rows.rank() == v.shape().rank();
    for (int k = 1; fits && k < rows.rank(); ++k) {
      fits = rows.dim(k) < 0 || v.shape().dim(k) < 0 || rows.dim(k) == v.shape().dim(k);
    }
  }
  if (!fits) {
    invalid("gradient of '{}': expected rows of {}{}, got {}{}", v.name(), dtype_name(v.dtype()), v.shape().to_string(),
            dtype_name(g.rows.dtype()), rows.to_string());
  }
  if (!rows.known_rank()) return;
  const PartialShape indices{rows.dim(0)};
  if (!indices.compatible_with(g.indices.partial_shape())) {
    invalid("gradient of '{}': expected an index for each row, shape {}, got {}", v.name(), indices.to_string(),
            g.indices.partial_shape().to_string());
  }
}

void expect_number(size_t got, size_t variables) {
  if (got != variables) invalid("gradients: expected one for each of {} variables, got {}", variables, got);
}

}  // namespace

Optimizer::Optimizer(std::vector<Variable> variables) : variables_(std::move(variables)) {}
Optimizer::~Optimizer() = default;

void Optimizer::apply(std::span<const Tensor> gradients) {
  expect_number(gradients.size(), variables_.size());
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].defined()) expect_fits(variables_[i], gradients[i]);
  }
  update(gradients);
}

void Optimizer::apply(std::span<const Gradient> gradients) {
  expect_number(gradients.size(), variables_.size());
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Gradient& g = gradients[i];
    if (g.sparse()) {
      expect_rows_fit(variables_[i], g);
    } else if (g.defined()) {
      expect_fits(variables_[i], g.whole);
    }
  }
  update_rows(gradients);
}

void Optimizer::update_rows(std::span<const Gradient> gradients) {
  std::vector<Tensor> whole;
  for (size_t i = 0; i < gradients.size(); ++i) {
    whole.push_back(gradients[i].dense());
    if (gradients[i].sparse()) expect_fits(variables_[i], whole.back());
  }
  update(whole);
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

void Sgd::update_rows(std::span<const Gradient> gradients) {
  for (size_t i = 0; i < gradients.size(); ++i) {
    const Variable& v = variables()[i];
    const Gradient& g = gradients[i];
    if (g.sparse()) {
      resource_scatter_sub(v, g.indices, options_.learning_rate * g.rows);
    } else if (g.defined()) {
      resource_apply_gradient_descent(v, options_.learning_rate, g.whole);
    }
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
