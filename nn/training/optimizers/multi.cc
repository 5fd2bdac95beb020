#include "panto/nn/training/optimizers/multi.h"

#include <algorithm>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/ops/create.h"
#include "panto/ops/strings.h"

namespace panto {
namespace {

bool fits(const std::string& name, const std::string& pattern) {
  const RecorderPause unheard;
  return regex_full_match(tensor(name), tensor(pattern)).item<bool>();
}

// A dummy rate: each optimizer has its own. Being a function, it makes the optimizer count steps, as Keras does.
Schedule no_rate() {
  return [](const Tensor&) { return tensor(0.F); };
}

}  // namespace

OptimizerMap::OptimizerMap(Optimizer& others) : others_(&others) {}

OptimizerMap& OptimizerMap::add(std::string pattern, Optimizer& optimizer) {
  const auto [at, fresh] = by_pattern_.try_emplace(std::move(pattern), &optimizer);
  if (!fresh) invalid("optimizers: expected each pattern once, got '{}' again", at->first);
  return *this;
}

Optimizer& OptimizerMap::operator()(const Variable& variable) const {
  const auto exact = by_pattern_.find(variable.name());
  if (exact != by_pattern_.end()) return *exact->second;
  const std::pair<const std::string, Optimizer*>* found = nullptr;
  for (const auto& entry : by_pattern_) {
    if (!fits(variable.name(), entry.first)) continue;
    if (found != nullptr) {
      invalid("optimizers: expected one pattern that fits '{}', got '{}' and '{}'", variable.name(), found->first,
              entry.first);
    }
    found = &entry;
  }
  return found == nullptr ? *others_ : *found->second;
}

MultiOptimizer::MultiOptimizer(std::vector<Variable> variables, OptimizerChoice choice)
    : Optimizer(given(std::move(variables)), no_rate()), choice_(std::move(choice)) {
  build();
}

MultiOptimizer::MultiOptimizer(OptimizerChoice choice) : Optimizer({}, no_rate()), choice_(std::move(choice)) {}

size_t MultiOptimizer::number_of(Optimizer& optimizer) {
  const auto at = std::ranges::find(optimizers_, &optimizer);
  if (at != optimizers_.end()) return static_cast<size_t>(at - optimizers_.begin());
  if (dynamic_cast<MultiOptimizer*>(&optimizer) != nullptr) {
    invalid("optimizers: expected optimizers of variables, got a MultiOptimizer");
  }
  if (!optimizer.variables().empty() || !optimizer.of_graph_) {
    invalid("optimizers: expected some that are made without variables, got one that has some");
  }
  optimizers_.push_back(&optimizer);
  return optimizers_.size() - 1;
}

void MultiOptimizer::create_slots(const std::vector<Variable>& variables) {
  std::vector<std::vector<Variable>> own(optimizers_.size());
  for (const Variable& v : variables) {
    const size_t k = number_of(choice_(v));
    chosen_.resize(std::max(chosen_.size(), index_of(v) + 1));
    chosen_[index_of(v)] = k;
    own.resize(optimizers_.size());
    own[k].push_back(v);
  }
  for (size_t k = 0; k < own.size(); ++k) {
    if (!own[k].empty()) optimizers_[k]->build(own[k]);
  }
  for (const Variable& v : variables) {
    const Optimizer& optimizer = *optimizers_[chosen_[index_of(v)]];
    slots_[index_of(v)] = optimizer.slots_[optimizer.index_of(v)];
  }
  // Adds each optimizer's shared variables, which exist once it has variables.
  for (size_t k = 0; k < optimizers_.size(); ++k) {
    const Optimizer& optimizer = *optimizers_[k];
    const auto share = [&](const std::string& name, const Variable& variable, double initial) {
      const std::string numbered = fmt::format("{}_{}", name, k);
      if (variable.defined() && std::ranges::find(shared_, numbered, &Slot::name) == shared_.end()) {
        shared_.push_back({numbered, variable, initial});
      }
    };
    for (const Slot& slot : optimizer.shared_) share(slot.name, slot.variable, slot.initial);
    share("step", optimizer.step_, 0);
    share("learning_rate", optimizer.rate_, optimizer.schedule_.constant().value_or(0));
  }
}

void MultiOptimizer::prepare() {
  waiting_.clear();
  for (const Optimizer* optimizer : optimizers_) waiting_.emplace_back(optimizer->variables().size());
}

void MultiOptimizer::wait(Gradient gradient, const Variable& variable) {
  const size_t k = chosen_[index_of(variable)];
  waiting_[k][optimizers_[k]->index_of(variable)] = std::move(gradient);
}

void MultiOptimizer::apply_dense(const Tensor& gradient, const Variable& variable) {
  wait({.whole = gradient}, variable);
}
void MultiOptimizer::apply_sparse_duplicates(const Gradient& rows, const Variable& variable) { wait(rows, variable); }

void MultiOptimizer::finish() {
  const std::vector<std::vector<Gradient>> gradients = std::exchange(waiting_, {});
  for (size_t k = 0; k < gradients.size(); ++k) {
    if (std::ranges::any_of(gradients[k], &Gradient::defined)) optimizers_[k]->run_step(gradients[k], {});
  }
}

}  // namespace panto
