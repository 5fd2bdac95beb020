// Method: find the step of the plan's order at which most bytes are live; recompute a value that is live across that
// step just before its next reader. Repeat; the planner decides how much that saves (graph_costs).
#include "panto/lib/runtime/recompute.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/functions/endpoints.h"
#include "panto/lib/graph/infer.h"
#include "panto/lib/runtime/passes/rules.h"
#include "panto/lib/runtime/placement/graph_costs.h"
#include "panto/lib/runtime/placement/placer.h"
#include "panto/lib/runtime/recompute_plan.h"
#include "panto/lib/runtime/rewrite.h"

namespace panto {

namespace {

constexpr int kMostNodes = 1000;      // nodes added in total
constexpr int kMostPlansInVain = 16;  // plans without progress, once the timeline meets the limit

// A node to be recomputed.
struct Choice {
  int node = -1;
  int reader = -1;  // the first reader of the new node; later readers use it too
  int after = -1;   // the node that the new one waits for
  int64_t bytes = 0;
};

// Live bytes by step of the graph's order.
class Timeline {
 public:
  Timeline(const Graph& graph, std::span<const NodeOutput> given_out)
      : graph_(graph), order_(graph.topological_order()) {
    const auto limit = static_cast<size_t>(graph.id_limit());
    position_.assign(limit, -1);
    for (size_t s = 0; s < order_.size(); ++s) position_[static_cast<size_t>(order_[s])] = static_cast<int>(s);
    last_use_.assign(limit, -1);
    given_out_.assign(limit, false);
    for (const NodeOutput& output : given_out) given_out_[static_cast<size_t>(output.node)] = true;
    std::vector<int64_t> change(order_.size() + 1, 0);
    for (const int id : order_) {
      const Node& node = graph.at(id);
      for (const NodeUse& use : node.consumers()) {
        if (use.slot != NodeUse::kControl) last_use(id) = std::max(last_use(id), position(use.node));
      }
      const int64_t bytes = kept_bytes(node);
      if (bytes == 0 || last_use(id) < 0) continue;
      change[static_cast<size_t>(position(id))] += bytes;
      change[static_cast<size_t>(last_use(id)) + 1] -= bytes;
    }
    int64_t kept = 0;
    for (size_t s = 0; s < order_.size(); ++s) {
      kept += change[s];
      if (kept <= most_) continue;
      most_ = kept;
      peak_ = static_cast<int>(s);
    }
  }

  int64_t most() const { return most_; }

  // The choice that frees most bytes at the peak; nullopt if there is none.
  std::optional<Choice> choose() const {
    std::optional<Choice> best;
    for (int s = 0; s < peak_; ++s) {
      const std::optional<Choice> choice = choice_of(graph_.at(order_[static_cast<size_t>(s)]));
      if (choice && (!best || choice->bytes > best->bytes)) best = choice;
    }
    return best;
  }

 private:
  int position(int id) const { return position_[static_cast<size_t>(id)]; }
  int& last_use(int id) { return last_use_[static_cast<size_t>(id)]; }
  int last_use(int id) const { return last_use_[static_cast<size_t>(id)]; }

  // Bytes of the node's outputs that are planned.
  int64_t kept_bytes(const Node& node) const {
    if (!needs_kernel(node) || node.has(Trait::kSelfAllocating) || given_out_[static_cast<size_t>(node.id())]) return 0;
    int64_t sum = 0;
    for (const OutputInfo& output : node.outputs()) {
      const int64_t bytes = passes::bytes_of(output);
      if (bytes != INT64_MAX) sum += bytes;
    }
    return sum;
  }

  std::optional<Choice> choice_of(const Node& node) const {
    const bool cheap = node.has(Trait::kElementwise) || node.has(Trait::kReduction);
    if (!cheap || node.num_outputs() != 1 || last_use(node.id()) <= peak_) return std::nullopt;
    Choice choice{.node = node.id(), .bytes = kept_bytes(node)};
    if (choice.bytes == 0) return std::nullopt;
    int next = last_use(node.id());
    for (const NodeUse& use : node.consumers()) {
      if (use.slot == NodeUse::kControl) continue;
      const int at = position(use.node);
      if (at == peak_) return std::nullopt;  // it is needed there
      if (at > peak_) next = std::min(next, at);
    }
    choice.reader = order_[static_cast<size_t>(next)];
    if (graph_.at(choice.reader).device() != node.device()) return std::nullopt;
    // Its inputs must be live until then anyway, or exist before the run.
    const auto is_there = [&](const NodeOutput& input) {
      const Node& from = graph_.at(input.node);
      return needs_kernel(from) ? last_use(input.node) >= next : is_given(from);
    };
    if (!std::ranges::all_of(node.inputs(), is_there) || !passes::cannot_fail(graph_, node)) return std::nullopt;
    for (int s = next - 1; s > peak_ && choice.after < 0; --s) {
      if (needs_kernel(graph_.at(order_[static_cast<size_t>(s)]))) choice.after = order_[static_cast<size_t>(s)];
    }
    if (choice.after < 0) choice.after = order_[static_cast<size_t>(peak_)];
    return choice;
  }

  static bool is_given(const Node& node) { return node.is(OpKind::kConstant) || node.is(OpKind::kPlaceholder); }

