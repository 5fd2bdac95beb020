// TensorFlow 1's interface: the two halves of `minimize`.
#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"
#include "panto/nn/training/optimizers/by_hand.h"
#include "panto/nn/training/optimizers/checks.h"
#include "panto/nn/training/optimizers/optimizer.h"
#include "panto/trace/graph_gradients.h"
#include "panto/trace/graph_scope.h"

namespace panto {

std::vector<Variable> Optimizer::variables_for(const std::vector<Variable>& var_list) const {
  if (!var_list.empty()) return var_list;
  if (!of_graph_) return variables_;
  // Outside of a graph: the variables given to `build`.
  if (!is_graph_by_hand() && !variables_.empty() && graph_ == nullptr) return variables_;
  std::vector<Variable> found = trainable_variables();
  if (found.empty()) {
    invalid(
        "minimize: expected variables to train that were made in the graph, got none (to train others, name them: "
        "`Sgd({{w, b}}, ...)`)");
  }
  return found;
}

std::vector<GradientAndVariable> Optimizer::compute_gradients(const Tensor& loss,
                                                              const ComputeGradientsOptions& options,
                                                              std::source_location where) {
  return from_caller(where, [&] {
    const std::vector<Variable> variables = variables_for(options.var_list);
    const std::vector<GradSource> sources(variables.begin(), variables.end());
    std::vector<Gradient> gradients = panto::sparse_gradients(loss, sources, options.grad_loss);
    std::vector<GradientAndVariable> result;
    for (size_t i = 0; i < variables.size(); ++i) result.push_back({std::move(gradients[i]), variables[i]});
    return result;
  });
}

std::vector<GradientAndVariable> Optimizer::compute_gradients(const Callable<Tensor()>& loss,
                                                              const ComputeGradientsOptions& options,
                                                              std::source_location where) {
  return from_caller(where, [&] {
    if (is_graph_by_hand()) return compute_gradients(loss(), options, where);
    if (options.var_list.empty() && variables_.empty()) {
      invalid("minimize: expected an optimizer of variables, or a var_list, got neither");
    }
    const std::vector<Variable> variables = variables_for(options.var_list);
    GradientTape tape({.watch_variables = false});
    for (const Variable& v : variables) tape.watch(v);
    const Tensor value = loss();
    std::vector<Gradient> gradients = tape.sparse_gradient(value, variables, options.grad_loss);
    std::vector<GradientAndVariable> result;
    for (size_t i = 0; i < variables.size(); ++i) result.push_back({std::move(gradients[i]), variables[i]});
    return result;
  });
}

Operation Optimizer::apply_gradients(std::span<const GradientAndVariable> gradients,
                                     const ApplyGradientsOptions& options, std::source_location where) {
  return from_caller(where, [&] {
    std::vector<Variable> variables;
    std::unordered_set<int64_t> seen;
    bool any = false;
    for (const auto& [g, v] : gradients) {
      if (v.defined() && !seen.insert(v.handle().id()).second) {
        invalid("apply_gradients: expected each variable once, got '{}' again", v.name());
      }
      variables.push_back(v);
      any = any || g.defined();
    }
    if (!any) invalid("apply_gradients: expected a gradient for at least one variable, got none");
    adopt(variables);
    std::vector<Gradient> all(variables_.size());
    for (const auto& [g, v] : gradients) all[index_of(v)] = g;
    expect_gradients_fit(variables_, all);
    if (!is_graph_by_hand()) {
      run_step(all, options.global_step);
      return Operation();
    }
    const CollectEffects steps;
    run_step(all, options.global_step);
    const Operation train = group(steps.operations(), options.name);
    add_to_collection("train_op", {train});
    return train;
  });
}

Operation Optimizer::minimize(const Tensor& loss, std::string_view name, std::source_location where) {
  return minimize(loss, MinimizeOptions{.name = std::string(name)}, where);
}

Operation Optimizer::apply_computed(const std::vector<GradientAndVariable>& gradients, const MinimizeOptions& options,
                                    const std::source_location& where) {
  if (std::ranges::none_of(gradients, [](const GradientAndVariable& g) { return g.gradient.defined(); })) {
    invalid("minimize: expected a loss that depends on a variable of the optimizer, got one that does not");
  }
  return apply_gradients(gradients, {.global_step = options.global_step, .name = options.name}, where);
}

Operation Optimizer::minimize(const Tensor& loss, const MinimizeOptions& options, std::source_location where) {
  return from_caller(where, [&] {
    const ComputeGradientsOptions computing{.var_list = options.var_list, .grad_loss = options.grad_loss};
    return apply_computed(compute_gradients(loss, computing, where), options, where);
  });
}

Operation Optimizer::minimize(const Callable<Tensor()>& loss, const MinimizeOptions& options,
                              std::source_location where) {
  return from_caller(where, [&] {
    const ComputeGradientsOptions computing{.var_list = options.var_list, .grad_loss = options.grad_loss};
    return apply_computed(compute_gradients(loss, computing, where), options, where);
  });
}

}  // namespace panto
