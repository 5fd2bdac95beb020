// Converts each FunctionDef to a GraphDef with Placeholders for the arguments, which the importer then reads. Inputs in
// a FunctionDef have the forms "argument", "argument:i" and "node:output_argument:i".
#include "panto/lib/graph/files/functions.h"

#include <algorithm>
#include <utility>

#include "panto/lib/base/fnv.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/graph/check.h"
#include "panto/lib/graph/files/graph_def.h"
#include "panto/lib/graph/files/import/adapters.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/files/wire/tensor_proto.h"
#include "panto/lib/graph/flow/raise.h"

namespace panto {
namespace {

using graphdef::FunctionDef;
using graphdef::GraphDef;
using graphdef::NodeDef;
using Attrs = google::protobuf::Map<std::string, graphdef::AttrValue>;

// Limit for functions that are made inside one another: functions nested deeper are made when they run.
constexpr size_t kMostNested = 64;

const graphdef::AttrValue* find_attr(const Attrs& attrs, const std::string& name) {
  const auto found = attrs.find(name);
  return found == attrs.end() ? nullptr : &found->second;
}

int64_t list_size(const graphdef::AttrValue* value) { return value == nullptr ? 0 : value->list().type_size(); }

// Replaces a placeholder by the caller's value, also inside attributes of functions.
void fill_in(graphdef::AttrValue& value, const Attrs& attrs) {
  if (value.value_case() == graphdef::AttrValue::kPlaceholder) {
    const graphdef::AttrValue* given = find_attr(attrs, value.placeholder());
    if (given == nullptr) invalid("attribute: expected a value for '{}', got none", printable(value.placeholder()));
    value = *given;
    return;
  }
  if (value.has_func()) {
    for (auto& [name, inner] : *value.mutable_func()->mutable_attr()) fill_in(inner, attrs);
  }
}

// The types of a function's argument, one for each tensor.
std::vector<int> types_of(const graphdef::OpDef::ArgDef& arg, const Attrs& attrs) {
  if (!arg.type_list_attr().empty()) {
    const graphdef::AttrValue* list = find_attr(attrs, arg.type_list_attr());
    if (list == nullptr) return {};
    return {list->list().type().begin(), list->list().type().end()};
  }
  const graphdef::AttrValue* type = arg.type_attr().empty() ? nullptr : find_attr(attrs, arg.type_attr());
  const int dtype = type != nullptr ? static_cast<int>(type->type()) : static_cast<int>(arg.type());
  if (arg.number_attr().empty()) return {dtype};
  const graphdef::AttrValue* number = find_attr(attrs, arg.number_attr());
  constexpr int64_t kMost = 1 << 16;
  return std::vector<int>(static_cast<size_t>(std::clamp<int64_t>(number == nullptr ? 0 : number->i(), 0, kMost)),
                          dtype);
}

// Converts one function to a GraphDef.
class Conversion {
 public:
  Conversion(const FunctionDef& function, const Attrs& attrs, const std::map<std::string, FunctionDef>& definitions)
      : function_(function), attrs_(attrs), definitions_(definitions) {}

  void run(GraphDef& graph) {
    add_arguments(graph);
    for (const NodeDef& def : function_.node_def()) nodes_[def.name()] = &def;
    for (const NodeDef& def : function_.node_def()) {
      with_context([&] { return fmt::format("node '{}'", printable(def.name())); },
                   [&] {
                     NodeDef* node = graph.add_node();
                     *node = def;
                     for (std::string& input : *node->mutable_input()) input = plain_input(input);
                     for (auto& [name, value] : *node->mutable_attr()) fill_in(value, attrs_);
                   });
    }
    for (const auto& output : function_.signature().output_arg()) {
      const auto found = function_.ret().find(output.name());
      if (found == function_.ret().end()) {
        invalid("ret: expected where output '{}' comes from, got nothing", printable(output.name()));
      }
      const size_t count = types_of(output, attrs_).size();
      for (size_t i = 0; i < count; ++i) outputs_.push_back(plain_input(found->second, static_cast<int>(i)));
    }
  }