  const Graph& graph_;
  std::vector<int> order_;
  std::vector<int> position_, last_use_;  // by node
  std::vector<bool> given_out_;           // by node
  int64_t most_ = 0;
  int peak_ = 0;
};

void compute_again(Graph& graph, const Choice& choice, const std::vector<int>& readers) {
  NodeSpec spec = graph.at(choice.node).spec();
  spec.name = free_name(graph, spec.name + "/again");
  spec.control_inputs.push_back(choice.after);
  spec.place = graph.at(choice.reader).place();
  std::erase_if(spec.internal_attrs, [](const auto& attr) { return attr.first.starts_with("_function"); });
  std::erase_if(spec.internal_attrs, [](const auto& attr) { return attr.first == passes::kRecomputed; });
  spec.internal_attrs.emplace_back(std::string(passes::kRecomputed), AttrValue(true));
  const int again = graph.add(std::move(spec));
  const auto consumers = graph.at(choice.node).consumers();
  for (const NodeUse& use : std::vector<NodeUse>(consumers.begin(), consumers.end())) {
    if (use.slot == NodeUse::kControl || std::ranges::find(readers, use.node) == readers.end()) continue;
    graph.set_input(use.node, use.slot, {again, 0});
  }
}

// A copy with nodes in execution order, which files keep.
Graph in_order(const Graph& graph) {
  Graph result;
  std::vector<int> now(static_cast<size_t>(graph.id_limit()), -1);
  for (const int id : graph.topological_order()) {
    NodeSpec spec = graph.at(id).spec();
    for (NodeOutput& input : spec.inputs) input.node = now[static_cast<size_t>(input.node)];
    for (int& control : spec.control_inputs) control = now[static_cast<size_t>(control)];
    now[static_cast<size_t>(id)] = result.add(std::move(spec));
  }
  result.set_versions(graph.versions());
  result.set_library(graph.library());
  for (GraphVariable variable : graph.variables()) {
    if (graph.find(variable.handle.node) == nullptr) continue;
    variable.handle.node = now[static_cast<size_t>(variable.handle.node)];
    const bool initialized = graph.find(variable.initializer) != nullptr;
    variable.initializer = initialized ? now[static_cast<size_t>(variable.initializer)] : -1;
    result.add_variable(std::move(variable));
  }
  return result;
}

// How to measure the graph that is being made to fit.
struct Fitting {
  std::function<int64_t(const Graph&)> planned;    // bytes
  std::function<Graph(const Graph&)> with_shapes;  // with all known shapes inferred
  std::function<std::vector<NodeOutput>(const Graph&)> given_out;
};

// Returns how many nodes it added. `peak`: bytes that the plan needs then.
int make_fit(Graph& graph, int64_t bytes, const Fitting& fitting, int64_t& peak) {
  int64_t best = peak = fitting.planned(graph);
  int added = 0, in_vain = 0;
  int64_t aim = bytes;  // limit for the timeline, which only approximates a plan
  while (peak > bytes) {
    const Graph known = fitting.with_shapes(graph);
    const Timeline timeline(known, fitting.given_out(known));
    const bool in_sight = timeline.most() <= aim;
    if (in_sight) {
      peak = fitting.planned(graph);
      best = std::min(best, peak);
      if (peak <= bytes) break;
      aim = std::min(aim, timeline.most() - 1);
    }
    const std::optional<Choice> choice = timeline.choose();
    if (!choice || ++added > kMostNodes || (in_sight && ++in_vain > kMostPlansInVain)) {
      peak = fitting.planned(graph);
      best = std::min(best, peak);
      if (peak <= bytes) break;
      failf(Code::kResourceExhausted,
            "memory limit: expected values that can be computed again so that a plan needs at most {} bytes, got {} at "
            "the least",
            bytes, best);
    }
    std::vector<int> order = known.topological_order();
    const auto from = std::ranges::find(order, choice->reader);
    compute_again(graph, *choice, std::vector<int>(from, order.end()));
  }
  return added;
}

[[noreturn]] void refuse_unknown_shapes() {
  invalid("memory limit: expected a graph of which all shapes are known, got one of which some are not");
}

}  // namespace

Graph recompute_within(const Graph& graph, int64_t bytes, std::span<const std::pair<NodeOutput, PartialShape>> shapes,
                       int64_t* peak) {
  Fitting fitting;
  fitting.planned = [&](const Graph& of) {
    const std::optional<int64_t> found = graph_costs(of, shapes).peak_bytes;
    if (!found) refuse_unknown_shapes();
    return *found;
  };
  fitting.with_shapes = [&](const Graph& of) {
    Graph known = of;
    std::vector<std::pair<NodeOutput, Tensor>> given;
    for (const auto& [output, shape] : shapes) {
      given.emplace_back(output, meta_tensor(known.info(output).dtype, known.info(output).shape.merged_with(shape)));
    }
    if (!given.empty()) infer_shapes(known, given);
    return known;
  };
  fitting.given_out = [](const Graph& of) { return endpoints_or_order(of).outputs; };
  Graph result = graph;
  int64_t needed = 0;
  const int added = make_fit(result, bytes, fitting, needed);
  if (peak != nullptr) *peak = needed;
  return added == 0 ? result : in_order(result);
}

void recompute_in_plan(WorkGraph& work, int64_t bytes, const std::function<int64_t(const WorkGraph&)>& planned_bytes) {
  for (const int id : work.graph.ids()) {
    const Node& node = work.graph.at(id);
    if (id == work.sink || !needs_kernel(node)) continue;
    const auto open = [](const OutputInfo& info) { return is_plain(info.dtype) && !info.shape.fully_known(); };
    if (std::ranges::any_of(node.outputs(), open)) refuse_unknown_shapes();
  }
  Fitting fitting;
  fitting.planned = [&](const Graph& of) { return planned_bytes({of, work.feeds, work.sink}); };
  fitting.with_shapes = [](const Graph& of) { return of; };
  fitting.given_out = [&](const Graph& of) {
    const auto inputs = of.at(work.sink).inputs();
    return std::vector<NodeOutput>(inputs.begin(), inputs.end());
  };
  int64_t peak = 0;
  make_fit(work.graph, bytes, fitting, peak);
}

}  // namespace panto
