#include "panto/lib/runtime/placement/cost_model.h"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "panto/lib/base/file.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/runtime/placement/node_work.h"
#include "panto/lib/runtime/placement/placer.h"

namespace panto {

namespace {

using Json = nlohmann::json;

constexpr const char* kFormat = "panto costs 1";
constexpr int kMostDepth = 8;  // of nested function calls; deeper ones count as free

// A key: the op with everything that its time depends on, except tensor attributes.
std::string text_of(const Graph& graph, const Node& node, DeviceKind kind) {
  std::string text = fmt::format("{} {}(", device_kind_name(kind), node.op().name());
  for (const NodeOutput& input : node.inputs()) {
    const OutputInfo& info = graph.info(input);
    text += fmt::format("{}{},", info.dtype == DType::kInvalid ? "?" : dtype_name(info.dtype), info.shape.to_string());
  }
  text += ")";
  for (size_t i = 0; i < node.attrs().size(); ++i) {
    if (node.attrs()[i].kind() == AttrKind::kTensor) continue;
    text += fmt::format(" {}={}", node.op().signature().attrs[i].name, node.attrs()[i].to_string());
  }
  return printable(text);
}

double estimate_at(const Graph& graph, const Node& node, const DeviceRates& rates, int depth);

double estimate_function(const FunctionRef& reference, const DeviceRates& rates, int depth) {
  if (depth == kMostDepth) return 0;
  const std::shared_ptr<const GraphFunction> function = graph_function(reference);
  double sum = 0;
  for (const int id : function->needed()) {
    sum += estimate_at(function->graph(), function->graph().at(id), rates, depth + 1);
  }
  return sum;
}

double estimate_at(const Graph& graph, const Node& node, const DeviceRates& rates, int depth) {
  if (!needs_kernel(node)) return 0;
  const bool chooses = node.is(OpKind::kCond) || node.is(OpKind::kCase);
  double called = 0;
  for_each_function(node, [&](const FunctionRef& function) {
    const double one = estimate_function(function, rates, depth);
    called = chooses ? std::max(called, one) : called + one;
  });
  if (node.is(OpKind::kLoop)) called *= CostModel::kRounds;
  if (called > 0) return rates.seconds_per_call + called;
  const NodeWork work = work_of(graph, node);
  return rates.seconds_per_call +
         std::max(work.operations / rates.operations_per_second, work.bytes / rates.bytes_per_second);
}

}  // namespace

struct CostModel::Impl {
  struct Measured {
    double seconds = 0;
    double estimate = 0;
  };
  std::mutex mutex;
  std::map<DeviceKind, DeviceRates> rates;
  TransferRates transfer;
  std::map<std::string, Measured> measured;  // by text_of
  // By kind: the sum of measured times, and the sum of their estimates.
  std::map<std::string, std::pair<double, double>, std::less<>> sums;

  // The ratio of measured to estimated times on the kind.
  double scale(DeviceKind kind) const {
    const auto found = sums.find(device_kind_name(kind));
    return found == sums.end() || found->second.second <= 0 ? 1 : found->second.first / found->second.second;
  }
};

CostModel::CostModel() : impl_(std::make_unique<Impl>()) {}
CostModel::~CostModel() = default;

DeviceRates CostModel::rates(DeviceKind kind) const {
  const std::lock_guard lock(impl_->mutex);
  if (const auto found = impl_->rates.find(kind); found != impl_->rates.end()) return found->second;
  // Devices with memory of their own are assumed to be faster than the host, with slower launches.
  if (kind == DeviceKind::kCpu) return {};
  return {.seconds_per_call = 5e-6, .operations_per_second = 1e13, .bytes_per_second = 1e12};
}

void CostModel::set_rates(DeviceKind kind, const DeviceRates& rates) {
  if (!(rates.seconds_per_call >= 0) || !(rates.operations_per_second > 0) || !(rates.bytes_per_second > 0)) {
    invalid("rates: expected a time that is not negative and numbers a second above 0, got {}, {} and {}",
            rates.seconds_per_call, rates.operations_per_second, rates.bytes_per_second);
  }
  const std::lock_guard lock(impl_->mutex);
  impl_->rates[kind] = rates;
}

TransferRates CostModel::transfer_rates() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->transfer;
}

