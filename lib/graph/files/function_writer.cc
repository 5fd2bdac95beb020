#include "panto/lib/graph/files/function_writer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/files/wire/attr_proto.h"
#include "panto/lib/graph/functions/expand.h"

namespace panto {
namespace {

using graphdef::FunctionDef;
using graphdef::NodeDef;

// "node:output_argument:i", the form of inputs in function bodies.
std::string output_text(const Node& node, int index) {
  int64_t first = 0;
  for (const ArgDef& arg : node.op().signature().outputs) {
    int64_t count = 1;
    if (arg.number_attr >= 0) count = node.attrs()[static_cast<size_t>(arg.number_attr)].as<int64_t>();
    if (arg.type_list_attr >= 0) count = node.attrs()[static_cast<size_t>(arg.type_list_attr)].list_length();
    if (index < first + count) return fmt::format("{}:{}:{}", node.name(), arg.name, index - first);
    first += count;
  }
  failf(Code::kInternal, "output {} of node '{}': expected one of the op's, got none", index, node.name());
}

// Argument names in OpDefs consist of lower-case letters, digits and "_".
std::string argument_name(std::string_view wanted, std::set<std::string>& taken) {
  std::string name;
  for (const char c : wanted) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    name += upper ? static_cast<char>(c - 'A' + 'a') : plain ? c : '_';
  }
  if (name.empty() || !(name[0] >= 'a' && name[0] <= 'z')) name.insert(0, "arg_");
  std::string unique = name;
  for (int i = 1; !taken.insert(unique).second; ++i) unique = fmt::format("{}_{}", name, i);
  return unique;
}

}  // namespace

const Graph* as_others_know_it(const Graph& graph, const ExportOptions& options, Graph& copy) {
  const auto is_ours = [](const Node& node) { return is_composite(node) && !node.op().in_tensorflow(); };
  if (options.own_ops || std::ranges::none_of(graph.ids(), [&](int id) { return is_ours(graph.at(id)); }))
    return &graph;
  copy = graph;
  expand_composites(copy, is_ours);
  return &copy;
}

FunctionWriter::FunctionWriter(const ExportOptions& options, graphdef::FunctionDefLibrary* library)
    : options_(options), library_(library) {}

std::string FunctionWriter::name_of(const FunctionRef& function) {
  if (function.body == nullptr && function.library == nullptr) return function.name;
  const std::shared_ptr<const GraphFunction> body = graph_function(function);
  if (const auto known = names_.find(body.get()); known != names_.end()) return known->second;
  std::string name = body->name();
  for (int i = 1; taken_.contains(name); ++i) name = fmt::format("{}_{}", body->name(), i);
  names_[body.get()] = name;
  taken_[name] = body.get();
  kept_.push_back(body);
  FunctionDef def;
  if (may_stay(*body, name)) {
    if (!def.ParseFromString(body->definition())) fail(Code::kInternal, "function: expected what was read");
  } else {
    write(*body, &def);
  }
  def.mutable_signature()->set_name(name);
  if (!body->gradient().name.empty()) {
    graphdef::GradientDef gradient;
    gradient.set_function_name(name);
    gradient.set_gradient_func(name_of(body->gradient()));
    const auto& there = library_->gradient();
    const auto same = [&](const graphdef::GradientDef& g) { return g.function_name() == name; };
    if (std::ranges::none_of(there, same)) *library_->add_gradient() = std::move(gradient);
  }
  for (FunctionDef& there : *library_->mutable_function()) {
    if (there.signature().name() != name) continue;
    there = std::move(def);
    return name;
  }
  *library_->add_function() = std::move(def);
  return name;
}

// True if the file's own definition can be written again unchanged: the function and all functions that it calls, which
// are written here, keep their names.
bool FunctionWriter::may_stay(const GraphFunction& function, const std::string& name) {
  if (function.definition().empty()) return false;
  bool same = name == function.name(), unknown = false;
  const auto look_at = [&](const FunctionRef& called) {
    if (called.body == nullptr) return;  // the function itself, or an outer one
    const auto* body = dynamic_cast<const GraphFunction*>(called.body.get());
    same = name_of(called) == called.name && body != nullptr && !body->definition().empty() && same;
  };
  for (const int id : function.graph().ids()) {
    const Node& node = function.graph().at(id);
    unknown = unknown || is_unknown(node);
    for_each_function(node, look_at);
  }
  return same || unknown;  // only the file's own text tells what an unknown op means
}

