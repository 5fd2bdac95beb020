// One traced signature: a graph with inputs, captures, outputs and effects, and the ways to call it. Internal.
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
    std::string variant;                 // of arguments' lengths and keys: detail::CallStructure
    std::shared_ptr<const void> result;  // the structure of what the function gave
    std::shared_ptr<NodeStates> states;  // what nodes keep between runs, however they are compiled
  };
  explicit ConcreteFunction(Parts parts);

  const Parts& parts() const { return parts_; }
  using Arguments = std::span<const Tensor* const>;
  size_t num_outputs() const { return parts_.outputs.size(); }
  // Runs, records, or becomes part of an outer trace, as the recorders on this thread's stack ask. `passes` as in
  // Function::set_optimizer; `outputs`: num_outputs() undefined handles, to be set. Throws InvalidArgument for
  // arguments that do not fit the specs.
  void call(Arguments args, const std::string& passes, std::span<Tensor> outputs);
  // The calls of the ops that it is made of, after a check of what is not known yet of the arguments' shapes: the ops
  // were chosen for those that the specs say.
  void inline_checked(Arguments args, std::span<Tensor> outputs) const;
  // Without the check.
  void inline_call(Arguments args, std::span<Tensor> outputs) const;
  struct Gradient;  // trace/concrete_gradient.h
  // Made once. `higher_orders`: tapes may hear of the gradient.
  std::shared_ptr<Gradient> gradient(bool higher_orders);
  // The graph with captures replaced by their values, without what the outputs do not need; it says which its inputs
  // and outputs are.
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

  // What a call's ops are replayed from.
  struct Inlined {
    Graph graph;
    std::vector<int> nodes;  // what a call runs, inputs first
  };
  // `orders`: how often conditionals and loops on a way from inputs to outputs can be differentiated as they are,
  // beyond what gradients in the graph read of them.
  const Inlined& inlined(int orders) const;

  Parts parts_;
  const std::vector<NodeOutput> all_inputs_;  // arguments_and_captures()
  FunctionPlans plans_;
  bool draws_numbers_ = false;    // a node of it is random
  bool calls_functions_ = false;  // a node of it is a conditional, a loop or a call
  mutable std::mutex inlined_mutex_;
  mutable std::map<int, Inlined> inlined_;  // by `orders`
  std::mutex mutex_;
  std::shared_ptr<Gradient> gradients_[2];  // of first order, and for higher ones
};

using ConcretePtr = std::shared_ptr<ConcreteFunction>;

// A Function of one signature.
Function function_of(ConcretePtr only);

// What nodes of a new function keep between runs.
inline std::shared_ptr<NodeStates> new_states() { return std::make_shared<NodeStates>(NodeStates::Identity::kOrder); }

// By id: the nodes that `roots` are or need, not looking behind the nodes in `stop`.
std::vector<uint8_t> reach(const Graph& graph, std::vector<int> roots, const std::vector<uint8_t>& stop);
// The part of `graph` that computes `outputs` from `cuts`: a graph of its own in which every cut is a Placeholder.
// `inputs` and `results` are set to where cuts and outputs are in it.
Graph extract(const Graph& graph, std::span<const NodeOutput> cuts, std::span<const NodeOutput> outputs,
              std::vector<NodeOutput>& inputs, std::vector<NodeOutput>& results);

}  // namespace panto