void CostModel::set_transfer_rates(const TransferRates& rates) {
  if (!(rates.seconds_per_transfer >= 0) || !(rates.bytes_per_second > 0)) {
    invalid("transfer rates: expected a time that is not negative and bytes a second above 0, got {} and {}",
            rates.seconds_per_transfer, rates.bytes_per_second);
  }
  const std::lock_guard lock(impl_->mutex);
  impl_->transfer = rates;
}

double CostModel::estimate(const Graph& graph, const Node& node, DeviceKind kind) const {
  return estimate_at(graph, node, rates(kind), 0);
}

double CostModel::seconds(const Graph& graph, const Node& node, DeviceKind kind) const {
  if (!needs_kernel(node)) return 0;
  const double estimated = estimate(graph, node, kind);
  const std::lock_guard lock(impl_->mutex);
  if (impl_->measured.empty()) return estimated;
  const auto found = impl_->measured.find(text_of(graph, node, kind));
  return found != impl_->measured.end() ? found->second.seconds : estimated * impl_->scale(kind);
}

double CostModel::transfer_seconds(int64_t bytes) const {
  const TransferRates rates = transfer_rates();
  return rates.seconds_per_transfer + static_cast<double>(bytes) / rates.bytes_per_second;
}

void CostModel::note(const Graph& graph, const Node& node, DeviceKind kind, double seconds) {
  if (!needs_kernel(node)) return;
  const double estimated = estimate(graph, node, kind);
  const std::lock_guard lock(impl_->mutex);
  auto& [measured_sum, estimated_sum] = impl_->sums[std::string(device_kind_name(kind))];
  const auto [found, is_new] =
      impl_->measured.try_emplace(text_of(graph, node, kind), Impl::Measured{seconds, estimated});
  if (is_new) {
    measured_sum += seconds;
    estimated_sum += estimated;
  } else if (seconds < found->second.seconds) {
    measured_sum += seconds - found->second.seconds;
    found->second.seconds = seconds;
  }
}

int CostModel::num_measured() const {
  const std::lock_guard lock(impl_->mutex);
  return static_cast<int>(impl_->measured.size());
}

void CostModel::save(const std::string& path) const {
  Json nodes = Json::object();
  {
    const std::lock_guard lock(impl_->mutex);
    for (const auto& [text, of] : impl_->measured) nodes[text] = {of.seconds, of.estimate};
  }
  write_file(path, Json{{"format", kFormat}, {"nodes", nodes}}.dump(1) + "\n");
}

void CostModel::load(const std::string& path) {
  const Json file = Json::parse(read_file(path), nullptr, /*allow_exceptions=*/false);
  const auto refuse = [&] { invalid("{}: expected a file that CostModel::save wrote, got another one", path); };
  if (!file.is_object() || file.value("format", Json()) != kFormat || !file.contains("nodes") ||
      !file["nodes"].is_object()) {
    refuse();
  }
  std::map<std::string, Impl::Measured> read;
  for (const auto& [text, of] : file["nodes"].items()) {
    const bool pair = of.is_array() && of.size() == 2 && of[0].is_number() && of[1].is_number();
    if (!pair || !(of[0].get<double>() >= 0) || !(of[1].get<double>() >= 0)) refuse();
    read[text] = {of[0].get<double>(), of[1].get<double>()};
  }
  const std::lock_guard lock(impl_->mutex);
  for (const auto& [text, of] : read) {
    const auto [found, is_new] = impl_->measured.try_emplace(text, of);
    if (!is_new && of.seconds < found->second.seconds) found->second = of;
  }
  impl_->sums.clear();
  for (const auto& [text, of] : impl_->measured) {
    auto& [measured_sum, estimated_sum] = impl_->sums[text.substr(0, text.find(' '))];
    measured_sum += of.seconds;
    estimated_sum += of.estimate;
  }
}

std::string placement_report(const PlanStats& stats) {
  if (stats.single_device.empty()) return "placed as asked";
  std::string text = fmt::format("placed by cost: predicted {:.3f} ms, best single device {} {:.3f} ms",
                                 stats.predicted_seconds * 1e3, stats.single_device, stats.single_device_seconds * 1e3);
  if (stats.measured_seconds > 0) text += fmt::format(", measured {:.3f} ms", stats.measured_seconds * 1e3);
  return text;
}

}  // namespace panto
