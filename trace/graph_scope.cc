#include "panto/trace/graph_scope.h"

#include "panto/lib/base/text/format.h"
#include "panto/trace/tracer.h"

namespace panto {
namespace {

// The innermost tracer of this thread; null if there is none.
Tracer* find_tracer() {
  const auto stack = recorders();
  for (size_t i = stack.size(); i-- > 0;) {
    if (auto* tracer = dynamic_cast<Tracer*>(stack[i])) return tracer;
  }
  return nullptr;
}

Tracer& current_tracer() {
  Tracer* tracer = find_tracer();
  if (tracer == nullptr) {
    fail(Code::kFailedPrecondition, "graph: expected an open GraphScope or a trace, got neither");
  }
  return *tracer;
}

}  // namespace

struct GraphScope::Impl {
  explicit Impl(Graph& graph)
      : outer(find_tracer() != nullptr ? std::make_unique<RecorderPause>() : nullptr),
        tracer(graph, {.symbolic = true, .order_effects = false, .capture = false, .make_variables = true}),
        previous_maker(set_variable_maker(&tracer)) {}
  ~Impl() {
    VariableMaker* const now = set_variable_maker(previous_maker);
    if (now != &tracer) set_variable_maker(now);  // ends after its thread
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::unique_ptr<RecorderPause> outer;  // the graph around this one has no part in what is built here
  Tracer tracer;
  VariableMaker* previous_maker;
};

GraphScope::GraphScope(Graph& graph) : impl_(std::make_shared<Impl>(graph)) { push_recorder(&impl_->tracer); }
// Elsewhere than on its thread: that one closes it when it calls the next op.
GraphScope::~GraphScope() {
  Tracer* const tracer = &impl_->tracer;
  end_recorder(std::shared_ptr<Recorder>(impl_.shared(), tracer));
}

Graph& current_graph() { return current_tracer().graph(); }

Tensor placeholder(DType dtype, std::initializer_list<Dim> dims, std::string_view name) {
  return placeholder(dtype, PartialShape(dims), name);
}

Tensor placeholder(DType dtype, const PartialShape& shape, std::string_view name) {
  return current_tracer().add_input(dtype, shape, std::string(name));
}

namespace {

void append_nodes(const Graph& graph, const GraphElements& elements, std::vector<int>& ids) {
  for (const GraphElement& element : elements.elements()) {
    // A value from outside the graph is there already.
    const Tensor& t = element.tensor();
    const bool there = element.kind() == GraphElement::Kind::kTensor && t.defined() && !t.is_meta();
    if (there && !graph.output_of(t).valid()) continue;
    ids.push_back(node_of(graph, element, graph.identity()));
  }
}

bool is_trained(const GraphVariable& v) {
  return v.trained && v.symbol.defined() && dtypes::kFloating.contains(v.dtype);
}

Variable variable_of(const GraphVariable& v) { return Variable::from_handle(v.symbol, v.dtype, v.shape, v.name); }

}  // namespace

Operation group(const GraphElements& elements, std::string_view name) {
  Tracer& tracer = current_tracer();
  std::vector<int> ids;
  append_nodes(tracer.graph(), elements, ids);
  return tracer.operation(tracer.add_no_op(std::string(name), std::move(ids)));
}

Operation global_variables_initializer(std::string_view name) {
  Tracer& tracer = current_tracer();
  std::vector<int> ids;
  for (const GraphVariable& v : tracer.graph().variables()) ids.push_back(v.initializer);
  return tracer.operation(tracer.add_no_op(std::string(name), std::move(ids)));
}

std::vector<Variable> trainable_variables() {
  std::vector<Variable> trained;
  for (const GraphVariable& v : current_graph().variables()) {
    if (is_trained(v)) trained.push_back(variable_of(v));
  }
  return trained;
}

void add_to_collection(std::string_view key, const GraphElements& elements) {
  Graph& graph = current_graph();
  for (const GraphElement& element : elements.elements()) {
    NodeOutput item = output_of(graph, element, graph.identity());
    if (!item.valid()) item = {node_of(graph, element, graph.identity()), Graph::kNoOutput};
    graph.add_to_collection(key, item);
  }
}

std::vector<GraphElement> get_collection(const Graph& graph, std::string_view key, std::string_view scope) {
  std::vector<GraphElement> found;
  const bool all = key == "variables", trained = key == "trainable_variables";
  for (const GraphVariable& v : graph.variables()) {
    if (v.name.starts_with(scope) && v.symbol.defined() && (all || (trained && is_trained(v)))) {
      found.emplace_back(variable_of(v));
    }
  }
  for (const NodeOutput& item : graph.collection(key)) {
    const Node& node = graph.at(item.node);
    if (!node.name().starts_with(scope)) continue;
    const auto variable = std::ranges::find(graph.variables(), item, &GraphVariable::handle);
    if (variable != graph.variables().end() && variable->symbol.defined()) {
      found.emplace_back(variable_of(*variable));
    } else {
      found.emplace_back(item.index == Graph::kNoOutput ? "^" + node.name() : graph.output_name(item));
    }
  }
  return found;
}

ControlDependencies::ControlDependencies(const GraphElements& elements) {
  Tracer& tracer = current_tracer();
  std::vector<int> ids = tracer.control_inputs();
  append_nodes(tracer.graph(), elements, ids);
  previous_ = tracer.set_control_inputs(std::move(ids));
}

ControlDependencies::~ControlDependencies() {
  if (Tracer* tracer = find_tracer()) tracer->set_control_inputs(std::move(previous_));
}

CollectEffects::CollectEffects() : first_(current_tracer().effects().size()) {}

std::vector<Operation> CollectEffects::operations() const {
  const Tracer& tracer = current_tracer();
  std::vector<Operation> operations;
  for (size_t i = first_; i < tracer.effects().size(); ++i) {
    operations.push_back(tracer.operation(tracer.effects()[i]));
  }
  return operations;
}

}  // namespace panto
