#include "panto/lib/runtime/executable.h"

#include <algorithm>
#include <optional>
#include <set>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/tensor/print.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/nodes.h"
#include "panto/lib/graph/validate.h"
#include "panto/lib/runtime/dataflow/dataflow.h"
#include "panto/lib/runtime/optimizer.h"
#include "panto/lib/runtime/parts/narrow_transfers.h"
#include "panto/lib/runtime/parts/partition.h"
#include "panto/lib/runtime/parts/split.h"
#include "panto/lib/runtime/parts/transfers.h"
#include "panto/lib/runtime/placement/cost_model.h"
#include "panto/lib/runtime/placement/placer.h"
#include "panto/lib/runtime/plan/plan.h"
#include "panto/lib/runtime/plan/straight_line.h"
#include "panto/lib/runtime/recompute_plan.h"

namespace panto {

namespace {

void check_feeds(const Graph& graph, std::span<const ExecutableFeed> feeds) {
  std::set<NodeOutput> seen;
  for (const ExecutableFeed& feed : feeds) {
    const std::string name = graph.output_name(feed.output);
    const OutputInfo& declared = graph.info(feed.output);
    if (!seen.insert(feed.output).second) invalid("feeds: expected each tensor once, got '{}' twice", name);
    const bool fits = feed.info.dtype == declared.dtype || declared.dtype == DType::kInvalid;  // of an unknown op
    if (!fits || !feed.info.shape.compatible_with(declared.shape)) {
      invalid("feed '{}': expected {}, got {}", name, type_text(declared.dtype, declared.shape),
              type_text(feed.info.dtype, feed.info.shape));
    }
  }
}

// The device of nodes that ask for none.
Device& default_device(std::span<const ExecutableFeed> feeds, const ExecutableOptions& options) {
  if (options.device != nullptr) return *options.device;
  for (const ExecutableFeed& feed : feeds) {
    Device* device = feed.handle.defined() ? &home_of(feed.handle) : feed.device;
    if (device != nullptr && device->kind() != DeviceKind::kCpu) return *device;
  }
  return cpu_device();
}

// Returns the identities of all nodes that may keep state, or that expand to such nodes, under the rule `kind`.
std::vector<std::pair<int, std::string>> identities(const Graph& graph, NodeStates::Identity kind) {
  std::vector<std::pair<int, std::string>> found;
  std::map<std::string, int> count;
  for (int id : graph.ids()) {
    const Node& node = graph.at(id);
    if (!node.op().has_effects() && node.op().body() == nullptr) continue;
    // Include the op's name: a node added later may get the id of a raised node.
    std::string text = fmt::format("{} {}", id, node.op().name());
    if (kind == NodeStates::Identity::kOrder) {
      text = node.op().name();
      for (const AttrValue& attr : node.attrs()) {
        const bool number = attr.kind() == AttrKind::kInt || attr.kind() == AttrKind::kFloat;
        if (number || attr.kind() == AttrKind::kBool || attr.kind() == AttrKind::kString) {
          text += "\n" + attr.to_string();
        }
      }
      text += fmt::format("\n#{}", count[text]++);
    }
    found.emplace_back(id, std::move(text));
  }
  return found;
}

// Precondition: unneeded nodes were removed, so every remaining Placeholder must be fed.
void check_all_fed(const WorkGraph& work) {
  std::vector<uint8_t> fed(static_cast<size_t>(work.graph.id_limit()), 0);
  for (NodeOutput feed : work.feeds) fed[static_cast<size_t>(feed.node)] = 1;
  std::string missing;
  for (int id : work.graph.ids()) {
    const Node& node = work.graph.at(id);
    if (!node.is(OpKind::kPlaceholder) || fed[static_cast<size_t>(id)] != 0) continue;
    missing += fmt::format("{}'{}' ({})", missing.empty() ? "" : ", ", node.name(),
                           type_text(node.output(0).dtype, node.output(0).shape));
  }
  if (!missing.empty())
    invalid("feeds: expected values for the placeholders that are needed, got none for {}", missing);
}

}  // namespace

RunState::~RunState() = default;

ExecutableFeed feed_like(NodeOutput output, const Tensor& value) {
  ExecutableFeed feed{output, {value.dtype(), value.partial_shape()}};
  if (is_plain(value.dtype())) feed.device = &value.device();
  return feed;
}

// The whole pipeline. Each stage leaves a graph that the next can rely on.
std::shared_ptr<Executable> Executable::make(const Graph& given, std::span<const ExecutableFeed> feeds,
                                             std::span<const NodeOutput> fetches, std::span<const int> targets,
                                             const ExecutableOptions& options) {
  check_passes(options.passes);
  check_placement(options.placement);
  std::optional<Graph> ordered;
  // With control flow, Recvs wait at run time instead (dataflow executor).
  if (!given.has_control_flow() && has_transfers(given)) order_transfers(ordered.emplace(given));
  const Graph& graph = ordered ? *ordered : given;
  check_feeds(graph, feeds);
  std::vector<NodeOutput> outputs;
  std::vector<OutputInfo> infos;
  std::vector<Tensor> abstract_values;
  bool news = false;  // more is known of the feeds than the graph's shapes say
  for (const ExecutableFeed& feed : feeds) {
    outputs.push_back(feed.output);
    // Every accepted value also has the shape that the Placeholder declares.
    const OutputInfo& declared = graph.info(feed.output);
    infos.push_back({feed.info.dtype, feed.info.shape.merged_with(declared.shape)});
    news = news || !graph.at(feed.output.node).is(OpKind::kPlaceholder) || !(infos.back().shape == declared.shape);
    abstract_values.push_back(feed.handle.defined() ? feed.handle : meta_tensor(feed.info.dtype, infos.back().shape));
  }

  if (graph.has_control_flow()) {
    expect_outside_of_loops(graph, "feed", outputs);
    expect_outside_of_loops(graph, "fetch", fetches);
    std::vector<NodeOutput> waited_for;
    for (const int target : targets) waited_for.push_back({target, 0});
    expect_outside_of_loops(graph, "target", waited_for);
    news = true;  // adding a loop's back edge may have left its shapes outdated
  }
  std::vector<std::pair<int, std::string>> known;
  if (options.states != nullptr) known = identities(graph, options.states->identity());
  Device& usual = default_device(feeds, options);
  const CostModel estimates;
  const CostModel* costs = options.placement.empty() ? nullptr : &estimates;
  if (costs != nullptr && options.costs != nullptr) costs = options.costs.get();
  std::optional<PlacementByCost> by_cost;
  const auto make_work = [&] {
    WorkGraph made = make_work_graph(graph, outputs, infos, fetches, targets);
    refuse_unknown(made.graph);
    check_all_fed(made);
    validate(made.graph);
    for (const auto& [id, text] : known) {
      if (made.graph.find(id) != nullptr) made.graph.set_internal_attr(id, kNodeIdentity, AttrValue(text));
    }
    if (news) infer_from_feeds(made, abstract_values);
    by_cost = place_and_expand(made.graph, usual, options.soft_placement, costs);
    return made;
  };
  WorkGraph work = make_work();
  if (options.log_device_placement) log_placement(work.graph, work.sink, options.log_scope);
  const auto optimize_work = [&](std::string_view passes) {
    PassContext context{work.graph, work.sink, work.feeds, abstract_values};
    std::vector<PassRun> went = run_passes(context, passes, [&] { return make_work().graph; });
    if (options.narrow_transfers) narrow_transfers(work);
    return went;
  };
  std::vector<PassRun> runs = optimize_work(options.passes);

  std::vector<ExecutableFeed> planned(feeds.begin(), feeds.end());
  for (size_t i = 0; i < planned.size(); ++i) planned[i].info = infos[i];
  const auto note_passes = [&](PlanStats& stats) {
    if (by_cost) {
      stats.predicted_seconds = by_cost->seconds;
      stats.single_device_seconds = by_cost->single_seconds;
      stats.single_device = by_cost->single->name();
    }
    for (const PassRun& run : runs) {
      stats.passes.push_back(run.name);
      stats.passes_undone += run.error.empty() ? 0 : 1;
    }
  };
  if (needs_dataflow(work.graph)) {
    if (options.memory_limit >= 0) {
      fail(Code::kUnimplemented,
           "memory limit: expected a graph without loops and conditionals of TensorFlow 1, got one with some");
    }
    FlowPlan plan = make_flow_plan(std::move(work), std::move(planned), options);
    note_passes(plan.stats);
    return make_dataflow(std::move(plan));
  }
  if (options.memory_limit >= 0) {
    ExecutableOptions trial = options;
    trial.states = nullptr;  // trial plans must not touch the nodes' states
    const auto planned_bytes = [&](const WorkGraph& tried) {
      return make_plan(tried, partition(tried, planned, usual, {}), planned, trial).stats.planned_bytes;
    };
    if (planned_bytes(work) > options.memory_limit) {
      // Optimize again without fusion: the values of a fused node cannot be recomputed one by one.
      work = make_work();
      runs = optimize_work(portable_passes(options.passes, PortablePasses::kLeaveOut));
    }
    recompute_in_plan(work, options.memory_limit, planned_bytes);
  }
  std::vector<int> split;
  if (options.inter_op_threads > 1 && options.memory_limit < 0) {
    split = split_by_cost(work, options.inter_op_threads, options.costs != nullptr ? *options.costs : estimates);
  }
  const bool is_split = !split.empty();
  Partition cut = partition(work, planned, usual, std::move(split));
  Plan plan = make_plan(std::move(work), std::move(cut), std::move(planned), options);
  note_passes(plan.stats);
  return make_straight_line(std::move(plan), options, is_split);
}

}  // namespace panto
