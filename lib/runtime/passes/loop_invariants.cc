// Loop-invariant code motion: nodes in a While's functions that depend only on constants and on values that stay the
// same in all rounds are moved before the loop, which gets their outputs as further values.
//
// A loop may end before its first round; moved nodes are then computed in vain. So they must not be able to fail
// (`cannot_fail`), and may take at most kMaxFlops and kMaxBytes. Their outputs must not be larger than their inputs,
// except for matrix products and convolutions: a loop that reads more memory would not be faster.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "panto/lib/base/error.h"
#include "panto/lib/core/step/stop.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/infer.h"
#include "panto/lib/runtime/passes/functions.h"
#include "panto/lib/runtime/passes/rules.h"

namespace panto::passes {

namespace {

constexpr int64_t kMaxFlops = 100'000'000;
constexpr int64_t kMaxBytes = int64_t{64} << 20;

// Follows identities back to the output that they pass on.
NodeOutput behind_identities(const Graph& graph, NodeOutput output) {
  while (graph.at(output.node).has(Trait::kIdentity) && graph.at(output.node).control_inputs().empty()) {
    output = graph.at(output.node).input(output.index);
  }
  return output;
}

// Finds the loop-invariant nodes of one of the loop's functions.
class Invariants {
 public:
  // `values`: by input; undefined if the value changes from round to round.
  Invariants(const GraphFunction& function, const std::vector<Tensor>& values, DeviceKind kind,
             const std::string& device)
      : function_(function),
        graph_(function.graph()),
        inference_(graph_),
        kind_(kind),
        device_(device),
        needed_(static_cast<size_t>(graph_.id_limit())) {
    for (const int id : function.needed()) needed_[static_cast<size_t>(id)] = true;
    const std::vector<NodeOutput>& inputs = function.endpoints().inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!values[i].defined()) continue;
      inference_.set(inputs[i], values[i]);
      of_[inputs[i].node] = What::kInput;
    }
  }

  // Returns the nodes to be moved, in order.
  std::vector<int> find() {
    std::vector<int> moved;
    for (const int id : function_.needed()) {
      const Node& node = graph_.at(id);
      if (of_.contains(id) || !node.op().is_pure() || calls_functions(node.op()) || !node.control_inputs().empty()) {
        continue;
      }
      const auto known = [&](const NodeOutput& input) { return of_.contains(input.node); };
      if (!std::ranges::all_of(node.inputs(), known)) continue;
      try {
        inference_.run(node);
      } catch (const Error& error) {
        if (is_stop(error)) throw;
        continue;  // the loop reports it, if it gets there
      }
      if (node.is(OpKind::kConstant)) {
        of_[id] = What::kConstant;
      } else if (node.has(Trait::kIdentity)) {
        of_[id] = What::kIdentity;
      } else if (is_worth_it(node)) {
        of_[id] = What::kMoved;
        moved.push_back(id);
      }
    }
    return moved;
  }

  // Whether a node that stays in the loop reads that output.
  bool is_read_inside(NodeOutput output) const {
    const auto stays = [&](int id) {
      const auto found = of_.find(id);
      return found == of_.end() || found->second != What::kMoved;
    };
    const Endpoints& endpoints = function_.endpoints();
    return std::ranges::find(endpoints.outputs, output) != endpoints.outputs.end() ||
           std::ranges::any_of(graph_.at(output.node).consumers(), [&](const NodeUse& use) {
             return use.slot != NodeUse::kControl && use.output == output.index && stays(use.node) &&
                    needed_[static_cast<size_t>(use.node)];
           });
  }

  std::vector<OutputInfo> infos(const Node& node) const { return inference_.infos(node); }

 private:
  enum class What : uint8_t { kInput, kConstant, kIdentity, kMoved };

  bool is_worth_it(const Node& node) const {
    if (!node.device().empty() && node.device() != device_) return false;
    SmallVector<OutputInfo, 4> inputs;
    SmallVector<const Tensor*, 8> values;
    int64_t most = 0;
    bool varies = false;  // otherwise constant folding handles it
    for (const NodeOutput& input : node.inputs()) {
      values.push_back(&inference_.at(input));
      inputs.push_back(info_of(*values.back()));
      most = std::max(most, bytes_of(inputs.back()));
      varies = varies || !graph_.at(behind_identities(graph_, input).node).is(OpKind::kConstant);
    }
    const std::vector<OutputInfo> outputs = infos(node);
    const auto is_constant = [&](int slot) { return !inference_.at(node.input(slot)).is_meta(); };
    if (!varies || !cannot_fail(node, {inputs.data(), inputs.size()}, outputs, kind_, is_constant)) return false;
    for (const OutputInfo& output : outputs) {
      const int64_t bytes = bytes_of(output);
      if (bytes > kMaxBytes || (bytes > most && !node.has(Trait::kContraction))) return false;
    }
    return flops(node, values) <= kMaxFlops;
  }

  const GraphFunction& function_;
  const Graph& graph_;
  Inference inference_;
  DeviceKind kind_;
  const std::string& device_;
  std::vector<bool> needed_;  // by node
  std::map<int, What> of_;    // by node
};

