#include "panto/trace/function_builder.h"

#include <algorithm>
#include <set>

#include "panto/lib/base/mistakes.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/graph/functions/endpoints.h"
#include "panto/lib/graph/infer.h"
#include "panto/lib/graph/nodes.h"

namespace panto {

class FunctionBuilder::Impl {
 public:
  explicit Impl(std::string name) : name_(std::move(name)) {}

  // Calls f(), which returns a node's id. If it throws, records the mistake and uses -1.
  template <class F>
  Value noted(const std::string& what, F&& f) {
    int id = -1;
    mistakes_.noted(what, [&] { id = f(); });
    return {id, 0};
  }

  std::string name_;
  Graph graph_;
  std::vector<AbstractValues> values_;  // by node id
  Mistakes mistakes_;
  Endpoints endpoints_;
  std::vector<std::string> outputs_;
  bool poisoned_ = false;  // an output is the result of a mistake
};

FunctionBuilder::FunctionBuilder(std::string name) : impl_(std::make_unique<Impl>(std::move(name))) {}
FunctionBuilder::~FunctionBuilder() = default;

FunctionBuilder::Value FunctionBuilder::input(std::string name, DType dtype, PartialShape shape) {
  return impl_->noted(fmt::format("input '{}'", printable(name)), [&] {
    const OutputInfo info{dtype, std::move(shape)};
    const int id = impl_->graph_.add(placeholder_spec(std::move(name), info));
    impl_->endpoints_.inputs.push_back({id, 0});
    impl_->values_.resize(static_cast<size_t>(id) + 1);
    impl_->values_.back() = {meta_tensor(info.dtype, info.shape)};
    return id;
  });
}

FunctionBuilder::Value FunctionBuilder::input(std::string name, DType dtype, std::initializer_list<Dim> dims) {
  return input(std::move(name), dtype, TensorSpec(dtype, dims).shape);
}

FunctionBuilder::Value FunctionBuilder::constant(const Tensor& value) {
  return impl_->noted("constant", [&] {
    if (!value.defined() || value.is_meta()) invalid("value: expected a tensor with values, got {}", value.to_string());
    const int id = impl_->graph_.add(const_spec(impl_->graph_.unique_name("Const"), value));
    impl_->values_.resize(static_cast<size_t>(id) + 1);
    impl_->values_.back() = {value};
    return id;
  });
}

FunctionBuilder::Value FunctionBuilder::node(std::string_view op_name, const std::vector<Value>& inputs,
                                             const Attrs& attrs, const NodeOptions& options) {
  Impl& impl = *impl_;
  const auto is_mistake = [](const Value& v) { return v.node_ < 0; };
  if (std::ranges::any_of(inputs, is_mistake) || std::ranges::any_of(options.after, is_mistake)) return {-1, 0};
  const std::string what = options.name.empty()
                               ? fmt::format("node {} ({})", impl.graph_.num_nodes(), printable(op_name))
                               : fmt::format("node '{}'", printable(options.name));
  return impl.noted(what, [&] {
    const Op& op = get_op(op_name);
    NodeSpec spec;
    spec.op = &op;
    spec.name = options.name.empty() ? impl.graph_.unique_name(op_name) : options.name;
    spec.device = options.device;
    std::vector<const Tensor*> values;
    for (const Value& in : inputs) {
      const AbstractValues& of = impl.values_[static_cast<size_t>(in.node_)];
      if (in.index_ < 0 || static_cast<size_t>(in.index_) >= of.size()) {
        invalid("input: expected an output of node '{}', which has {}, got number {}", impl.graph_.at(in.node_).name(),
                of.size(), in.index_);
      }
      spec.inputs.push_back({in.node_, in.index_});
      values.push_back(&of[static_cast<size_t>(in.index_)]);
    }
    for (const Value& before : options.after) spec.control_inputs.push_back(before.node_);
    spec.attrs.resize(op.signature().attrs.size());
    for (const auto& [name, value] : attrs) put_attr(op, name, value, spec.attrs);
    AbstractValues outputs = infer_call(op, values, spec.attrs);
    for (const Tensor& t : outputs) spec.outputs.push_back(info_of(t));
    const int id = impl.graph_.add(std::move(spec));
    impl.values_.resize(static_cast<size_t>(id) + 1);
    impl.values_.back() = std::move(outputs);
    if (op.has_effects()) impl.endpoints_.effects.push_back(id);
    return id;
  });
}

void FunctionBuilder::output(std::string name, Value value) {
  Impl& impl = *impl_;
  if (!Graph::is_valid_name(name) || std::ranges::find(impl.outputs_, name) != impl.outputs_.end()) {
    impl.mistakes_.note(fmt::format("output '{}': expected a name that is not taken", printable(name)));
  }
  impl.outputs_.push_back(std::move(name));
  if (value.node_ < 0) {
    impl.poisoned_ = true;
    return;
  }
  const size_t count = impl.values_[static_cast<size_t>(value.node_)].size();
  if (value.index_ < 0 || static_cast<size_t>(value.index_) >= count) {
    impl.mistakes_.note(fmt::format("output '{}': expected an output of node '{}', which has {}, got number {}",
                                    impl.outputs_.back(), impl.graph_.at(value.node_).name(), count, value.index_));
    return;
  }
  impl.endpoints_.outputs.push_back({value.node_, value.index_});
}

Function FunctionBuilder::build() const {
  const Impl& impl = *impl_;
  Mistakes mistakes = impl.mistakes_;
  if (impl.outputs_.empty() && impl.endpoints_.effects.empty()) {
    mistakes.note("outputs: expected at least one, or a node with effects, got none");
  }
  if (!mistakes.empty() || impl.poisoned_) mistakes.fail(fmt::format("function '{}'", printable(impl.name_)));
  Graph graph = impl.graph_;
  Endpoints endpoints = impl.endpoints_;
  endpoints.outputs = separate_outputs(graph, endpoints.outputs);
  for (size_t k = 0; k < endpoints.outputs.size(); ++k) {
    const int id = endpoints.outputs[k].node;
    if (graph.find(impl.outputs_[k]) == nullptr) graph.rename(id, impl.outputs_[k]);
  }
  write_endpoints(graph, endpoints);
  return function_of(std::move(graph));
}

std::string FunctionBuilder::to_string() const { return impl_->graph_.to_string(); }

}  // namespace panto
