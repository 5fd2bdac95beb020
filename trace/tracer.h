// Tracer: the recorder that records calls as nodes of a graph. Internal: used by `trace`, `trace_with` and
// `GraphScope`.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/tensor/variable.h"
#include "panto/lib/graph/functions/replay.h"
#include "panto/lib/graph/graph.h"

namespace panto {

// A tensor from outside the trace that became a hidden input.
struct Capture {
  Tensor value;
  NodeOutput input;  // its Placeholder
};

// Returns a new symbolic tensor that stands for the output; undefined if the output is invalid.
Tensor symbol_of(Graph& graph, NodeOutput output);

class Tracer final : public Recorder, public VariableMaker, public ReplayWriter {
 public:
  struct Options {
    bool symbolic = true;
    // Order reads, writes and prints by control edges, and make them targets (a function). Off in a GraphScope, where
    // the user orders them (design decision 16).
    bool order_effects = true;
    // Real tensors become hidden inputs (a function) or Const nodes (a GraphScope).
    bool capture = true;
    // Variables may be created (a GraphScope).
    bool make_variables = false;
    // Symbolic tensors of a trace around this one become hidden inputs too (a branch, the body of a loop).
    bool captures_symbols = false;
  };
  Tracer(Graph& graph, const Options& options) : graph_(graph), options_(options) {}

  Graph& graph() const { return graph_; }
  const Options& options() const { return options_; }
  const std::vector<Capture>& captures() const { return captures_; }
  // Values that C++ code read, which became captures or constants: "train.cc:12: int32[]".
  const std::vector<std::string>& baked() const { return baked_; }

  // A new Placeholder node and the tensor that stands for it: symbolic, or `value` itself.
  Tensor add_input(DType dtype, const PartialShape& shape, const std::string& name, const Tensor& value = {});
  // The node output that a tensor stands for. Adds a Const or a capture for a tensor from outside. Throws
  // InvalidArgument for a symbolic tensor of another trace.
  NodeOutput output_of(const Tensor& t);
  // Ids of nodes whose effects a run must not lose: writes and prints recorded so far.
  const std::vector<int>& effects() const { return effects_; }
  // Sets the control inputs of nodes recorded from now on (ControlDependencies); returns the previous ones.
  std::vector<int> set_control_inputs(std::vector<int> ids) {
    control_inputs_.swap(ids);
    return ids;
  }
  const std::vector<int>& control_inputs() const { return control_inputs_; }
  int add_no_op(const std::string& name, std::vector<int> after);

  bool keeps(const Call&) override { return false; }
  bool reads_inputs() const override { return true; }
  void record(const Call& call) override;
  void record_custom(std::span<const Tensor> inputs, std::span<const Tensor> outputs,
                     std::shared_ptr<CustomBackward> backward) override;
  void name_value(const Tensor& value, std::string_view name) override;
  std::string scope_name(std::string wanted) override { return graph_.unique_scope(wanted); }
  void value_read(const Tensor& value, const std::source_location& where) override;
  bool inlines_functions() const override { return true; }
  bool symbolic() const override { return options_.symbolic; }
  bool makes_constants() const override { return !options_.capture; }
  Operation latest_operation() const override;
  int latest_node() const override { return latest_; }
  std::vector<int> wait_also(std::vector<int> nodes) override { return std::exchange(also_, std::move(nodes)); }
  void must_run(int node) override { effects_.push_back(node); }
  // Node `id` as an Operation.
  Operation operation(int id) const { return graph_.operation(id); }

  Variable make(const Tensor& initial, const PartialShape& shape, std::string_view name,
                const std::source_location& where) override;
  bool makes_variables() const override { return options_.make_variables; }

 private:
  // Gives the graph's seeds to a random node that has none.
  void give_seeds(NodeSpec& spec);
  // The accesses to one resource: the last write, and reads since.
  struct Access {
    int last_write = -1;
    std::vector<int> reads;
  };
  std::vector<int> order(const Call& call, std::span<const NodeOutput> inputs) const;
  void note_effects(const Call& call, std::span<const NodeOutput> inputs, int node);
  NodeOutput add_const(const Tensor& value);
  NodeOutput capture(const Tensor& value);

  Graph& graph_;
  Options options_;
  std::vector<Capture> captures_;
  std::vector<std::string> baked_;
  std::vector<int> effects_;
  std::vector<int> control_inputs_;
  std::vector<int> also_;  // further nodes that replayed calls wait for
  std::map<NodeOutput, Access> accesses_;
  int last_effect_ = -1;
  int latest_ = -1;  // node
};

}  // namespace panto
