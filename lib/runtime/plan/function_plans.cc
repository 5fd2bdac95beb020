#include "panto/lib/runtime/plan/function_plans.h"

#include <utility>

namespace panto {

void FunctionPlans::run_with_state(const Step& step, std::span<const Tensor* const> inputs, const std::string& passes,
                                   std::span<Tensor> outputs) {
  std::unique_ptr<Ready> ready = ready_.take(
      [&](const Ready& r) { return r.compiled->executable->accepts(inputs) && r.compiled->passes == passes; });
  if (ready == nullptr) {
    ready = std::make_unique<Ready>(compiled(step, inputs, passes));
    ready->state = ready->compiled->executable->new_state();
  }
  ready->compiled->executable->run(*ready->state, step, inputs, outputs);
  ready_.put(std::move(ready));
}

std::shared_ptr<const FunctionPlans::Compiled> FunctionPlans::compiled(const Step& step,
                                                                       std::span<const Tensor* const> inputs,
                                                                       const std::string& passes) {
  if (of_.check) of_.check(inputs);
  const std::lock_guard lock(mutex_);
  const auto* known = compiled_.find(
      [&](const std::shared_ptr<const Compiled>& c) { return c->passes == passes && c->executable->accepts(inputs); });
  if (known != nullptr) return *known;
  std::vector<ExecutableFeed> feeds;
  for (size_t i = 0; i < of_.inputs.size(); ++i) {
    feeds.push_back(feed_like(of_.inputs[i], *inputs[i]));
    if (i >= of_.inputs.size() - of_.fixed && inputs[i]->dtype() == kResource) feeds.back().handle = *inputs[i];
  }
  ExecutableOptions options = function_options(step, of_.planning.get(), of_.name);
  options.passes = passes;
  options.states = of_.states;
  options.device = of_.device;
  auto made = std::make_shared<const Compiled>(
      Compiled{passes, Executable::make(of_.graph, feeds, of_.outputs, of_.effects, options)});
  made->executable->check(inputs);
  if (stateless_ == nullptr && !made->executable->needs_state()) {
    stateless_ = made;
    stateless_ready_.store(stateless_.get(), std::memory_order_release);
  }
  compiled_.add(made);
  return made;
}

}  // namespace panto
