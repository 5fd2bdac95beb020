#include "panto/lib/graph/node_builder.h"

#include <utility>
#include <vector>

#include "panto/lib/base/mistakes.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/infer.h"
#include "panto/lib/graph/nodes.h"

namespace panto {
namespace {

// The abstract value of an output, inferred from its node alone: the value of a constant, the object behind a handle.
Tensor abstract_value(const Graph& graph, NodeOutput output) {
  const Node& node = graph.at(output.node);
  if (node.num_inputs() == 0 && !node.is(OpKind::kPlaceholder)) {
    Inference inference(graph);
    inference.run(node);
    return inference.at(output);
  }
  return meta_tensor(graph.info(output).dtype, graph.info(output).shape);
}

}  // namespace

struct NodeBuilder::Impl {
  Impl(Graph& g, std::string_view op_name) : graph(g) {
    mistakes.noted("", [&] { spec.op = &get_op(op_name); });
  }

  Graph& graph;
  NodeSpec spec;
  Mistakes mistakes;
};

NodeBuilder::NodeBuilder(Graph& graph, std::string_view op, std::string_view name)
    : impl_(std::make_unique<Impl>(graph, op)) {
  impl_->spec.name = name.empty() ? graph.unique_name(op) : std::string(name);
}
NodeBuilder::~NodeBuilder() = default;
NodeBuilder::NodeBuilder(NodeBuilder&&) noexcept = default;

NodeBuilder& NodeBuilder::input(NodeOutput from) {
  impl_->mistakes.noted("", [&] {
    const Node& node = impl_->graph.at(from.node);
    if (from.index < 0 || from.index >= node.num_outputs()) {
      failf(Code::kOutOfRange, "output of node '{}': expected 0 to {}, got {}", node.name(), node.num_outputs() - 1,
            from.index);
    }
    impl_->spec.inputs.push_back(from);
  });
  return *this;
}

NodeBuilder& NodeBuilder::input(std::string_view from) {
  impl_->mistakes.noted("", [&] { impl_->spec.inputs.push_back(impl_->graph.output(from)); });
  return *this;
}

NodeBuilder& NodeBuilder::control_input(std::string_view node) {
  impl_->mistakes.noted("", [&] { impl_->spec.control_inputs.push_back(impl_->graph.at(node).id()); });
  return *this;
}

NodeBuilder& NodeBuilder::attr(std::string_view name, AttrValue value) {
  if (impl_->spec.op != nullptr) {
    impl_->mistakes.noted("", [&] { put_attr(*impl_->spec.op, name, std::move(value), impl_->spec.attrs); });
  }
  return *this;
}

NodeBuilder& NodeBuilder::device(std::string_view name) {
  impl_->spec.device = name;
  return *this;
}

NodeOutput NodeBuilder::build() {
  Impl& impl = *impl_;
  NodeOutput result;
  // While an input is missing, inference would report false errors.
  if (impl.mistakes.empty()) {
    impl.mistakes.noted("", [&] {
      std::vector<Tensor> values;
      for (const NodeOutput& input : impl.spec.inputs) values.push_back(abstract_value(impl.graph, input));
      std::vector<const Tensor*> inputs;
      for (const Tensor& value : values) inputs.push_back(&value);
      impl.spec.attrs.resize(impl.spec.op->signature().attrs.size());
      const AbstractValues outputs = infer_call(*impl.spec.op, inputs, impl.spec.attrs);
      impl.spec.outputs.clear();
      for (const Tensor& output : outputs) impl.spec.outputs.push_back(info_of(output));
      result = {impl.graph.add(impl.spec), 0};
    });
  }
  impl.mistakes.check(fmt::format("node '{}'", printable(impl.spec.name)));
  return result;
}

}  // namespace panto