  const std::vector<std::string>& inputs() const { return inputs_; }    // names of nodes
  const std::vector<std::string>& outputs() const { return outputs_; }  // "node:0"

 private:
  void add_arguments(GraphDef& graph) {
    const auto& arguments = function_.signature().input_arg();
    for (int a = 0; a < arguments.size(); ++a) {
      const std::vector<int> types = types_of(arguments[a], attrs_);
      const bool is_list = !arguments[a].type_list_attr().empty() || !arguments[a].number_attr().empty();
      std::vector<std::string>& names = arguments_[arguments[a].name()];
      for (size_t i = 0; i < types.size(); ++i) {
        NodeDef* node = graph.add_node();
        node->set_name(is_list ? fmt::format("{}_{}", arguments[a].name(), i) : arguments[a].name());
        node->set_op("Placeholder");
        (*node->mutable_attr())["dtype"].set_type(static_cast<graphdef::DataType>(types[i]));
        graphdef::TensorShapeProto* shape = (*node->mutable_attr())["shape"].mutable_shape();
        shape->set_unknown_rank(true);
        const auto said = function_.arg_attr().find(static_cast<uint32_t>(a));
        if (said != function_.arg_attr().end()) {
          const graphdef::AttrValue* shapes = find_attr(said->second.attr(), "_output_shapes");
          if (shapes != nullptr && shapes->list().shape_size() > static_cast<int>(i)) {
            *shape = shapes->list().shape(static_cast<int>(i));
          }
        }
        names.push_back(node->name());
        inputs_.push_back(node->name());
      }
    }
  }

  // The input in a graph's form: "node:3", or "node" for output 0. `further`: the offset of the wanted output.
  std::string plain_input(const std::string& text, int further = 0) {
    if (text.starts_with('^')) return text;
    const size_t first = text.find(':');
    const std::string node = text.substr(0, first);
    if (const auto argument = arguments_.find(node); argument != arguments_.end()) {
      const auto i =
          static_cast<size_t>(first == std::string::npos ? 0 : number(text, first + 1)) + static_cast<size_t>(further);
      if (i >= argument->second.size()) invalid("input: expected an argument, got '{}'", printable(text));
      return argument->second[i];
    }
    const auto def = nodes_.find(node);
    if (def == nodes_.end()) {
      invalid("input: expected an argument or a node of the function, got '{}'", printable(text));
    }
    if (first == std::string::npos) return further == 0 ? node : fmt::format("{}:{}", node, further);
    const size_t second = text.find(':', first + 1);
    const std::string output = text.substr(first + 1, second == std::string::npos ? second : second - first - 1);
    const int index = (second == std::string::npos ? 0 : number(text, second + 1)) + further;
    return fmt::format("{}:{}", node, first_output(*def->second, output) + index);
  }

  static int number(const std::string& text, size_t from) {
    int value = 0;
    constexpr int kMost = 1 << 20;
    for (size_t i = from; i < text.size(); ++i) {
      if (text[i] < '0' || text[i] > '9' || value > kMost) {
        invalid("input: expected a number behind the last colon, got '{}'", printable(text));
      }
      value = value * 10 + (text[i] - '0');
    }
    if (from == text.size()) invalid("input: expected a number behind the last colon, got '{}'", printable(text));
    return value;
  }

  // The index of the first output of the output argument `output`.
  int first_output(const NodeDef& def, const std::string& output) {
    Attrs attrs = def.attr();
    for (auto& [name, value] : attrs) fill_in(value, attrs_);
    int64_t at = 0;
    if (const auto called = definitions_.find(def.op()); called != definitions_.end()) {
      for (const auto& arg : called->second.signature().output_arg()) {
        if (arg.name() == output) return static_cast<int>(at);
        at += static_cast<int64_t>(types_of(arg, attrs).size());
      }
    } else if (const Signature* signature = signature_of(def.op())) {
      for (const ArgDef& arg : signature->outputs) {
        if (arg.name == output) return static_cast<int>(std::min<int64_t>(at, 1 << 20));
        at += count_of(*signature, arg, attrs);
      }
    } else {
      // The op is unknown: number its output arguments in the order in which they are read.
      std::vector<std::string>& seen = seen_outputs_[def.name()];
      const auto found = std::ranges::find(seen, output);
      if (found == seen.end()) seen.push_back(output);
      return static_cast<int>(std::ranges::find(seen, output) - seen.begin());
    }
    invalid("input: expected an output of {}, got '{}'", printable(def.op()), printable(output));
  }

