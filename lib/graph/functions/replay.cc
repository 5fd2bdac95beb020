#include "panto/lib/graph/functions/replay.h"

#include <algorithm>
#include <utility>

#include "panto/lib/base/small_vector.h"
#include "panto/lib/core/call/recorder.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/flow/flow.h"

namespace panto {
namespace {

ReplayWriter* current_writer() { return dynamic_cast<ReplayWriter*>(symbolic_recorder()); }

bool is_waited_for(const Node& node) {
  return std::ranges::any_of(node.consumers(), [](const NodeUse& use) { return use.slot == NodeUse::kControl; });
}

// While it lives, recorded calls also wait for these nodes.
class Waiting {
 public:
  Waiting(ReplayWriter& writer, std::vector<int> nodes) : writer_(writer), before_(writer.wait_also({})) {
    nodes.insert(nodes.end(), before_.begin(), before_.end());
    writer.wait_also(std::move(nodes));
  }
  ~Waiting() { writer_.wait_also(std::move(before_)); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  ReplayWriter& writer_;
  std::vector<int> before_;
};

}  // namespace

dispatch::Outputs call_node(const Node& node, std::span<const Tensor* const> inputs, Device* device) {
  const SmallVector<AttrSlot, 8> slots = borrow(node.attrs());
  dispatch::CallOptions options;
  options.node_name = node.name();
  options.device = device;
  return dispatch::call(node.op(), inputs, slots, options);
}

void Replay::run(int id) {
  if (has(id)) return;
  const Node& node = graph_.at(id);
  if (is_unknown(node)) fail_unknown(node);
  refuse_control_flow(node);
  SmallVector<const Tensor*, 8> inputs;
  for (const NodeOutput& input : node.inputs()) inputs.push_back(&value(input));
  // The writer keeps nodes with effects in any case.
  const bool needed = needed_.contains(id) && !node.op().has_effects();
  const bool told = needed || !node.control_inputs().empty() || is_waited_for(node);
  ReplayWriter* const writer = told ? current_writer() : nullptr;
  if (writer == nullptr) return set(id, call_node(node, inputs));

  std::vector<int> after;
  for (const int before : node.control_inputs()) {
    if (const auto found = written_.find(before); found != written_.end()) after.push_back(found->second);
  }
  const Waiting waiting(*writer, std::move(after));
  const int latest = writer->latest_node();
  set(id, call_node(node, inputs));
  if (writer->latest_node() == latest) return;
  written_[id] = writer->latest_node();
  if (needed) writer->must_run(writer->latest_node());
}

}  // namespace panto
