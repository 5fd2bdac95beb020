#include "panto/nn/training/loop/step_function.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/caller.h"

namespace panto::loop {
namespace {

bool fits(const TensorSpec& spec, const Tensor& t) {
  return spec.dtype == t.dtype() && spec.shape.compatible_with(t.partial_shape());
}

std::vector<TensorSpec> exactly(std::span<const Tensor> inputs) {
  std::vector<TensorSpec> specs;
  for (const Tensor& t : inputs) specs.emplace_back(t.dtype(), t.partial_shape());
  return specs;
}

// Specs that leave the batch size open, and further dimensions in which the previous trace differs.
std::vector<TensorSpec> loosely(std::span<const Tensor> inputs, const std::vector<TensorSpec>* before) {
  std::vector<TensorSpec> specs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape& shape = inputs[i].shape();
    const PartialShape* old = before != nullptr && i < before->size() ? &(*before)[i].shape : nullptr;
    std::vector<int64_t> dims;
    for (int k = 0; k < shape.rank(); ++k) {
      const bool changes = k == 0 || (old != nullptr && old->rank() == shape.rank() && old->dim(k) != shape[k]);
      dims.push_back(changes ? kUnknownDim : shape[k]);
    }
    specs.emplace_back(inputs[i].dtype(), PartialShape(dims));
  }
  return specs;
}

}  // namespace

StepFunction::StepFunction(const char* what, TensorFunction step, bool traced)
    : what_(what), step_(std::move(step)), traced_(traced) {}

const Function* StepFunction::find(std::span<const Tensor> inputs) const {
  for (const Trace& trace : traces_ | std::views::reverse) {
    if (std::ranges::equal(trace.specs, inputs, fits)) return &trace.function;
  }
  return nullptr;
}

const Function* StepFunction::make(std::vector<TensorSpec> specs) {
  const std::source_location* where = current_caller();
  Function function = make_traced(step_, specs, where != nullptr ? *where : std::source_location::current());
  return &traces_.emplace_back(std::move(specs), std::move(function)).function;
}

std::vector<Tensor> StepFunction::operator()(std::span<const Tensor> inputs) {
  if (!traced_ || !not_traced_.empty()) return step_(inputs);
  const Function* function = find(inputs);
  std::string reason;
  if (function == nullptr) {
    try {
      function = make(loosely(inputs, traces_.empty() ? nullptr : &traces_.back().specs));
    } catch (const Error&) {
      try {
        function = make(exactly(inputs));
      } catch (const Error& error) {
        if (error.code() == Code::kCancelled) throw;
        reason = error.message();
      }
    }
  }
  if (function != nullptr) return function->call(inputs);
  // If the step also fails eagerly, that error is the relevant one.
  std::vector<Tensor> results = step_(inputs);
  not_traced_ = reason;
  log_warn(fmt::format("{}: steps are not traced and run eagerly: {}", what_, reason));
  return results;
}

}  // namespace panto::loop
