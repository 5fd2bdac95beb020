// ConcreteFunction: one traced signature of a function: a graph with inputs, captures, outputs and effects, and the
// ways to call it. Internal.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/graph/graph.h"
#include "panto/lib/runtime/executable.h"
#include "panto/lib/runtime/plan/function_plans.h"
#include "panto/trace/function.h"
#include "panto/trace/tracer.h"

namespace panto {

class ConcreteFunction : public std::enable_shared_from_this<ConcreteFunction> {
 public:
  struct Parts {
    Graph graph;
    std::vector<NodeOutput> inputs;  // Placeholders
    std::vector<TensorSpec> specs;   // by input
    std::vector<Capture> captures;
    std::vector<NodeOutput> outputs;
    std::vector<int> effects;  // nodes that every run must reach
    std::vector<std::string> baked;
    std::string variant;                 // lengths and keys of arguments: detail::CallStructure
    std::shared_ptr<const void> result;  // the structure of the function's result
    std::shared_ptr<NodeStates> states;  // node states, shared by all plans
  };
  explicit ConcreteFunction(Parts parts);

  const Parts& parts() const { return parts_; }
  using Arguments = std::span<const Tensor* const>;
  size_t num_outputs() const { return parts_.outputs.size(); }
  // Runs the function, records it, or makes it part of an outer trace, as this thread's recorders require. `passes` as
  // in Function::set_optimizer; `outputs`: num_outputs() undefined tensors, to be set. Throws InvalidArgument for
  // arguments that do not fit the specs.
  void call(Arguments args, const std::string& passes, std::span<Tensor> outputs);
  // Calls the ops that the function consists of. First checks at run time that argument shapes match the specs where
  // that is not known yet, as the ops were chosen for the shapes of the specs.
  void inline_checked(Arguments args, std::span<Tensor> outputs) const;
  // The same without the check.
  void inline_call(Arguments args, std::span<Tensor> outputs) const;
  struct Gradient;  // trace/concrete_gradient.h
  // Returns the gradient, which is made once. `higher_orders`: whether tapes may record and differentiate the gradient.
  std::shared_ptr<Gradient> gradient(bool higher_orders);
  // Returns the graph with captures replaced by their values, without nodes that the outputs do not need. The graph
  // records its inputs and outputs.
  Graph frozen() const;

 private:
  class FunctionBackward;
  struct Backward;
  void check_arguments(Arguments args) const;
  bool is_transformed(Arguments args) const;
  void run(Arguments args, const std::string& passes, std::span<Tensor> outputs);
  void run_with_captures(Arguments args, const std::string& passes, std::span<Tensor> outputs);
  void taped_call(Arguments args, const std::string& passes, std::span<Tensor> outputs);
  std::vector<NodeOutput> arguments_and_captures() const;
  Backward make_backward(const Graph& graph, std::span<const NodeOutput> outputs, std::span<const uint8_t> seeded,
                         std::span<const uint8_t> needed, bool* stopped) const;

  // The graph from which a call's ops are replayed.
  struct Inlined {
    Graph graph;
    std::vector<int> nodes;  // nodes that a call runs, in order
  };
  // `orders`: how many times conditionals and loops on paths from inputs to outputs are prepared for differentiation
  // (make_ready_for_gradients).
  const Inlined& inlined(int orders) const;

  Parts parts_;
  const std::vector<NodeOutput> all_inputs_;  // arguments_and_captures()
  FunctionPlans plans_;
  bool draws_numbers_ = false;    // a node is random
  bool calls_functions_ = false;  // a node is a conditional, a loop or a call
  mutable std::mutex inlined_mutex_;
  mutable std::map<int, Inlined> inlined_;  // by `orders`
  std::mutex mutex_;
  std::shared_ptr<Gradient> gradients_[2];  // [0]: first order only; [1]: for higher orders
};

using ConcretePtr = std::shared_ptr<ConcreteFunction>;

// Wraps one signature as a Function.
Function function_of(ConcretePtr only);

// Node states for a new function.
inline std::shared_ptr<NodeStates> new_states() { return std::make_shared<NodeStates>(NodeStates::Identity::kOrder); }

// By node id: whether `roots` contain or need the node, without following the inputs of nodes in `stop`.
std::vector<uint8_t> reach(const Graph& graph, std::vector<int> roots, const std::vector<uint8_t>& stop);
// Extracts the part of `graph` that computes `outputs` from `cuts`, as a new graph in which every cut is a Placeholder.
// Sets `inputs` and `results` to the cuts and outputs in the new graph.
Graph extract(const Graph& graph, std::span<const NodeOutput> cuts, std::span<const NodeOutput> outputs,
              std::vector<NodeOutput>& inputs, std::vector<NodeOutput>& results);

}  // namespace panto
