#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/core/step/stop.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/runtime/optimizer.h"
#include "panto/lib/runtime/passes/functions.h"

namespace panto {

namespace {

// Removes colocation with nodes that were removed: TensorFlow would not load such a graph.
void forget_neighbours(Graph& graph) {
  constexpr std::string_view kClass = "_class", kPrefix = "loc:@";
  for (const int id : graph.ids()) {
    const AttrValue* classes = graph.at(id).internal_attr(kClass);
    if (classes == nullptr || classes->kind() != AttrKind::kStringList) continue;
    std::vector<std::string> names = classes->as<std::vector<std::string>>();
    const auto is_gone = [&](const std::string& text) {
      return text.starts_with(kPrefix) && graph.find(std::string_view(text).substr(kPrefix.size())) == nullptr;
    };
    if (std::erase_if(names, is_gone) == 0) continue;
    graph.set_internal_attr(id, kClass, names.empty() ? AttrValue() : AttrValue(std::move(names)));
  }
}

class FunctionOptimizer {
 public:
  FunctionOptimizer(std::string_view passes, std::vector<PassRun>& runs) : passes_(passes), runs_(runs) {}

  // Makes the nodes of `graph` call optimized functions.
  void rewrite(Graph& graph) {
    for (const int id : graph.ids()) {
      const Node& node = graph.at(id);
      if (is_unknown(node) || !calls_functions(node.op())) continue;
      std::vector<AttrValue> attrs(node.attrs().begin(), node.attrs().end());
      passes::replace_functions(attrs, [&](const FunctionRef& function) { return optimized(function); });
      for (size_t i = 0; i < attrs.size(); ++i) {
        if (attrs[i] == node.attrs()[i]) continue;
        graph.set_attr(id, node.op().signature().attrs[i].name, std::move(attrs[i]));
      }
    }
  }

  void note(const std::vector<PassRun>& more) {
    for (const PassRun& run : more) {
      const auto same = std::ranges::find(runs_, run.name, &PassRun::name);
      if (same == runs_.end()) {
        runs_.push_back(run);
        continue;
      }
      same->changes += run.changes;
      same->seconds += run.seconds;
      if (same->error.empty()) same->error = run.error;
    }
  }

 private:
  FunctionRef optimized(const FunctionRef& reference) {
    const auto function = std::dynamic_pointer_cast<const GraphFunction>(reference.body);
    if (function == nullptr) return reference;
    const auto known = made_.find(function);
    const std::shared_ptr<const GraphFunction>& made =
        known != made_.end() ? known->second : made_.emplace(function, make(function)).first->second;
    return made == function ? reference : FunctionRef{.name = reference.name, .body = made};
  }

  static bool must_stay(const GraphFunction& function) {
    if (function.note() != nullptr) return true;
    const Graph& graph = function.graph();
    return std::ranges::any_of(graph.ids(), [&](int id) {
      bool by_name = is_unknown(graph.at(id));
      for_each_function(graph.at(id), [&](const FunctionRef& called) { by_name = by_name || called.body == nullptr; });
      return by_name;
    });
  }

  std::shared_ptr<const GraphFunction> make(const std::shared_ptr<const GraphFunction>& function) {
    const Endpoints& endpoints = function->endpoints();
    if (must_stay(*function) || (endpoints.outputs.empty() && endpoints.effects.empty())) return function;
    try {
      Graph graph = function->graph();
      rewrite(graph);
      std::vector<PassRun> went;
      Graph smaller = optimize(graph, endpoints.outputs, endpoints.effects, passes_, &went);
      forget_neighbours(smaller);
      const auto now = [&](NodeOutput before) {
        return NodeOutput{smaller.at(graph.at(before.node).name()).id(), before.index};
      };
      Endpoints same;
      for (const NodeOutput& input : endpoints.inputs) same.inputs.push_back(now(input));
      for (const NodeOutput& output : endpoints.outputs) same.outputs.push_back(now(output));
      for (const int effect : endpoints.effects) same.effects.push_back(now({effect, 0}).node);
      auto made = std::make_shared<GraphFunction>(function->name(), std::move(smaller), std::move(same));
      made->set_gradient(function->gradient());
      note(went);
      return made;
    } catch (const Error& error) {
      if (is_stop(error)) throw;
      note({{.name = fmt::format("function {}", printable(function->name())), .error = error.what()}});
      return function;
    }
  }

  std::string_view passes_;
  std::vector<PassRun>& runs_;
  std::map<std::shared_ptr<const GraphFunction>, std::shared_ptr<const GraphFunction>> made_;
};

}  // namespace

Graph optimize_with_functions(const Graph& graph, std::span<const NodeOutput> fetches, std::span<const int> targets,
                              std::string_view passes, std::vector<PassRun>* runs) {
  std::vector<PassRun> ignored;
  std::vector<PassRun>& all = runs != nullptr ? *runs : ignored;
  all.clear();
  FunctionOptimizer functions(passes, all);
  Graph copy = graph;
  functions.rewrite(copy);
  std::vector<PassRun> went;
  Graph optimized = optimize(copy, fetches, targets, passes, &went);
  functions.note(went);
  forget_neighbours(optimized);
  return optimized;
}

}  // namespace panto