void FunctionWriter::attr_to_proto(const AttrValue& value, graphdef::AttrValue* proto) {
  if (value.kind() == AttrKind::kFunc) {
    proto->mutable_func()->set_name(name_of(value.as<FunctionRef>()));
  } else if (value.kind() == AttrKind::kFuncList) {
    proto->mutable_list();
    for (const FunctionRef& f : value.as<std::vector<FunctionRef>>()) {
      const std::string name = name_of(f);
      proto->mutable_list()->add_func()->set_name(name);
    }
  } else {
    panto::attr_to_proto(value, proto);
  }
}

void FunctionWriter::attrs_to_proto(const Node& node, NodeDef* def) {
  const auto& attrs = node.op().signature().attrs;
  for (size_t i = 0; i < attrs.size() && !is_unknown(node); ++i) {
    const AttrValue& value = node.attrs()[i];
    if (options_.strip_defaults && attrs[i].has_default() && value == attrs[i].default_value) continue;
    with_context([&] { return fmt::format("attribute {} of node '{}'", attrs[i].name, printable(node.name())); },
                 [&] { attr_to_proto(value, &(*def->mutable_attr())[attrs[i].name]); });
  }
  for (const auto& [name, value] : node.internal_attrs()) {
    if (name != kKeptAttrs) attr_to_proto(value, &(*def->mutable_attr())[name]);
  }
}

void FunctionWriter::write(const GraphFunction& function, FunctionDef* def) {
  Graph copy;
  const Graph& graph = *as_others_know_it(function.graph(), options_, copy);
  const Endpoints& endpoints = function.endpoints();
  // Expansion renames nodes: find them by their old names.
  const auto here = [&](NodeOutput output) {
    return NodeOutput{graph.at(function.graph().at(output.node).name()).id(), output.index};
  };
  std::set<std::string> taken;
  for (int id : graph.ids()) {
    const Node& node = graph.at(id);
    if (!node.is(OpKind::kPlaceholder)) taken.insert(node.name());
  }
  std::map<NodeOutput, std::string> arguments;
  auto& signature = *def->mutable_signature();
  for (NodeOutput input : endpoints.inputs) {
    const NodeOutput at = here(input);
    const OutputInfo& info = graph.info(at);
    graphdef::OpDef::ArgDef* arg = signature.add_input_arg();
    arg->set_name(argument_name(graph.at(at.node).name(), taken));
    arg->set_type(static_cast<graphdef::DataType>(info.dtype));
    arguments.emplace(at, arg->name());
    panto::attr_to_proto(AttrValue(std::vector<PartialShape>{info.shape}),
                         &(*(*def->mutable_arg_attr())[static_cast<uint32_t>(signature.input_arg_size() - 1)]
                                .mutable_attr())["_output_shapes"]);
  }
  const auto text = [&](NodeOutput output) {
    const auto argument = arguments.find(output);
    return argument != arguments.end() ? argument->second : output_text(graph.at(output.node), output.index);
  };
  std::vector<int> roots;
  for (NodeOutput o : endpoints.outputs) roots.push_back(here(o).node);
  for (int e : endpoints.effects) roots.push_back(here({e, 0}).node);
  const GraphFunction needed("", graph, {.inputs = {}, .outputs = {}, .effects = roots});
  for (int id : needed.needed()) {
    const Node& node = graph.at(id);
    if (arguments.contains({id, 0})) continue;
    if (node.op().name().starts_with('_') && !node.op().in_tensorflow() && !options_.own_ops) {
      invalid("op: expected one that TensorFlow has, got {} [node '{}' of function '{}']", op_name(node), node.name(),
              function.name());
    }
    NodeDef* written = def->add_node_def();
    written->set_name(node.name());
    written->set_op(op_name(node));
    written->set_device(node.device());
    for (const NodeOutput& input : node.inputs()) written->add_input(text(input));
    for (int control : node.control_inputs()) {
      if (!arguments.contains({control, 0})) written->add_input("^" + graph.at(control).name());
    }
    attrs_to_proto(node, written);
  }
  std::set<std::string> outputs;
  for (NodeOutput output : endpoints.outputs) {
    graphdef::OpDef::ArgDef* arg = signature.add_output_arg();
    arg->set_name(argument_name("output", outputs));
    arg->set_type(static_cast<graphdef::DataType>(graph.info(here(output)).dtype));
    (*def->mutable_ret())[arg->name()] = text(here(output));
  }
  for (int effect : endpoints.effects) {
    const std::string& name = graph.at(here({effect, 0}).node).name();
    signature.add_control_output(name);
    (*def->mutable_control_ret())[name] = name;
  }
  if (function.effects() != 0) signature.set_is_stateful(true);
}

}  // namespace panto
