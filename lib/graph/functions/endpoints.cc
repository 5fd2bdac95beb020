#include "panto/lib/graph/functions/endpoints.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "panto/lib/base/text/format.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/flow/flow.h"
#include "panto/lib/graph/nodes.h"

namespace panto {

namespace {

constexpr std::string_view kInput = "_function_input";
constexpr std::string_view kEffect = "_function_effect";

// The mark of a node: it is number `position` of `count`.
struct Mark {
  int64_t position;
  int64_t count;
  const Node* node;
};

bool add_mark(const Node& node, std::string_view name, std::vector<Mark>& marks) {
  const AttrValue* value = node.internal_attr(name);
  if (value == nullptr) return false;
  if (value->kind() != AttrKind::kIntList || value->list_length() != 2) {
    invalid("{} of node '{}': expected a list of two integers, a number and a count, got {}", name, node.name(),
            value->to_string());
  }
  const auto& numbers = value->as<std::vector<int64_t>>();
  marks.push_back({numbers[0], numbers[1], &node});
  return true;
}

bool is_effect(const Node& node) {
  const AttrValue* value = node.internal_attr(kEffect);
  return value != nullptr && value->kind() == AttrKind::kBool && value->as<bool>();
}

// Checks that each number of 0 ... count - 1 is at exactly one node, and returns the outputs in that order.
std::vector<NodeOutput> in_order(std::vector<Mark> marks, std::string_view what) {
  constexpr std::string_view kRemedy = "name inputs and outputs to use a part of the graph";
  std::ranges::stable_sort(marks, {}, &Mark::position);
  std::vector<NodeOutput> outputs;
  for (size_t k = 0; k < marks.size(); ++k) {
    const Mark& mark = marks[k];
    if (k > 0 && mark.position == marks[k - 1].position) {
      invalid("{} of the function: expected each once, got number {} at both '{}' and '{}' ({})", what, mark.position,
              marks[k - 1].node->name(), mark.node->name(), kRemedy);
    }
    if (mark.count != marks[0].count) {
      invalid("{} of the function: expected one count of them, got {} at '{}' and {} at '{}' ({})", what,
              marks[0].count, marks[0].node->name(), mark.count, mark.node->name(), kRemedy);
    }
    if (mark.position < 0 || mark.position >= mark.count) {
      invalid("{} of the function: expected a number below {}, got {} at '{}'", what, mark.count, mark.position,
              mark.node->name());
    }
    if (mark.position != static_cast<int64_t>(k)) break;
    outputs.push_back({mark.node->id(), 0});
  }
  if (!marks.empty() && outputs.size() != static_cast<size_t>(marks[0].count)) {
    invalid("{} of the function: expected {}, each once, got none that is number {} ({})", what, marks[0].count,
            outputs.size(), kRemedy);
  }
  return outputs;
}

}  // namespace

Endpoints endpoints_of(const Graph& graph) {
  std::vector<Mark> inputs, outputs;
  Endpoints endpoints;
  for (int id : graph.ids()) {
    const Node& node = graph.at(id);
    if (node.internal_attrs().empty()) continue;
    if (add_mark(node, kInput, inputs) && !node.is(OpKind::kPlaceholder)) {
      invalid("inputs of the function: expected Placeholders, got node '{}' ({})", node.name(), node.op().name());
    }
    if (add_mark(node, kFunctionOutput, outputs) && node.num_outputs() == 0) {
      invalid("outputs of the function: expected nodes with an output, got node '{}' ({})", node.name(),
              node.op().name());
    }
    if (is_effect(node)) endpoints.effects.push_back(id);
  }
  if (inputs.empty() && outputs.empty() && endpoints.effects.empty()) return endpoints_by_order(graph);
  endpoints.inputs = in_order(std::move(inputs), "inputs");
  endpoints.outputs = in_order(std::move(outputs), "outputs");
  return endpoints;
}

Endpoints endpoints_or_order(const Graph& graph) {
  try {
    return endpoints_of(graph);
  } catch (const Error&) {
    return endpoints_by_order(graph);
  }
}

Endpoints endpoints_by_order(const Graph& graph) {
  Endpoints endpoints;
  std::vector<FlowPlace> places;
  try {
    places = flow_of(graph).places;
  } catch (const Error&) {
    places.clear();  // running the graph reports the error
  }
  for (int id : graph.ids()) {
    const Node& node = graph.at(id);
    if (node.is(OpKind::kPlaceholder)) {
      endpoints.inputs.push_back({id, 0});
      continue;
    }
    // Outputs in a loop, or on a branch that may not be taken, cannot be results.
    if (!places.empty() && places[static_cast<size_t>(id)] == FlowPlace::kInside) continue;
    if (!node.consumers().empty()) continue;
    if (node.num_outputs() == 0) endpoints.effects.push_back(id);
    for (int k = 0; k < node.num_outputs(); ++k) endpoints.outputs.push_back({id, k});
  }
  return endpoints;
}

void erase_endpoints(Graph& graph) {
  for (int id : graph.ids()) {
    for (const std::string_view name : {kInput, kFunctionOutput, kEffect}) {
      if (graph.at(id).internal_attr(name) != nullptr) graph.set_internal_attr(id, name, {});
    }
  }
}

void write_endpoints(Graph& graph, const Endpoints& endpoints) {
  erase_endpoints(graph);
  const auto write = [&](std::span<const NodeOutput> marked, std::string_view name) {
    const auto count = static_cast<int64_t>(marked.size());
    for (int64_t i = 0; i < count; ++i) {
      graph.set_internal_attr(marked[static_cast<size_t>(i)].node, name, AttrValue(std::vector<int64_t>{i, count}));
    }
  };
  write(endpoints.inputs, kInput);
  write(endpoints.outputs, kFunctionOutput);
  for (int id : endpoints.effects) graph.set_internal_attr(id, kEffect, AttrValue(true));
}

void copy_endpoints(const Graph& from, Graph& to) {
  erase_endpoints(to);
  for (int id : from.ids()) {
    const Node& node = from.at(id);
    for (const std::string_view name : {kInput, kFunctionOutput, kEffect}) {
      const AttrValue* value = node.internal_attr(name);
      if (value == nullptr) continue;
      if (const Node* same = to.find(node.name())) to.set_internal_attr(same->id(), name, *value);
    }
  }
}

bool is_endpoint(const Node& node) { return node.internal_attr(kFunctionOutput) != nullptr || is_effect(node); }

std::vector<NodeOutput> separate_outputs(Graph& graph, std::span<const NodeOutput> outputs) {
  std::map<NodeOutput, int> times;
  for (const NodeOutput o : outputs) ++times[o];
  std::vector<NodeOutput> separate;
  for (const NodeOutput o : outputs) {
    const Node& node = graph.at(o.node);
    if (graph.info(o).dtype == DType::kInvalid) fail_unknown(node);
    const bool own = node.num_outputs() == 1 && node.consumers().empty() && times[o] == 1 &&
                     !node.is(OpKind::kPlaceholder) && !node.is(OpKind::kConstant);
    separate.push_back(own ? o
                           : NodeOutput{graph.add(identity_spec(graph.unique_name("Identity"), o, graph.info(o))), 0});
  }
  return separate;
}

}  // namespace panto
