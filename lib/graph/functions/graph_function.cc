#include "panto/lib/graph/functions/graph_function.h"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/infer.h"

namespace panto {
namespace {

constexpr int64_t kMostNodes = int64_t{1} << 40;  // upper limit of the count

// The nodes that outputs and effects need, in topological order.
std::vector<int> needed_nodes(const Graph& graph, const Endpoints& endpoints) {
  std::vector<uint8_t> seen(static_cast<size_t>(graph.id_limit()), 0);
  std::vector<int> roots = endpoints.effects;
  for (NodeOutput o : endpoints.outputs) roots.push_back(o.node);
  while (!roots.empty()) {
    const int id = roots.back();
    roots.pop_back();
    if (std::exchange(seen[static_cast<size_t>(id)], uint8_t{1}) != 0) continue;
    for (NodeOutput in : graph.at(id).inputs()) roots.push_back(in.node);
    for (int c : graph.at(id).control_inputs()) roots.push_back(c);
  }
  std::vector<int> order = graph.topological_order();
  std::erase_if(order, [&](int id) { return seen[static_cast<size_t>(id)] == 0; });
  return order;
}

// For an op that calls functions: the functions' effects, as far as they are known.
uint8_t effects_of(const Node& node) {
  uint8_t declared = 0;
  for (const Effect& e : node.op().effects()) declared |= e.what;
  if (!calls_functions(node.op()) || declared == 0) return declared;
  uint8_t all = 0;
  const auto add = [&](const FunctionRef& f) { all |= f.body != nullptr ? f.body->effects() : declared; };
  for_each_function(node, add);
  return all;
}

}  // namespace

uint8_t effects_of(const Graph& graph, std::span<const int> ids) {
  uint8_t all = 0;
  for (int id : ids) {
    all |= effects_of(graph.at(id));
  }
  return all;
}

int64_t size_of_functions(std::span<const AttrValue> attrs) {
  int64_t size = 0;
  for_each_function(attrs, [&](const FunctionRef& function) {
    const auto* body = dynamic_cast<const GraphFunction*>(function.body.get());
    if (body != nullptr) size = std::min(kMostNodes, size + body->size());
  });
  return size;
}

GraphFunction::GraphFunction(std::string name, Graph graph, Endpoints endpoints, std::string definition)
    : name_(std::move(name)),
      graph_(std::move(graph)),
      endpoints_(std::move(endpoints)),
      definition_(std::move(definition)),
      needed_(needed_nodes(graph_, endpoints_)),
      effects_(effects_of(graph_, needed_)) {
  for (const int id : needed_) size_ = std::min(kMostNodes, size_ + 1 + size_of_functions(graph_.at(id).attrs()));
  for (NodeOutput in : endpoints_.inputs) input_types_.push_back(graph_.info(in).dtype);
  for (NodeOutput out : endpoints_.outputs) output_types_.push_back(graph_.info(out).dtype);
}

void GraphFunction::check_inputs(std::span<const Tensor* const> inputs) const {
  if (inputs.size() != input_types_.size()) {
    invalid("inputs of function '{}': expected {}, got {}", printable(name_), input_types_.size(), inputs.size());
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const PartialShape& shape = graph_.info(endpoints_.inputs[i]).shape;
    const Tensor& t = *inputs[i];
    if (t.dtype() == input_types_[i] && t.partial_shape().compatible_with(shape)) continue;
    invalid("input {} of function '{}': expected {}{}, got {}{}", i, printable(name_), dtype_name(input_types_[i]),
            shape.to_string(), dtype_name(t.dtype()), t.partial_shape().to_string());
  }
}

std::vector<Tensor> GraphFunction::infer(std::span<const Tensor* const> inputs) const {
  check_inputs(inputs);
  return with_context([&] { return fmt::format("in function '{}'", printable(name_)); },
                      [&] {
                        Inference inference(graph_);
                        for (size_t i = 0; i < inputs.size(); ++i) inference.set(endpoints_.inputs[i], *inputs[i]);
                        for (int id : needed_) inference.run(graph_.at(id));
                        std::vector<Tensor> outputs;
                        for (NodeOutput o : endpoints_.outputs) outputs.push_back(inference.at(o));
                        return outputs;
                      });
}

std::string GraphFunction::to_string() const {
  const auto list = [&](std::span<const NodeOutput> of, bool named) {
    std::string text;
    for (NodeOutput o : of) {
      const OutputInfo& info = graph_.info(o);
      text += fmt::format("{}{}{}{}", text.empty() ? "" : ", ", named ? graph_.at(o.node).name() + ": " : "",
                          dtype_name(info.dtype), info.shape.to_string());
    }
    return text;
  };
  std::string outputs;
  for (NodeOutput o : endpoints_.outputs) outputs += (outputs.empty() ? "" : ", ") + graph_.output_name(o);
  return fmt::format("{}({}) -> ({}) = {}\n{}", printable(name_), list(endpoints_.inputs, true),
                     list(endpoints_.outputs, false), outputs, graph_.to_string());
}

std::shared_ptr<void> GraphFunction::companion(const std::function<std::shared_ptr<void>()>& make) const {
  std::call_once(once_, [&] { companion_ = make(); });
  return companion_;
}

std::shared_ptr<const GraphFunction> graph_function(const FunctionRef& function) {
  auto body = std::dynamic_pointer_cast<const GraphFunction>(body_of(function));
  if (body == nullptr) fail(Code::kInternal, "function: expected one that is a graph, got another");
  return body;
}

std::vector<std::shared_ptr<const GraphFunction>> functions_of(const Graph& graph) {
  std::vector<std::shared_ptr<const GraphFunction>> found;
  std::unordered_set<const GraphFunction*> known;
  const auto add = [&](const FunctionRef& reference) {
    if (reference.body == nullptr && reference.library == nullptr) return;
    std::shared_ptr<const GraphFunction> function = graph_function(reference);
    if (known.insert(function.get()).second) found.push_back(std::move(function));
  };
  const auto look = [&](const Graph& at) {
    for (int id : at.ids()) for_each_function(at.at(id), add);
  };
  look(graph);
  for (size_t i = 0; i < found.size(); ++i) look(found[i]->graph());
  return found;
}

std::vector<NodeOutput> insert_function(Graph& graph, const GraphFunction& function, std::span<const NodeOutput> inputs,
                                        const std::string& scope, std::vector<int>& effects) {
  const Graph& from = function.graph();
  std::map<NodeOutput, NodeOutput> moved;
  std::map<int, int> moved_nodes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    moved[function.endpoints().inputs[i]] = inputs[i];
    moved_nodes[function.endpoints().inputs[i].node] = inputs[i].node;
  }
  for (int id : function.needed()) {
    if (moved_nodes.contains(id)) continue;
    const Node& node = from.at(id);
    NodeSpec spec = node.spec();
    for (NodeOutput& in : spec.inputs) in = moved.at(in);
    for (int& c : spec.control_inputs) c = moved_nodes.at(c);
    spec.name = graph.unique_name(fmt::format("{}/{}", scope, spec.name));
    const int to = graph.add(std::move(spec));
    moved_nodes[id] = to;
    for (int k = 0; k < node.num_outputs(); ++k) moved[{id, k}] = {to, k};
  }
  for (int id : function.endpoints().effects) effects.push_back(moved_nodes.at(id));
  std::vector<NodeOutput> outputs;
  for (NodeOutput o : function.endpoints().outputs) outputs.push_back(moved.at(o));
  return outputs;
}

}  // namespace panto
