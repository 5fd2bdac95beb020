// Shapes over whole graphs: each op's own shape function, run on stand-ins for values that are not there yet.
//
// A stand-in is a META tensor: dtype, what is known of the shape, values of small integers, what a handle refers to.
// For a constant it is the constant. Internal.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "panto/lib/base/small_vector.h"
#include "panto/lib/core/call.h"
#include "panto/lib/graph/graph.h"

namespace panto {

using StandIns = SmallVector<Tensor, 1>;

// Stand-ins for the outputs of a call. `attrs`, by signature position, may lack inferred and defaulted ones: they are
// filled in. Throws what the dispatcher would throw for such a call, with the same context.
StandIns infer_call(const Op& op, std::span<const Tensor* const> inputs, std::vector<AttrValue>& attrs);
// The same of attributes that are all set.
StandIns infer_call(const Op& op, std::span<const Tensor* const> inputs, std::span<const AttrValue> attrs);

class Inference {
 public:
  explicit Inference(const Graph& graph) : graph_(graph) {}
  Inference(const Inference&) = delete;
  Inference& operator=(const Inference&) = delete;

  // Gives an output its stand-in, instead of what its node would say: a fed tensor, or a symbolic one of that shape.
  void set(NodeOutput output, Tensor stand_in);
  // Infers a node whose inputs are done; does nothing where all its outputs are set. Errors name the node and its line.
  void run(const Node& node);
  const Tensor& at(NodeOutput output) const {
    return stand_ins_[static_cast<size_t>(output.node)][static_cast<size_t>(output.index)];
  }
  bool has(NodeOutput output) const {
    const auto node = static_cast<size_t>(output.node);
    return node < stand_ins_.size() && static_cast<size_t>(output.index) < stand_ins_[node].size() &&
           at(output).defined();
  }
  std::vector<OutputInfo> infos(const Node& node) const;

 private:
  const Graph& graph_;
  std::vector<StandIns> stand_ins_;  // by node id
};

// Fills in the outputs of every node, merging nothing: what the shape functions say is what is known.
// Throws InvalidArgument where types or shapes do not fit, naming the node.
PANTO_EXPORT void infer_shapes(Graph& graph);

OutputInfo info_of(const Tensor& stand_in);
// "node 'mm' at train.cc:12", for error context.
std::string node_context(const Node& node);

}  // namespace panto
