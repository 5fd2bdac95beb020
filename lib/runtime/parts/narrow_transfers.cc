#include "panto/lib/runtime/parts/narrow_transfers.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "panto/lib/base/text/format.h"
#include "panto/lib/graph/nodes.h"
#include "panto/lib/runtime/parts/partition.h"
#include "panto/lib/runtime/placement/placer.h"
#include "panto/ops/math.h"

namespace panto {

namespace {

class Narrower {
 public:
  explicit Narrower(WorkGraph& work) : graph_(work.graph), sink_(work.sink) {}

  void run() {
    for (const int id : graph_.ids()) {
      const Node& node = graph_.at(id);
      if (id == sink_ || !is_sent(node)) continue;
      // Uses by output and reader's device; a copy, as the loop changes the consumers.
      std::map<std::pair<int, std::string>, std::vector<NodeUse>> readers;
      for (const NodeUse& use : node.consumers()) {
        if (is_narrowed(node, use)) readers[{use.output, graph_.at(use.node).device()}].push_back(use);
      }
      std::map<int, NodeOutput> narrow;  // by output
      for (const auto& [where, uses] : readers) {
        const auto& [output, device] = where;
        const auto [found, is_new] = narrow.try_emplace(output);
        if (is_new) found->second = cast({id, output}, kBFloat16, node.device());
        const NodeOutput wide = cast(found->second, kFloat32, device);
        for (const NodeUse& use : uses) graph_.set_input(use.node, use.slot, wide);
      }
    }
  }

 private:
  static bool is_sent(const Node& node) {
    return !node.is(OpKind::kPlaceholder) && !node.is(OpKind::kConstant) && !node.is_control_flow();
  }

  bool is_narrowed(const Node& node, const NodeUse& use) const {
    if (use.slot == NodeUse::kControl || use.node == sink_) return false;
    const Node& reader = graph_.at(use.node);
    if (reader.is_control_flow() || node.output(use.output).dtype != kFloat32) return false;
    return reader.device() != node.device() && !is_host_input(reader, use.slot);
  }

  NodeOutput cast(NodeOutput input, DType to, const std::string& device) {
    const DType from = graph_.info(input).dtype;
    NodeSpec spec;
    spec.name = free_name(graph_, graph_.at(input.node).name() + (to == kBFloat16 ? "/narrow" : "/wide"));
    spec.op = &kCast;
    spec.inputs = {input};
    spec.attrs = {AttrValue(from), AttrValue(to)};
    spec.outputs = {{to, graph_.info(input).shape}};
    spec.device = device;
    spec.where = graph_.at(input.node).where();
    const NodeOutput made{graph_.add(std::move(spec)), 0};
    const Node& node = graph_.at(made.node);
    if (!runs_on(node, device_of(node))) {
      failf(Code::kUnimplemented, "narrow transfers: expected a kernel for Cast from {} to {} on {}, got none",
            dtype_name(from), dtype_name(to), device);
    }
    return made;
  }

  Graph& graph_;
  int sink_;
};

}  // namespace

void narrow_transfers(WorkGraph& work) { Narrower(work).run(); }

}  // namespace panto
