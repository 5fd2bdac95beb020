// Freezes a function: makes a graph without hidden inputs, for saving.
#include <algorithm>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/graph/functions/endpoints.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/graph/nodes.h"
#include "panto/lib/runtime/rewrite.h"
#include "panto/trace/concrete.h"

namespace panto {
namespace {

class Freezer {
 public:
  explicit Freezer(const ConcreteFunction::Parts& parts)
      : graph_(parts.graph), endpoints_{parts.inputs, parts.outputs, parts.effects} {}

  Graph run(std::span<const Capture> captures) {
    for (int id : endpoints_.effects) {
      if ((effects_of(graph_, {&id, 1}) & Effect::kWrites) == 0) continue;
      failf(Code::kFailedPrecondition,
            "freezing: expected a graph that only reads variables, got node '{}' that assigns", graph_.at(id).name());
    }
    drop_unneeded();  // first, as unneeded nodes may use variables in ways that cannot be frozen
    drop_gradient_rules();
    for (const Capture& c : captures) {
      const int input = c.input.node;
      if (graph_.find(input) == nullptr) continue;
      if (c.value.dtype() == kResource) {
        freeze_variable(input, c.value);
      } else {
        replace(input, constant(input, c.value.cpu()));
      }
    }
    drop_unneeded();
    endpoints_.outputs = separate_outputs(graph_, endpoints_.outputs);
    write_endpoints(graph_, endpoints_);
    return std::move(graph_);
  }

 private:
  // Keeps every input.
  void drop_unneeded() {
    std::vector<int> roots = endpoints_.effects;
    for (NodeOutput o : endpoints_.inputs) roots.push_back(o.node);
    for (NodeOutput o : endpoints_.outputs) roots.push_back(o.node);
    remove_dead(graph_, roots);
  }

  // Replaces _CustomGradient nodes by their values, as files cannot hold gradient rules.
  void drop_gradient_rules() {
    for (int id : graph_.topological_order()) {
      const Node& node = graph_.at(id);
      if (!node.is(OpKind::kCustomGradient)) continue;
      std::vector<NodeOutput> values;
      for (int k = 0; k < node.num_outputs(); ++k) values.push_back(node.input(k));
      for (size_t k = 0; k < values.size(); ++k) {
        std::ranges::replace(endpoints_.outputs, NodeOutput{id, static_cast<int>(k)}, values[k]);
      }
      replace_node(graph_, id, values);
    }
    drop_unneeded();
  }

  NodeOutput constant(int input, const Tensor& value) {
    return {graph_.add(const_spec(graph_.unique_name(graph_.at(input).name() + "/value"), value)), 0};
  }

  // Replaces a node with one output by a constant, which needs no control edges.
  void replace(int id, NodeOutput with) {
    replace_node(graph_, id, {&with, 1});
    const std::vector<NodeUse> uses(graph_.at(with.node).consumers().begin(), graph_.at(with.node).consumers().end());
    for (const NodeUse& use : uses) {
      if (use.slot == NodeUse::kControl) graph_.remove_control_input(use.node, with.node);
    }
    std::ranges::replace(endpoints_.outputs, NodeOutput{id, 0}, with);
  }

  // Replaces reads of the variable by its present value.
  void freeze_variable(int input, const Tensor& handle) {
    const NodeOutput value = constant(input, variable_of(handle).read().cpu());
    const std::vector<NodeUse> uses(graph_.at(input).consumers().begin(), graph_.at(input).consumers().end());
    for (const NodeUse& use : uses) {
      if (use.slot == NodeUse::kControl) continue;
      const Node& user = graph_.at(use.node);
      if (!user.is(OpKind::kReadVariable)) {
        failf(Code::kFailedPrecondition, "freezing: expected only reads of the whole variable '{}', got node '{}' ({})",
              graph_.at(input).name(), user.name(), user.op().name());
      }
      replace(use.node, value);
    }
  }

  Graph graph_;
  Endpoints endpoints_;
};

}  // namespace

Graph ConcreteFunction::frozen() const { return Freezer(parts_).run(parts_.captures); }

}  // namespace panto