  static const Signature* signature_of(const std::string& name) {
    const Op* op = find_op(name);
    if (op != nullptr && !is_unknown_op(*op)) return &op->signature();
    const Adapter* adapter = find_adapter(name);
    if (adapter == nullptr) return nullptr;
    return adapter->signature != nullptr ? &adapter->parsed() : &get_op(adapter->becomes).signature();
  }

  static int64_t count_of(const Signature& signature, const ArgDef& arg, const Attrs& attrs) {
    const auto attr = [&](int position) {
      return find_attr(attrs, signature.attrs[static_cast<size_t>(position)].name);
    };
    if (arg.type_list_attr >= 0) return list_size(attr(arg.type_list_attr));
    if (arg.number_attr < 0) return 1;
    const graphdef::AttrValue* number = attr(arg.number_attr);
    return number == nullptr ? 0 : std::clamp<int64_t>(number->i(), 0, 1 << 16);
  }

  const FunctionDef& function_;
  const Attrs& attrs_;
  const std::map<std::string, FunctionDef>& definitions_;
  std::map<std::string, std::vector<std::string>> arguments_;  // names of their Placeholders
  std::map<std::string, const NodeDef*> nodes_;
  std::map<std::string, std::vector<std::string>> seen_outputs_;  // for nodes of unknown ops
  std::vector<std::string> inputs_, outputs_;
};

// A part of the name that distinguishes instances of one function with different attributes.
std::string attrs_text(const Attrs& attrs) {
  std::map<std::string, std::string> sorted;
  for (const auto& [name, value] : attrs) sorted[name] = value.SerializeAsString();
  std::string text;
  for (const auto& [name, bytes] : sorted) text += fmt::format("{}:{}={}:{};", name.size(), name, bytes.size(), bytes);
  return fmt::format("{:016x}", fnv1a(text));
}

bool acts(const Node& node) { return !is_unknown(node) && node.op().has_effect(Effect::kWrites | Effect::kExternal); }

}  // namespace

FileFunctions::FileFunctions(const graphdef::FunctionDefLibrary& library, const graphdef::VersionDef& versions,
                             const ImportOptions& options)
    : versions_(versions), options_(options) {
  for (const graphdef::GradientDef& gradient : library.gradient()) {
    gradients_[gradient.function_name()] = gradient.gradient_func();
  }
  for (const FunctionDef& function : library.function()) {
    FunctionDef known = function;
    known.DiscardUnknownFields();
    if (!definitions_.emplace(function.signature().name(), std::move(known)).second) {
      invalid("function library: expected each name once, got '{}' twice", printable(function.signature().name()));
    }
  }
}

FileFunctions::~FileFunctions() = default;

std::string FileFunctions::enter(const graphdef::NameAttrList& function) {
  const auto definition = definitions_.find(function.name());
  if (definition == definitions_.end()) {
    failf(Code::kUnimplemented, "expected a function of the file, got '{}', which it does not have",
          printable(function.name()));
  }
  Attrs attrs;
  for (const auto& attr : definition->second.signature().attr()) {
    if (const graphdef::AttrValue* given = find_attr(function.attr(), attr.name())) {
      attrs[attr.name()] = *given;
    } else if (attr.has_default_value()) {
      attrs[attr.name()] = attr.default_value();
    }
  }
  const std::string key = attrs.empty() ? function.name() : function.name() + "_" + attrs_text(attrs);
  instances_.try_emplace(key, Instance{&definition->second, std::move(attrs), {}, false});
  return key;
}

FunctionRef FileFunctions::reference(const graphdef::NameAttrList& function) {
  const std::lock_guard lock(mutex_);
  const std::string key = enter(function);
  FunctionRef made{.name = key};
  if (under_way_.contains(key) || under_way_.size() >= kMostNested) {
    made.library = shared_from_this();
  } else {
    made.body = instantiate(key);
  }
  return made;
}

FileFunctions::Types FileFunctions::types_of(const FunctionRef& function) {
  if (function.body != nullptr) {
    const std::span<const DType> inputs = function.body->input_types(), outputs = function.body->output_types();
    return {.inputs = {inputs.begin(), inputs.end()},
            .outputs = {outputs.begin(), outputs.end()},
            .acts = function.body->effects() != 0};
  }
  const std::lock_guard lock(mutex_);
  const Instance& instance = instances_.at(function.name);
  const graphdef::OpDef& signature = instance.definition->signature();
  Types types{.inputs = {}, .outputs = {}, .acts = signature.is_stateful()};
  for (const auto& argument : signature.input_arg()) {
    for (const int type : panto::types_of(argument, instance.attrs)) types.inputs.push_back(dtype_from_proto(type));
  }
  for (const auto& argument : signature.output_arg()) {
    for (const int type : panto::types_of(argument, instance.attrs)) types.outputs.push_back(dtype_from_proto(type));
  }
  return types;
}

std::shared_ptr<const FunctionBody> FileFunctions::find(const std::string& name) const {
  return const_cast<FileFunctions*>(this)->instantiate(name);  // it only fills a cache
}

std::shared_ptr<const GraphFunction> FileFunctions::instantiate(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = instances_.find(key);
  if (found == instances_.end()) {
    failf(Code::kNotFound, "function: expected one of the file, got '{}'", printable(key));
  }
  Instance& instance = found->second;
  if (std::shared_ptr<const GraphFunction> made = instance.made.lock()) return made;
  under_way_.insert(key);
  try {
    std::shared_ptr<const GraphFunction> made =
        with_context([&] { return fmt::format("function '{}'", printable(key)); }, [&] { return make(key, instance); });
    under_way_.erase(key);
    instance.made = made;
    return made;
  } catch (...) {
    under_way_.erase(key);
    throw;
  }
}

std::shared_ptr<const GraphFunction> FileFunctions::make(const std::string& key, Instance& instance) {
  const FunctionDef& definition = *instance.definition;
  if (!std::exchange(instance.counted, true)) {
    nodes_ += definition.node_def_size() + definition.signature().input_arg_size();
  }
  if (nodes_ > options_.max_nodes) {
    failf(Code::kResourceExhausted, "functions: expected at most {} nodes in all, got more", options_.max_nodes);
  }
  GraphDef proto;
  *proto.mutable_versions() = versions_;
  Conversion conversion(definition, instance.attrs, definitions_);
  conversion.run(proto);
  Graph graph = graph_from_proto(proto, options_, shared_from_this());
  Endpoints endpoints;
  for (const std::string& name : conversion.inputs()) endpoints.inputs.push_back({graph.at(name).id(), 0});
  for (const std::string& text : conversion.outputs()) endpoints.outputs.push_back(graph.output(text));
  std::set<int> effects;
  for (const auto& [name, node] : definition.control_ret()) effects.insert(graph.at(node).id());
  for (int id : graph.ids()) {
    if (acts(graph.at(id))) effects.insert(id);
  }
  endpoints.effects.assign(effects.begin(), effects.end());
  raise_control_flow(graph, endpoints);  // so that it has gradients
  // An instance with attribute values is a different function.
  std::string bytes = instance.attrs.empty() ? definition.SerializeAsString() : "";
  auto made = std::make_shared<GraphFunction>(key, std::move(graph), std::move(endpoints), std::move(bytes));
  if (const auto gradient = gradients_.find(definition.signature().name()); gradient != gradients_.end()) {
    graphdef::NameAttrList asked;
    asked.set_name(gradient->second);
    asked.mutable_attr()->insert(instance.attrs.begin(), instance.attrs.end());
    made->set_gradient({.name = enter(asked), .library = shared_from_this()});  // made when it is needed
  }
  return made;
}

}  // namespace panto
