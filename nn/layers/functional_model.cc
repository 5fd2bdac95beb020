#include "panto/nn/layers/functional_model.h"

#include <algorithm>
#include <atomic>
#include <map>

#include "panto/lib/base/text/format.h"
#include "panto/lib/ops/operators.h"
#include "panto/nn/layers/core/merge.h"
#include "panto/trace/trace.h"

namespace panto {

struct LayerNode::Impl {
  int64_t number;  // larger than the numbers of the nodes it depends on
  PartialShape shape = {};
  DType dtype = DType::kInvalid;
  std::shared_ptr<const Layer> layer = nullptr;  // a layer of one input
  Function function = nullptr;                   // used without a layer; an input has neither
  std::vector<LayerNode> from = {};

  static int64_t next_number() {
    static constinit std::atomic<int64_t> last{0};
    return ++last;
  }
  Tensor of(std::span<const Tensor> x) const { return layer ? (*layer)(x[0]) : function(x); }
  // Infers the node's shape and dtype by a trace.
  static LayerNode made(Impl impl) {
    std::vector<TensorSpec> specs;
    for (const LayerNode& node : impl.from) specs.emplace_back(node.dtype(), node.shape());
    trace(
        [&](std::span<const Tensor> x) {
          Tensor y = impl.of(x);
          impl.shape = y.partial_shape();
          impl.dtype = y.dtype();
          return y;
        },
        specs);
    return LayerNode(std::make_shared<const Impl>(std::move(impl)));
  }
};

const PartialShape& LayerNode::shape() const { return impl_->shape; }
DType LayerNode::dtype() const { return impl_->dtype; }

static PartialShape with_batch(const PartialShape& shape) {
  if (!shape.known_rank()) invalid("ModelInput: expected a shape of known rank, got {}", shape.to_string());
  std::vector<int64_t> dims = {kUnknownDim};
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  return PartialShape(dims);
}

ModelInput::ModelInput(const PartialShape& shape, DType dtype)
    : LayerNode(std::make_shared<const Impl>(Impl::next_number(), with_batch(shape), dtype)) {}

LayerNode apply_layer(const LayerNode& x, std::shared_ptr<const Layer> layer) {
  return LayerNode::Impl::made({.number = LayerNode::Impl::next_number(), .layer = std::move(layer), .from = {x}});
}

LayerNode merge(const std::vector<LayerNode>& nodes, LayerNode::Function function) {
  if (nodes.empty()) invalid("merge: expected at least one node, got none");
  return LayerNode::Impl::made(
      {.number = LayerNode::Impl::next_number(), .function = std::move(function), .from = nodes});
}

namespace {
template <Tensor (*F)(const ArgList&)>
LayerNode merged_by(const std::vector<LayerNode>& nodes) {
  return merge(nodes, [](std::span<const Tensor> t) { return F(std::vector<Tensor>(t.begin(), t.end())); });
}
}  // namespace

LayerNode add(const std::vector<LayerNode>& nodes) { return merged_by<add>(nodes); }
LayerNode multiply(const std::vector<LayerNode>& nodes) { return merged_by<multiply>(nodes); }
LayerNode average(const std::vector<LayerNode>& nodes) { return merged_by<average>(nodes); }
LayerNode maximum(const std::vector<LayerNode>& nodes) { return merged_by<maximum>(nodes); }
LayerNode minimum(const std::vector<LayerNode>& nodes) { return merged_by<minimum>(nodes); }
LayerNode concatenate(const std::vector<LayerNode>& nodes, int64_t axis) {
  return merge(
      nodes, [axis](std::span<const Tensor> t) { return concatenate(std::vector<Tensor>(t.begin(), t.end()), axis); });
}
LayerNode operator+(const LayerNode& a, const LayerNode& b) {
  return merge({a, b}, [](std::span<const Tensor> t) { return t[0] + t[1]; });
}
LayerNode operator-(const LayerNode& a, const LayerNode& b) {
  return merge({a, b}, [](std::span<const Tensor> t) { return t[0] - t[1]; });
}
LayerNode operator*(const LayerNode& a, const LayerNode& b) {
  return merge({a, b}, [](std::span<const Tensor> t) { return t[0] * t[1]; });
}

FunctionalModel::FunctionalModel(const LayerNode& input, const LayerNode& output)
    : FunctionalModel(std::vector<LayerNode>{input}, std::vector<LayerNode>{output}) {}

FunctionalModel::FunctionalModel(std::vector<LayerNode> inputs, std::vector<LayerNode> outputs)
    : inputs_(std::move(inputs)), outputs_(std::move(outputs)) {
  if (inputs_.empty() || outputs_.empty())
    invalid("FunctionalModel: expected inputs and outputs, got none of one of them");
  std::map<int64_t, LayerNode> reached;
  std::vector<LayerNode> open = outputs_;
  while (!open.empty()) {
    const LayerNode node = open.back();
    open.pop_back();
    const bool given = std::ranges::any_of(inputs_, [&](const LayerNode& in) { return in.impl_ == node.impl_; });
    if (given || !reached.emplace(node.impl_->number, node).second) continue;
    if (node.impl_->from.empty()) {
      invalid("FunctionalModel: expected all inputs that the outputs need, got none for a ModelInput of {}{}",
              dtype_name(node.dtype()), node.shape().to_string());
    }
    open.insert(open.end(), node.impl_->from.begin(), node.impl_->from.end());
  }
  for (auto& [number, node] : reached) order_.push_back(node);
}

std::vector<Tensor> FunctionalModel::run(const std::vector<Tensor>& inputs) const {
  if (inputs.size() != inputs_.size()) {
    invalid("FunctionalModel: expected {} inputs, got {}", inputs_.size(), inputs.size());
  }
  std::map<int64_t, Tensor> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const LayerNode& in = inputs_[i];
    if (inputs[i].dtype() != in.dtype() || !inputs[i].partial_shape().compatible_with(in.shape())) {
      invalid("FunctionalModel: expected input {} to be {}{}, got {}{}", i, dtype_name(in.dtype()),
              in.shape().to_string(), dtype_name(inputs[i].dtype()), inputs[i].partial_shape().to_string());
    }
    values.insert_or_assign(in.impl_->number, inputs[i]);
  }
  for (const LayerNode& node : order_) {
    std::vector<Tensor> from;
    for (const LayerNode& in : node.impl_->from) from.push_back(values.at(in.impl_->number));
    values.insert_or_assign(node.impl_->number, node.impl_->of(from));
  }
  std::vector<Tensor> outputs;
  for (const LayerNode& out : outputs_) outputs.push_back(values.at(out.impl_->number));
  return outputs;
}

Tensor FunctionalModel::forward(const Tensor& x) const {
  if (inputs_.size() != 1 || outputs_.size() != 1) {
    invalid("FunctionalModel: expected `model.run({{...}})` for {} inputs and {} outputs, got a call of one tensor",
            inputs_.size(), outputs_.size());
  }
  return run({x})[0];
}

Parts FunctionalModel::parts() const {
  std::vector<std::shared_ptr<const Layer>> layers;
  for (const LayerNode& node : order_) {
    if (node.impl_->layer) layers.push_back(node.impl_->layer);
  }
  return Parts(layers);
}

}  // namespace panto
