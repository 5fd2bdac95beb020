// Shape inference over whole graphs: runs each op's shape function on abstract values, since real values are not
// computed.
//
// An abstract value is a META tensor: dtype, what is known of the shape, values of small integer tensors, and the
// object that a handle refers to. For a constant it is the constant. Internal.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/base/small_vector.h"
#include "panto/lib/core/call/call.h"
#include "panto/lib/graph/graph.h"

namespace panto {

using AbstractValues = SmallVector<Tensor, 1>;

// Infers the abstract outputs of a call. `attrs`, by signature position, may lack inferred and defaulted attributes:
// they are filled in. Throws what the dispatcher would throw for such a call, with the same context.
AbstractValues infer_call(const Op& op, std::span<const Tensor* const> inputs, std::vector<AttrValue>& attrs);
// The same if all attributes are set.
AbstractValues infer_call(const Op& op, std::span<const Tensor* const> inputs, std::span<const AttrValue> attrs);

class Inference {
 public:
  explicit Inference(const Graph& graph) : graph_(graph) {}
  Inference(const Inference&) = delete;
  Inference& operator=(const Inference&) = delete;

  // Sets the abstract value of an output, overriding its node's inference: for a fed tensor, or a symbolic one of its
  // shape.
  void set(NodeOutput output, Tensor abstract_value);
  // Infers a node whose inputs are inferred already; for a loop's back edge the graph's own information is used. Does
  // nothing if all its outputs are set. Errors name the node and its line.
  void run(const Node& node);
  const Tensor& at(NodeOutput output) const {
    return abstract_values_[static_cast<size_t>(output.node)][static_cast<size_t>(output.index)];
  }
  bool has(NodeOutput output) const {
    const auto node = static_cast<size_t>(output.node);
    return node < abstract_values_.size() && static_cast<size_t>(output.index) < abstract_values_[node].size() &&
           at(output).defined();
  }
  std::vector<OutputInfo> infos(const Node& node) const;

 private:
  void take_from_graph(const Node& node);

  const Graph& graph_;
  std::vector<AbstractValues> abstract_values_;  // by node id
};

// Infers the outputs of every node and stores dtypes and shapes in the graph, replacing what it had. In loops the
// result holds in every round. `given`: abstract values that override the inference of outputs. Throws InvalidArgument,
// naming the node, if types or shapes do not fit.
PANTO_EXPORT void infer_shapes(Graph& graph, std::span<const std::pair<NodeOutput, Tensor>> given = {});

OutputInfo info_of(const Tensor& abstract_value);
// "node 'mm' at train.cc:12", for error context.
std::string node_context(const Node& node);

}  // namespace panto
