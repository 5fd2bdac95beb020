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

void StepStats::add(const Node& node, const Device& device, int64_t start, std::span<const Tensor> outputs) {
  add(node.name(), node.op().name(), device, start, outputs);
}

void StepStats::add(std::string name, std::string op, const Device& device, int64_t start,
                    std::span<const Tensor> outputs) {
  NodeStats node;
  node.name = std::move(name);
  node.op = std::move(op);
  node.device = device.name();
  node.depth = CallDepth::current();
  node.start = start;
  node.end = now();
  for (const Tensor& t : outputs) {
    if (t.defined()) node.outputs.push_back(stats_of(t));
  }
  const std::lock_guard lock(mutex_);
  const auto id = std::this_thread::get_id();
  const auto known = std::ranges::find(threads_, id);
  node.thread = static_cast<int>(known - threads_.begin());
  if (known == threads_.end()) threads_.push_back(id);
  nodes_.push_back(std::move(node));
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
