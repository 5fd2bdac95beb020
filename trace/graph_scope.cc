#include "panto/trace/graph_scope.h"

#include <algorithm>

#include "panto/lib/base/text/format.h"
#include "panto/lib/core/call/thread_state.h"
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
    if (now != &tracer) set_variable_maker(now);  // destroyed on another thread, which keeps its maker
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::unique_ptr<RecorderPause> outer;  // outer graphs do not record ops of this scope
  Tracer tracer;
  VariableMaker* previous_maker;
};

GraphScope::GraphScope(Graph& graph) : impl_(std::make_shared<Impl>(graph)) { push_recorder(&impl_->tracer); }
// On another thread, the scope is closed when its own thread calls the next op.
GraphScope::~GraphScope() {
  Tracer* const tracer = &impl_->tracer;
  end_recorder(std::shared_ptr<Recorder>(impl_.shared(), tracer));
}

bool in_graph_scope() { return symbolic_recorders() > 0 && has_variable_maker(); }

void set_graph_seed(int64_t seed) { current_graph().set_seed(seed); }

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
    // There is nothing to wait for: a value from outside of the graph exists already.
    const Tensor& t = element.tensor();
    const bool there = element.kind() == GraphElement::Kind::kTensor && t.defined() && !t.is_meta();
    if (there && !graph.output_of(t).valid()) continue;
    ids.push_back(node_of(graph, element, graph.identity()));
  }
}

bool is_trained(const GraphVariable& v) {
  return v.use == VariableUse::kTrained && dtypes::kFloating.contains(v.dtype);
}
bool is_local(const GraphVariable& v) { return v.use == VariableUse::kLocal; }
bool is_global(const GraphVariable& v) { return !is_local(v); }

Variable variable_of(const Graph& graph, const GraphVariable& v, Tensor initial = {}) {
  Operation initializer = v.initializer < 0 ? Operation() : graph.operation(v.initializer);
  return Variable::from_handle(v.symbol, v.dtype, v.shape, v.name, std::move(initial), std::move(initializer));
}

// The Variable of a graph's variable, with its initial value, a tensor of the open graph.
Variable made_variable(Graph& graph, const GraphVariable& v) {
  const NodeOutput initial = v.initializer < 0 ? NodeOutput() : graph.at(v.initializer).input(1);
  return variable_of(graph, v, symbol_of(graph, initial));
}

using IsMeant = bool (*)(const GraphVariable&);
std::vector<const GraphVariable*> variables_of(const Graph& graph, std::string_view scope, IsMeant is_meant) {
  std::vector<const GraphVariable*> found;
  for (const GraphVariable& v : graph.variables()) {
    if (v.symbol.defined() && v.name.starts_with(scope) && is_meant(v)) found.push_back(&v);
  }
  return found;
}

Operation initializer_of(std::string_view name, IsMeant is_meant) {
  Tracer& tracer = current_tracer();
  std::vector<int> ids;
  for (const GraphVariable& v : tracer.graph().variables()) {
    if (is_meant(v)) ids.push_back(v.initializer);
  }
  return tracer.operation(tracer.add_no_op(std::string(name), std::move(ids)));
}

// The variables of the open graph that `is_meant` accepts and whose names begin with `scope`.
std::vector<Variable> made_variables(std::string_view scope, IsMeant is_meant) {
  Graph& graph = current_graph();
  std::vector<Variable> made;
  for (const GraphVariable* v : variables_of(graph, scope, is_meant)) made.push_back(made_variable(graph, *v));
  return made;
}

}  // namespace

Operation group(const GraphElements& elements, std::string_view name) {
  Tracer& tracer = current_tracer();
  std::vector<int> ids;
  append_nodes(tracer.graph(), elements, ids);
  return tracer.operation(tracer.add_no_op(std::string(name), std::move(ids)));
}

Operation global_variables_initializer(std::string_view name) { return initializer_of(name, is_global); }
Operation local_variables_initializer(std::string_view name) { return initializer_of(name, is_local); }

Operation variables_initializer(const std::vector<Variable>& variables, std::string_view name) {
  Tracer& tracer = current_tracer();
  std::vector<int> ids;
  for (const Variable& v : variables) {
    const NodeOutput handle = v.defined() ? tracer.graph().output_of(v.handle()) : NodeOutput();
    const auto made = std::ranges::find(tracer.graph().variables(), handle, &GraphVariable::handle);
    if (!handle.valid() || made == tracer.graph().variables().end()) {
      invalid("variables: expected some that were made in the open graph, got '{}'", v.name());
    }
    ids.push_back(made->initializer);
  }
  return tracer.operation(tracer.add_no_op(std::string(name), std::move(ids)));
}

std::vector<Variable> trainable_variables(std::string_view scope) { return made_variables(scope, is_trained); }
std::vector<Variable> global_variables(std::string_view scope) { return made_variables(scope, is_global); }
std::vector<Variable> local_variables(std::string_view scope) { return made_variables(scope, is_local); }

std::optional<Variable> find_variable(std::string_view name) {
  Graph& graph = current_graph();
  for (const GraphVariable& v : graph.variables()) {
    if (v.name == name && v.symbol.defined()) return made_variable(graph, v);
  }
  return std::nullopt;
}

Tensor get_tensor_by_name(std::string_view name) {
  Graph& graph = current_graph();
  return symbol_of(graph, graph.output(name));
}

std::vector<Tensor> collected_tensors(std::string_view key, std::string_view scope) {
  Graph& graph = current_graph();
  std::vector<Tensor> tensors;
  for (const NodeOutput& item : graph.collection(key)) {
    const std::string& name = graph.at(item.node).name();
    if (!name.starts_with(scope)) continue;
    if (item.index == Graph::kNoOutput) invalid("collection '{}': expected tensors, got operation '{}'", key, name);
    tensors.push_back(symbol_of(graph, item));
  }
  return tensors;
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
  const IsMeant is_meant = key == "variables"             ? is_global
                           : key == "trainable_variables" ? is_trained
                           : key == "local_variables"     ? is_local
                                                          : nullptr;
  if (is_meant != nullptr) {
    for (const GraphVariable* v : variables_of(graph, scope, is_meant)) found.emplace_back(variable_of(graph, *v));
  }
  for (const NodeOutput& item : graph.collection(key)) {
    const Node& node = graph.at(item.node);
    if (!node.name().starts_with(scope)) continue;
    const auto variable = std::ranges::find(graph.variables(), item, &GraphVariable::handle);
    if (variable != graph.variables().end() && variable->symbol.defined()) {
      found.emplace_back(variable_of(graph, *variable));
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
