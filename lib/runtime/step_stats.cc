#include "panto/lib/runtime/step_stats.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/runtime/control/depth.h"

namespace panto {

namespace {

template <class Clock>
int64_t nanoseconds_of() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

}  // namespace

thread_local constinit StepStats* watching_stats = nullptr;

OutputStats stats_of(const Tensor& t) {
  return {t.dtype(), t.partial_shape(), is_plain(t.dtype()) && !t.is_meta() ? static_cast<int64_t>(t.nbytes()) : 0};
}

StepStats::StepStats()
    : began_(nanoseconds_of<std::chrono::system_clock>()),
      zero_(nanoseconds_of<std::chrono::steady_clock>()),
      threads_{std::this_thread::get_id()} {}

int64_t StepStats::now() const noexcept { return nanoseconds_of<std::chrono::steady_clock>() - zero_; }

StepStats::~StepStats() = default;

NodeStats StepStats::stats_of_run(std::string name, std::string op, const Device& device, int64_t start,
                                  std::span<const Tensor> outputs) const {
  NodeStats node;
  node.end = now();
  node.name = std::move(name);
  node.op = std::move(op);
  node.device = device.name();
  node.depth = CallDepth::current();
  node.start = start;
  for (const Tensor& t : outputs) {
    if (t.defined()) node.outputs.push_back(stats_of(t));
  }
  return node;
}

void StepStats::add(const Graph& graph, const Node& node, const Device& device, int64_t start,
                    std::span<const Tensor> outputs) {
  NodeStats stats = stats_of_run(node.name(), node.op().name(), device, start, outputs);
  keep(std::move(stats), wants_work() ? work_of(graph, node) : NodeWork());
}

void StepStats::add(std::string name, std::string op, const Device& device, int64_t start,
                    std::span<const Tensor> outputs) {
  keep(stats_of_run(std::move(name), std::move(op), device, start, outputs), NodeWork());
}

int StepStats::thread_number() {
  const std::lock_guard lock(mutex_);
  const auto id = std::this_thread::get_id();
  const auto known = std::ranges::find(threads_, id);
  const auto number = static_cast<int>(known - threads_.begin());
  if (known == threads_.end()) threads_.push_back(id);
  return number;
}

void StepStats::keep(NodeStats stats, const NodeWork&) {
  stats.thread = thread_number();
  const std::lock_guard lock(mutex_);
  nodes_.push_back(std::move(stats));
}

std::vector<NodeStats> StepStats::nodes() const {
  const std::lock_guard lock(mutex_);
  return nodes_;
}

std::string StepStats::largest_outputs() const {
  constexpr size_t kShown = 5;
  std::vector<std::pair<int64_t, std::string>> made;
  for (const NodeStats& node : nodes()) {
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      const OutputStats& output = node.outputs[k];
      made.emplace_back(output.bytes, fmt::format("{} bytes: '{}' output {}, {}{}, on {}", output.bytes, node.name, k,
                                                  dtype_name(output.dtype), output.shape.to_string(), node.device));
    }
  }
  std::ranges::stable_sort(made, std::ranges::greater(), &std::pair<int64_t, std::string>::first);
  std::string text = fmt::format("the run made {} tensors", made.size());
  for (size_t i = 0; i < std::min(made.size(), kShown); ++i)
    text += (i == 0 ? ", the largest " : "; ") + made[i].second;
  return text;
}

}  // namespace panto