class LoopMover {
 public:
  explicit LoopMover(PassContext& context) : context_(context), graph_(context.graph) {}

  int run() {
    for (const int id : graph_.ids()) {
      const Node& node = graph_.at(id);
      if (node.is(OpKind::kLoop) && node.op().is_pure() && context_.runs_once(id)) move(id);
    }
    return changes_;
  }

 private:
  // One of the loop's functions, and the values moved out of it.
  struct Part {
    std::shared_ptr<const GraphFunction> function;
    FunctionDraft draft;
    std::vector<std::pair<NodeOutput, NodeOutput>> taken;  // (output in the function, output before the loop)
  };

  void move(int id) {
    std::vector<Part> parts;
    bool all = true;
    for_each_function(graph_.at(id), [&](const FunctionRef& reference) {
      const std::shared_ptr<const GraphFunction> function = replaceable(reference);
      all = all && function != nullptr;
      if (function != nullptr) parts.push_back({function, FunctionDraft(*function), {}});
    });
    const auto body = std::ranges::find_if(parts, [&](const Part& part) {  // the condition has only one output
      return part.function == graph_.at(id).attr("body").as<FunctionRef>().body;
    });
    if (!all || parts.size() != 2 || body == parts.end() || parts[0].function == parts[1].function) return;
    const std::vector<Tensor> values = invariants(graph_.at(id), *body->function);
    if (std::ranges::none_of(values, &Tensor::defined)) return;
    for (Part& part : parts) move_part(id, part, values);
    std::vector<NodeOutput> before;
    for (Part& part : parts) {
      for (const auto& [inside, outside] : part.taken) {
        before.push_back(outside);
        for (Part& each : parts) {
          const OutputInfo& info = graph_.info(outside);
          const NodeOutput input = &each == &part ? each.draft.take_as_input(inside, info)
                                                  : each.draft.add_input(graph_.at(outside.node).name(), info);
          if (&each == &*body) each.draft.add_output(input);
        }
      }
    }
    if (before.empty()) return;
    NodeSpec spec = graph_.at(id).spec();
    spec.place = graph_.at(id).place();
    spec.name = free_name(graph_, spec.name);
    add_arguments(graph_, spec, before);
    replace_functions(spec.attrs, [&](const FunctionRef& reference) {
      return std::ranges::find_if(parts, [&](const Part& p) { return p.function == reference.body; })->draft.finish();
    });
    take_place_of_call(graph_, id, graph_.add(std::move(spec)));
  }

  // The abstract values of inputs that the body passes on unchanged; undefined for others.
  std::vector<Tensor> invariants(const Node& loop, const GraphFunction& body) const {
    const Endpoints& endpoints = body.endpoints();
    std::vector<Tensor> values(endpoints.inputs.size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (behind_identities(body.graph(), endpoints.outputs[i]) != endpoints.inputs[i]) continue;
      const NodeOutput outside = loop.input(static_cast<int>(i));
      const OutputInfo& info = graph_.info(outside);
      const Tensor* constant = constant_value(graph_, outside);
      if (is_plain(info.dtype)) values[i] = constant != nullptr ? *constant : meta_tensor(info.dtype, info.shape);
    }
    return values;
  }

  // Adds the moved nodes to the graph.
  void move_part(int loop, Part& part, const std::vector<Tensor>& values) {
    const std::string device = graph_.at(loop).device();
    const std::string name = graph_.at(loop).name();
    const GraphFunction& function = *part.function;
    Invariants same(function, values, device_kind(graph_.at(loop)), device);
    std::map<NodeOutput, NodeOutput> outside;
    for (size_t i = 0; i < values.size(); ++i) {
      outside[function.endpoints().inputs[i]] = graph_.at(loop).input(static_cast<int>(i));
    }
    const auto find = [&](NodeOutput inside) {
      inside = behind_identities(function.graph(), inside);
      if (const auto known = outside.find(inside); known != outside.end()) return known->second;
      const Tensor* constant = constant_value(function.graph(), inside);
      const std::string& constant_name = function.graph().at(inside.node).name();
      return outside[inside] = add_const(graph_, name + "/" + constant_name, *constant, graph_.at(loop));
    };
    for (const int id : same.find()) {
      const Node& node = function.graph().at(id);
      NodeSpec spec = node.spec();
      for (NodeOutput& input : spec.inputs) input = find(input);
      spec.name = free_name(graph_, name + "/" + node.name());
      spec.device = device;
      spec.internal_attrs.clear();
      spec.outputs = same.infos(node);
      const int moved = graph_.add(std::move(spec));
      ++changes_;
      for (int k = 0; k < node.num_outputs(); ++k) {
        outside[{id, k}] = {moved, k};
        if (same.is_read_inside({id, k})) part.taken.emplace_back(NodeOutput{id, k}, NodeOutput{moved, k});
      }
    }
  }

  PassContext& context_;
  Graph& graph_;
  int changes_ = 0;
};

}  // namespace

int move_loop_invariants(PassContext& context) { return LoopMover(context).run(); }

}  // namespace panto::passes
