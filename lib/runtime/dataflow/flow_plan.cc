#include "panto/lib/runtime/dataflow/flow_plan.h"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/flow/flow.h"
#include "panto/lib/graph/infer.h"
#include "panto/lib/graph/nodes.h"
#include "panto/lib/runtime/parts/partition.h"
#include "panto/lib/runtime/parts/transfers.h"
#include "panto/lib/runtime/placement/placer.h"
#include "panto/lib/runtime/plan/prepare_node.h"

namespace panto {

namespace {

using Kind = FlowNode::Kind;

// Must give the same hash in every process: Sends and Recvs of different processes match by it.
uint64_t hash_of(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

// Limits `parallel_iterations`: a few bytes in a file could otherwise ask for a huge number of rounds in memory.
constexpr int64_t kMostRounds = 1 << 16;

bool may_write_over(const Op& op) {
  return op.has(Trait::kElementwise) || op.is(OpKind::kFusedLoop) || op.has(Trait::kReusesInput0);
}

class FlowPlanner {
 public:
  FlowPlanner(WorkGraph work, std::vector<ExecutableFeed> feeds, const ExecutableOptions& options)
      : options_(options), work_(std::move(work)), several_(devices().size() > 1) {
    plan_.graph = std::move(work_.graph);
    plan_.feeds = std::move(feeds);
  }

  FlowPlan run() {
    const RecorderPause unheard;
    const auto limit = static_cast<size_t>(graph().id_limit());
    sources_.resize(limit);
    node_of_.assign(limit, -1);
    order_ = graph().topological_order();
    plan_.transfers = has_transfers(graph());
    add_frames();
    find_fixed();
    for (const int id : order_) {
      if (id != work_.sink) add(graph().at(id));
    }
    if (several_) copy_constants();
    add_fetches();
    connect();
    find_starts();
    forget_identities(plan_.graph);
    return std::move(plan_);
  }

 private:
  // Where an output comes from: it exists before the run (`fixed`), or a node of the plan computes it.
  struct Source {
    int32_t fixed = -1;
    NodeOutput made = {};  // an output of a graph node that is in the plan
  };

  Graph& graph() { return plan_.graph; }
  const Source& source(NodeOutput output) const {
    return sources_[static_cast<size_t>(output.node)][static_cast<size_t>(output.index)];
  }
  FlowFrame& frame(const FlowNode& node) { return plan_.frames[node.frame]; }

  // ---- Frames -------------------------------------------------------------------------------------------------------

  void add_frames() {
    frames_ = std::make_unique<Frames>(graph());
    for (const Frame& from : frames_->all()) {
      FlowFrame& to = plan_.frames.emplace_back();
      to.name = from.name;
      to.hash = hash_of(from.name);
      to.parent = static_cast<uint32_t>(from.parent);
      to.parallel_iterations = static_cast<size_t>(std::clamp(from.parallel_iterations, int64_t{1}, kMostRounds));
      to.num_enters = static_cast<uint32_t>(from.enters.size());
      if (plan_.frames.size() == 1) continue;
      std::vector<uint32_t>& siblings = plan_.frames[to.parent].children;
      to.child = static_cast<uint32_t>(siblings.size());
      siblings.push_back(static_cast<uint32_t>(plan_.frames.size() - 1));
    }
  }

  // ---- Values that exist before the run ----------------------------------------------------------------------------

  // All constants are found before any node is added, as constants are numbered first.
  void find_fixed() {
    for (const int id : order_) {
      const Node& node = graph().at(id);
      if (node.is(OpKind::kConstant)) {
        inference_.run(node);
        fix(node, {inference_.at({id, 0})});
      } else if (node.is(OpKind::kVariableHandle)) {
        const dispatch::Outputs handles = look_up_handles(node, options_.resources);
        fix(node, {handles.begin(), handles.end()});
      }
    }
    for (size_t i = 0; i < plan_.feeds.size(); ++i) {
      const ExecutableFeed& feed = plan_.feeds[i];
      inference_.set(work_.feeds[i],
                     feed.handle.defined() ? feed.handle : meta_tensor(feed.info.dtype, feed.info.shape));
      const int id = work_.feeds[i].node;
      first_fixed_[id] = ~static_cast<int32_t>(i);  // until the number of constants is known
    }
  }

  void fix(const Node& node, const std::vector<Tensor>& values) {
    first_fixed_[node.id()] = static_cast<int32_t>(plan_.constants.size());
    for (size_t k = 0; k < values.size(); ++k) {
      inference_.set({node.id(), static_cast<int>(k)}, values[k]);
      plan_.constants.push_back(values[k]);
    }
  }

  // Returns the position of a constant's copy in `memory`; each copy is made once.
  int32_t fixed_in(int32_t fixed, Device& memory) {
    if (fixed < 0 || &plan_.constants[static_cast<size_t>(fixed)].device() == &memory ||
        !is_plain(plan_.constants[static_cast<size_t>(fixed)].dtype())) {
      return fixed;
    }
    const auto [found, first] = copies_.try_emplace({fixed, &memory}, static_cast<int32_t>(plan_.constants.size()));
    if (first) plan_.constants.push_back(copy_to_device(plan_.constants[static_cast<size_t>(fixed)], memory));
    return found->second;
  }

  // Must run before feeds are numbered, as feeds come after constants.
  void copy_constants() {
    for (const FlowNode& node : plan_.nodes) {
      if (node.prepared == nullptr) continue;
      const Node& of = graph().at(node.id);
      for (int slot = 0; slot < of.num_inputs(); ++slot) {
        const Source& from = source(of.input(slot));
        if (is_before(from)) fixed_in(from.fixed, memory_of_input(graph(), of, slot, device_of(of)));
      }
    }
  }

  // ---- Nodes --------------------------------------------------------------------------------------------------------

  void add(const Node& node) {
    inference_.run(node);
    std::vector<Source>& sources = sources_[static_cast<size_t>(node.id())];
    sources.resize(static_cast<size_t>(node.num_outputs()));
    if (const auto found = first_fixed_.find(node.id()); found != first_fixed_.end())
      return add_fixed(node, found->second);
    if (is_alias(node)) {
      sources[0] = source(node.input(0));
      return;
    }
    FlowNode made;
    made.id = node.id();
    made.kind = kind_of(node);
    made.never_dead = node.is(OpKind::kControlTrigger);
    if (made.kind == Kind::kEnter) made.in_every_round = node.attr("is_constant").as<bool>();
    if (made.kind == Kind::kCall) prepare(node, made);
    if (made.kind == Kind::kForward && several_) made.memory = &memory_of_input(graph(), node, 0, device_of(node));
    add_made(node, std::move(made));
  }

  // Consumers read fixed values directly. Only some must be notified: a Merge, and nodes that wait for a node that is
  // not ready from the beginning.
  void add_fixed(const Node& node, int32_t first) {
    std::vector<Source>& sources = sources_[static_cast<size_t>(node.id())];
    const bool at_once = node.control_inputs().empty() && node.num_inputs() == 0;
    for (size_t k = 0; k < sources.size(); ++k) {
      // Feeds have negative numbers: -1, -2, ...
      sources[k].fixed = first >= 0 ? first + static_cast<int32_t>(k) : first;
      if (!at_once) sources[k] = {.made = {node.id(), static_cast<int>(k)}};
    }
    const bool merged = std::ranges::any_of(node.consumers(), [&](const NodeUse& use) {
      return use.slot != NodeUse::kControl && graph().at(use.node).is(OpKind::kMerge);
    });
    if (at_once && !merged) return;
    FlowNode made;
    made.id = node.id();
    made.kind = Kind::kFixed;
    made.detail = static_cast<uint32_t>(first);
    add_made(node, std::move(made));
  }

  void add_made(const Node& node, FlowNode made) {
    made.frame = static_cast<uint32_t>(frames_->of(node.id()));
    made.num_inputs = static_cast<uint32_t>(node.num_inputs());
    made.num_outputs = static_cast<uint32_t>(node.num_outputs());
    if (made.kind == Kind::kExit) made.detail = frame(made).num_exits++;
    node_of_[static_cast<size_t>(node.id())] = static_cast<int>(plan_.nodes.size());
    std::vector<Source>& sources = sources_[static_cast<size_t>(node.id())];
    for (size_t k = 0; k < sources.size(); ++k) {
      if (sources[k].fixed < 0 && !is_feed(node)) sources[k] = {.made = {node.id(), static_cast<int>(k)}};
    }
    plan_.most_inputs = std::max<size_t>(plan_.most_inputs, made.num_inputs);
    plan_.most_outputs = std::max<size_t>(plan_.most_outputs, made.num_outputs);
    plan_.nodes.push_back(std::move(made));
  }

  bool is_feed(const Node& node) const { return node.is(OpKind::kPlaceholder); }

  // An identity that no node waits for by a control edge.
  bool is_alias(const Node& node) {
    if (!node.has(Trait::kIdentity) || node.num_inputs() != 1 || node.num_outputs() != 1) return false;
    if (!node.control_inputs().empty()) return false;
    if (several_ && graph().at(node.input(0).node).device() != node.device()) return false;
    const bool before = is_before(source(node.input(0)));
    return std::ranges::none_of(node.consumers(), [&](const NodeUse& use) {
      return use.slot == NodeUse::kControl || (before && graph().at(use.node).is(OpKind::kMerge));
    });
  }

  static Kind kind_of(const Node& node) {
    switch (node.op().kind()) {
      case OpKind::kSwitch: return Kind::kSwitch;
      case OpKind::kMerge: return Kind::kMerge;
      case OpKind::kEnter: return Kind::kEnter;
      case OpKind::kExit: return Kind::kExit;
      case OpKind::kNextIteration: return Kind::kNextIteration;
      case OpKind::kLoopCondition: return Kind::kForward;
      case OpKind::kControlTrigger:
      case OpKind::kNoOperation: return Kind::kNothing;
      default: return node.has(Trait::kIdentity) ? Kind::kForward : Kind::kCall;
    }
  }

  void prepare(const Node& node, FlowNode& made) {
    SmallVector<Tensor, 4> abstract_values;
    for (const NodeOutput& input : node.inputs()) abstract_values.push_back(inference_.at(input));
    made.prepared = prepare_node(node, {abstract_values.data(), abstract_values.size()}, device_of(node),
                                 options_.states, planning_);
    if (made.prepared->asynchronous()) made.kind = Kind::kStart;
    made.checks_outputs = node.has(Trait::kSelfAllocating);
    ++plan_.stats.steps;
    ++plan_.stats.dynamic_steps;
    if (made.prepared->state() != nullptr) plan_.stats.packed_bytes += made.prepared->state()->bytes();
  }

  void add_fetches() {
    const Node& sink = graph().at(work_.sink);
    for (const NodeOutput& input : sink.inputs()) {
      FlowPlan::Fetch& fetch = plan_.fetches.emplace_back();
      fetch.name = graph().output_name(input);
      if (is_before(source(input))) {
        fetch.fixed = position_of(source(input).fixed);
        continue;
      }
      FlowNode node;
      node.kind = Kind::kFetch;
      node.num_inputs = 1;
      node.detail = static_cast<uint32_t>(plan_.fetches.size() - 1);
      node.id = input.node;
      fetch_inputs_.push_back(source(input).made);
      plan_.nodes.push_back(std::move(node));
    }
  }

  // ---- Edges --------------------------------------------------------------------------------------------------------

  static bool is_before(const Source& source) { return source.made.node < 0; }
  // The final position of a constant or of a feed (negative).
  int32_t position_of(int32_t fixed) const {
    return fixed >= 0 ? fixed : static_cast<int32_t>(plan_.constants.size()) + ~fixed;
  }

  void connect() {
    edges_.resize(plan_.nodes.size());
    controls_.resize(plan_.nodes.size());
    size_t next_fetch = 0;
    for (uint32_t n = 0; n < plan_.nodes.size(); ++n) {
      FlowNode& node = plan_.nodes[n];
      const uint32_t count = add_counts(node);
      node.first_input = static_cast<uint32_t>(plan_.inputs.size());
      node.first_place = frame(node).num_places;
      if (node.kind == Kind::kMerge) ++frame(node).num_places;  // for the first input to arrive
      if (node.kind == Kind::kFetch) {
        read_place(n, count, 0, fetch_inputs_[next_fetch++]);
      } else {
        read_inputs(n, count);
        wait_for_controls(n, count);
      }
      node.num_places = frame(node).num_places - node.first_place;
    }
    for (size_t n = 0; n < plan_.nodes.size(); ++n) store(plan_.nodes[n], edges_[n], controls_[n]);
  }

  // Allocates the node's count. A Merge's count is followed by two more.
  uint32_t add_counts(FlowNode& node) {
    std::vector<uint32_t>& counts = frame(node).counts;
    const auto own = static_cast<uint32_t>(counts.size());
    counts.push_back(node.kind == Kind::kMerge ? 1 : 0);
    if (node.kind == Kind::kMerge) {
      node.detail = static_cast<uint32_t>(counts.size());
      counts.insert(counts.end(), 2, 0);
    }
    return own;
  }

  void read_inputs(uint32_t n, uint32_t count) {
    FlowNode& node = plan_.nodes[n];
    const Node& of = graph().at(node.id);
    for (int slot = 0; slot < of.num_inputs(); ++slot) {
      const Source& from = source(of.input(slot));
      const auto input = static_cast<uint32_t>(slot);
      if (!is_before(from)) {
        read_place(n, count, input, from.made);
      } else if (node.kind == Kind::kMerge) {
        read_place(n, count, input, of.input(slot));  // fixed inputs of a Merge are nodes of the plan
      } else {
        const bool elsewhere = several_ && node.prepared != nullptr;
        const int32_t fixed =
            elsewhere ? fixed_in(from.fixed, memory_of_input(graph(), of, slot, device_of(of))) : from.fixed;
        plan_.inputs.push_back(~position_of(fixed));
      }
    }
    if (node.prepared == nullptr || !may_write_over(of.op())) node.donated = 0;
  }

  // Adds an edge to input `input` of node n from an output that is computed in the run.
  void read_place(uint32_t n, uint32_t count, uint32_t input, NodeOutput from) {
    FlowNode& node = plan_.nodes[n];
    FlowFrame& in = frame(node);
    const bool merge = node.kind == Kind::kMerge;
    const uint32_t place = merge ? node.first_place : in.num_places++;
    plan_.inputs.push_back(static_cast<int32_t>(place));
    if (input < 64) node.donated |= uint64_t{1} << input;
    if (!merge) ++in.counts[count];
    edges_[static_cast<size_t>(node_of_[static_cast<size_t>(from.node)])].push_back(
        {.node = n,
         .place = place,
         .count = count,
         .output = static_cast<uint32_t>(from.index),
         .input = input,
         .to_merge = merge});
  }

  void wait_for_controls(uint32_t n, uint32_t count) {
    const FlowNode& node = plan_.nodes[n];
    const bool merge = node.kind == Kind::kMerge;
    for (const int control : graph().at(node.id).control_inputs()) {
      const int before = node_of_[static_cast<size_t>(control)];
      if (before < 0) continue;  // it exists before the run
      frame(node).counts[count] += merge ? 2 : 1;
      controls_[static_cast<size_t>(before)].push_back({.node = n, .count = count, .to_merge = merge});
    }
  }

  void store(FlowNode& node, std::vector<FlowEdge>& edges, const std::vector<FlowControl>& controls) {
    std::ranges::stable_sort(edges, {}, &FlowEdge::output);
    for (size_t i = 0; i < edges.size(); ++i) {
      edges[i].last = i + 1 == edges.size() || edges[i + 1].output != edges[i].output;
      if (node.kind == Kind::kMerge && edges[i].output == 1) node.tells_index = true;
    }
    node.first_edge = static_cast<uint32_t>(plan_.edges.size());
    plan_.edges.insert(plan_.edges.end(), edges.begin(), edges.end());
    node.end_edge = static_cast<uint32_t>(plan_.edges.size());
    node.first_control = static_cast<uint32_t>(plan_.controls.size());
    plan_.controls.insert(plan_.controls.end(), controls.begin(), controls.end());
    node.end_control = static_cast<uint32_t>(plan_.controls.size());
    if (node.kind == Kind::kEnter) {
      node.detail = plan_.frames[static_cast<size_t>(frames_->behind(graph().at(node.id)))].child;
    }
    if (node.kind == Kind::kFixed) node.detail = static_cast<uint32_t>(position_of(static_cast<int32_t>(node.detail)));
  }

  void find_starts() {
    std::vector<uint8_t> told(plan_.nodes.size(), 0);
    for (const FlowEdge& edge : plan_.edges) told[edge.node] = 1;
    for (const FlowControl& control : plan_.controls) told[control.node] = 1;
    for (uint32_t n = 0; n < plan_.nodes.size(); ++n) {
      if (told[n] == 0) plan_.starts.push_back(n);
    }
  }

  const ExecutableOptions& options_;
  const std::shared_ptr<const Planning> planning_ = planning_of(options_);
  FlowPlan plan_;
  WorkGraph work_;      // without its graph
  const bool several_;  // devices
  std::vector<int> order_;
  std::unique_ptr<Frames> frames_;
  Inference inference_{plan_.graph};
  std::map<int, int32_t> first_fixed_;                     // by node id: of constants; ~i for feeds
  std::map<std::pair<int32_t, Device*>, int32_t> copies_;  // of constants
  std::vector<std::vector<Source>> sources_;               // by node id and output
  std::vector<int> node_of_;                               // by node id; -1: none
  std::vector<NodeOutput> fetch_inputs_;                   // of the nodes that keep fetches
  std::vector<std::vector<FlowEdge>> edges_;               // by node of the plan
  std::vector<std::vector<FlowControl>> controls_;
};

}  // namespace

bool needs_dataflow(const Graph& graph) {
  if (graph.has_control_flow()) return true;
  const std::vector<DeviceKind> kinds = device_kinds();
  const auto waits = [&](const Op& op) {
    return std::ranges::any_of(kinds, [&](DeviceKind kind) {
      for (int type = 0; type < kDTypeSlots; ++type) {
        if (op.kernel(kind, static_cast<DType>(type)).start != nullptr) return true;
      }
      return false;
    });
  };
  std::unordered_set<const Op*> known;
  return std::ranges::any_of(graph.ids(), [&](int id) {
    const Op& op = graph.at(id).op();
    return known.insert(&op).second && waits(op);
  });
}

FlowPlan make_flow_plan(WorkGraph work, std::vector<ExecutableFeed> feeds, const ExecutableOptions& options) {
  return FlowPlanner(std::move(work), std::move(feeds), options).run();
}

}  // namespace panto
