#include "panto/lib/runtime/placement/graph_costs.h"

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "panto/lib/base/checked.h"
#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/dispatch.h"
#include "panto/lib/core/op/function_body.h"
#include "panto/lib/core/step/stop.h"
#include "panto/lib/core/tensor/resource.h"
#include "panto/lib/core/tensor/tensor_alloc.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/functions/endpoints.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/graph/infer.h"
#include "panto/lib/ops/control/control.h"
#include "panto/lib/runtime/executable.h"
#include "panto/lib/runtime/placement/cost_model.h"
#include "panto/lib/runtime/placement/node_work.h"

namespace panto {

namespace {

constexpr int kMostDepth = 16;  // of functions that call functions

struct Sum {
  double operations = 0, bytes = 0;
  bool known = true;
  void add(const Sum& other, double times = 1) {
    operations += times * other.operations;
    bytes += times * other.bytes;
    known = known && other.known;
  }
};

class Counter {
 public:
  Sum count(const Graph& graph, std::span<const int> ids, int depth) {
    Sum sum;
    for (const int id : ids) {
      const Node& node = graph.at(id);
      if (is_unknown(node)) {
        sum.known = false;
        continue;
      }
      const NodeWork work = work_of(graph, node);
      sum.add({work.operations, work.bytes, work.known});
      if (!calls_functions(node.op())) continue;
      try {
        sum.add(count_called(graph, node, depth), rounds(node));
      } catch (const Error& error) {
        if (is_stop(error)) throw;
        log_info(std::string("costs: ") + error.what());  // the function does not fit; a run that calls it reports that
        sum.known = false;
      }
    }
    return sum;
  }

  // The sum over all functions, each counted once; nullopt if a function has no plan.
  std::optional<int64_t> peak_of_functions() const { return peak_; }
  void add_peak(const Graph& graph, const Endpoints& endpoints) {
    const std::optional<int64_t> peak = peak_of(graph, endpoints);
    peak_ = peak && peak_ ? std::optional(checked_add(*peak, *peak_, "bytes of plans")) : std::nullopt;
  }

 private:
  static double rounds(const Node& node) { return node.is(OpKind::kLoop) ? CostModel::kRounds : 1; }

  Sum count_called(const Graph& graph, const Node& node, int depth) {
    const bool chooses = node.is(OpKind::kCond) || node.is(OpKind::kCase);
    std::vector<OutputInfo> inputs;
    for (const NodeOutput& input : node.inputs().subspan(chooses ? 1 : 0)) inputs.push_back(graph.info(input));
    if (node.is(OpKind::kLoop)) hold_in_every_round(node, inputs);
    Sum sum;
    for_each_function(node, [&](const FunctionRef& reference) {
      const auto function = std::dynamic_pointer_cast<const GraphFunction>(reference.body);
      if (function == nullptr || depth == kMostDepth) {
        sum.known = false;  // it calls itself
        return;
      }
      const Graph called = with_inputs(*function, inputs);
      const Sum one = count(called, function->needed(), depth + 1);
      if (chooses) {
        sum = {std::max(sum.operations, one.operations), std::max(sum.bytes, one.bytes), sum.known && one.known};
      } else {
        sum.add(one);
      }
      // A plan inlines calls, so they need no plan of their own.
      if (!node.is(OpKind::kCall) && planned_.insert(function).second) add_peak(called, function->endpoints());
    });
    return sum;
  }

  static void hold_in_every_round(const Node& loop, std::vector<OutputInfo>& inputs) {
    const auto body = std::dynamic_pointer_cast<const GraphFunction>(loop.attr("body").as<FunctionRef>().body);
    if (body == nullptr) return;
    std::vector<Tensor> values;
    for (const OutputInfo& info : inputs) values.push_back(meta_tensor(info.dtype, info.shape));
    const std::vector<Tensor> known = detail::loop_invariant(*body, dispatch::pointers_to(values));
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = info_of(known[i]);
  }

  // The function's graph with shapes inferred from a call.
  static Graph with_inputs(const GraphFunction& function, const std::vector<OutputInfo>& inputs) {
    Graph graph = function.graph();
    std::vector<std::pair<NodeOutput, Tensor>> given;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const NodeOutput input = function.endpoints().inputs[i];
      const PartialShape& declared = graph.info(input).shape;
      if (!declared.compatible_with(inputs[i].shape)) continue;  // the call reports that when it runs
      given.emplace_back(input, meta_tensor(inputs[i].dtype, declared.merged_with(inputs[i].shape)));
    }
    infer_shapes(graph, given);
    return graph;
  }

  static std::optional<int64_t> peak_of(const Graph& graph, const Endpoints& endpoints) {
    if (graph.has_control_flow()) return std::nullopt;
    std::vector<ExecutableFeed> feeds;
    for (const int id : graph.ids()) {
      if (graph.at(id).is(OpKind::kPlaceholder)) feeds.push_back({{id, 0}, graph.at(id).output(0)});
    }
    ExecutableOptions options{.passes = "off"};
    options.resources = std::make_shared<ResourceManager>();  // for temporary variables
    try {
      return Executable::make(graph, feeds, endpoints.outputs, endpoints.effects, options)->stats().planned_bytes;
    } catch (const Error& error) {
      if (is_stop(error)) throw;
      log_info(std::string("costs: no plan can be made: ") + error.what());
      return std::nullopt;
    }
  }

  std::optional<int64_t> peak_ = 0;
  std::set<std::shared_ptr<const GraphFunction>> planned_;
};

}  // namespace

GraphCosts graph_costs(const Graph& graph, std::span<const std::pair<NodeOutput, PartialShape>> shapes) {
  Graph known = graph;
  std::vector<std::pair<NodeOutput, Tensor>> given;
  for (const auto& [output, shape] : shapes) {
    const OutputInfo& declared = known.info(output);
    if (!known.at(output.node).is(OpKind::kPlaceholder) || !declared.shape.compatible_with(shape)) {
      invalid("shape of '{}': expected a Placeholder's that fits {}, got {}", known.output_name(output),
              declared.shape.to_string(), shape.to_string());
    }
    given.emplace_back(output, meta_tensor(declared.dtype, declared.shape.merged_with(shape)));
  }
  if (!given.empty()) infer_shapes(known, given);
  GraphCosts costs;
  costs.nodes = known.num_nodes();
  for (const auto& function : functions_of(known)) {
    ++costs.functions;
    costs.function_nodes += static_cast<int>(function->needed().size());
  }
  Counter counter;
  const Sum sum = counter.count(known, known.ids(), 0);
  if (!sum.known) return costs;
  costs.operations = sum.operations;
  costs.bytes_moved = sum.bytes;
  counter.add_peak(known, endpoints_or_order(known));
  costs.peak_bytes = counter.peak_of_functions();
  return costs;
}

}  // namespace panto
