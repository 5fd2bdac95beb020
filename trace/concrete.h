// One traced signature: a graph with inputs, captures, outputs and effects, and the ways to call it. Internal.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "panto/lib/graph/graph.h"
#include "panto/lib/runtime/executable.h"
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
  };
  explicit ConcreteFunction(Parts parts) : parts_(std::move(parts)) {}

  const Parts& parts() const { return parts_; }
  // Runs, records, or becomes part of an outer trace, as the recorders on this thread's stack ask. `passes` as in
  // Function::set_optimizer.
  std::vector<Tensor> call(std::span<const Tensor> args, const std::string& passes);
  // The graph with captures replaced by their values, without what the outputs do not need.
  Graph frozen() const;

 private:
  struct Gradient;
  struct Backward;
  // What is compiled for the shapes of one call.
  struct Compiled {
    std::string passes;
    std::vector<PartialShape> shapes;
    std::shared_ptr<Executable> executable;
  };

  void check_arguments(std::span<const Tensor> args) const;
  std::vector<Tensor> inline_call(std::span<const Tensor> args) const;
  std::vector<Tensor> run(std::span<const Tensor> args, const std::string& passes, std::span<const NodeOutput> fetches,
                          std::vector<Compiled>& cache);
  std::vector<Tensor> taped_call(std::span<const Tensor> args, const std::string& passes);
  std::shared_ptr<Gradient> gradient(bool higher_orders);
  Backward make_backward(std::span<const NodeOutput> outputs, std::span<const NodeOutput> inputs) const;

  Parts parts_;
  std::mutex mutex_;
  std::vector<Compiled> compiled_;
  std::shared_ptr<Gradient> gradients_[2];  // of first order, and for higher ones
};

// The part of `graph` that computes `outputs` from `cuts`: a graph of its own in which every cut is a Placeholder.
// `inputs` and `results` are set to where cuts and outputs are in it.
Graph extract(const Graph& graph, std::span<const NodeOutput> cuts, std::span<const NodeOutput> outputs,
              std::vector<NodeOutput>& inputs, std::vector<NodeOutput>& results);

}  // namespace panto
