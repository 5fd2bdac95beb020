#include "panto/trace/control/traced_body.h"

#include <algorithm>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/graph/nodes.h"
#include "panto/trace/tracer.h"

namespace panto {
namespace {

class VariableMakerScope {
 public:
  explicit VariableMakerScope(VariableMaker* maker) noexcept : previous_(set_variable_maker(maker)) {}
  ~VariableMakerScope() { set_variable_maker(previous_); }
  VariableMakerScope(const VariableMakerScope&) = delete;
  VariableMakerScope& operator=(const VariableMakerScope&) = delete;

 private:
  VariableMaker* previous_;
};

// Whether two tensors can share one input: the same tensor, or handles of one resource.
bool same_value(const Tensor& a, const Tensor& b) {
  if (a.id() == b.id()) return true;
  if (a.dtype() != kResource || b.dtype() != kResource || a.is_meta() || b.is_meta()) return false;
  return *static_cast<const ResourceHandle*>(a.impl()->data) == *static_cast<const ResourceHandle*>(b.impl()->data);
}

// What is known of the resource that `t` refers to; null if nothing.
std::shared_ptr<const HandleInfo> handle_info(const Tensor& t) {
  if (t.is_meta()) return t.impl()->meta->handle;
  if (t.dtype() != kResource) return nullptr;
  const auto* variable =
      dynamic_cast<const VariableResource*>(static_cast<const ResourceHandle*>(t.impl()->data)->get());
  if (variable == nullptr) return nullptr;
  return std::make_shared<HandleInfo>(HandleInfo{variable->dtype(), variable->shape()});
}

}  // namespace

TracedBody trace_body(std::string name, std::span<const Tensor> arguments, const TensorFunction& fn) {
  TracedBody body;
  body.name = std::move(name);
  Tracer tracer(body.graph, {.captures_symbols = true});
  const RecorderPause outer;
  const RecorderScope recording(&tracer);
  const VariableMakerScope no_variables(&tracer);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Tensor& like = arguments[i];
    const Tensor symbol =
        meta_tensor(like.dtype(), like.partial_shape(), std::nullopt, body.graph.identity(), handle_info(like));
    inputs.push_back(tracer.add_input(like.dtype(), like.partial_shape(), fmt::format("arg_{}", i), symbol));
    body.endpoints.inputs.push_back(body.graph.output_of(inputs.back()));
  }
  const std::vector<Tensor> returned = fn(inputs);
  for (size_t k = 0; k < returned.size(); ++k) {
    if (!returned[k].defined()) invalid("output {}: expected a tensor, got an undefined handle", k);
    body.endpoints.outputs.push_back(tracer.output_of(returned[k]));
  }
  body.endpoints.effects = tracer.effects();
  for (const Capture& capture : tracer.captures()) {
    body.captures.push_back(capture.value);
    body.endpoints.inputs.push_back(capture.input);
  }
  return body;
}

std::vector<Tensor> share_captures(std::span<TracedBody> bodies) {
  std::vector<Tensor> all;
  for (const TracedBody& body : bodies) {
    for (const Tensor& t : body.captures) {
      if (std::ranges::none_of(all, [&](const Tensor& known) { return same_value(known, t); })) all.push_back(t);
    }
  }
  for (TracedBody& body : bodies) {
    std::vector<NodeOutput>& inputs = body.endpoints.inputs;
    const std::vector<NodeOutput> own(inputs.end() - static_cast<std::ptrdiff_t>(body.captures.size()), inputs.end());
    inputs.resize(inputs.size() - own.size());
    for (const Tensor& t : all) {
      const auto found = std::ranges::find_if(body.captures, [&](const Tensor& c) { return same_value(c, t); });
      if (found != body.captures.end()) {
        inputs.push_back(own[static_cast<size_t>(found - body.captures.begin())]);
      } else {
        inputs.push_back(
            {body.graph.add(placeholder_spec(body.graph.unique_name("unused"), {t.dtype(), t.partial_shape()})), 0});
      }
    }
    body.captures = all;
  }
  return all;
}

std::shared_ptr<const GraphFunction> function_of(TracedBody body) {
  return std::make_shared<const GraphFunction>(std::move(body.name), std::move(body.graph), std::move(body.endpoints));
}

}  // namespace panto
