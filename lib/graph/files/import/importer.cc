#include "panto/lib/graph/files/import/importer.h"

#include <algorithm>
#include <deque>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>

#include "panto/lib/base/log.h"
#include "panto/lib/base/text/format.h"
#include "panto/lib/base/text/quote.h"
#include "panto/lib/graph/check.h"
#include "panto/lib/graph/files/functions.h"
#include "panto/lib/graph/files/graph_def.h"
#include "panto/lib/graph/files/import/adapters.h"
#include "panto/lib/graph/files/import/file_nodes.h"
#include "panto/lib/graph/files/import/references.h"
#include "panto/lib/graph/files/unknown.h"
#include "panto/lib/graph/files/wire/attr_proto.h"
#include "panto/lib/graph/functions/endpoints.h"
#include "panto/lib/graph/functions/expand.h"
#include "panto/lib/graph/functions/graph_function.h"
#include "panto/lib/graph/infer.h"

namespace panto {
namespace {

// Sets counts that a file leaves out because they have the default. With one list the number of inputs tells its
// length; with several lists only the defaults do.
void complete_counts(const Signature& signature, std::vector<AttrValue>& attrs) {
  if (std::ranges::count_if(signature.inputs, &ArgDef::is_list) < 2) return;
  for (const ArgDef& arg : signature.inputs) {
    if (!arg.is_list()) continue;
    const auto at = static_cast<size_t>(arg.number_attr >= 0 ? arg.number_attr : arg.type_list_attr);
    if (attrs[at].kind() == AttrKind::kNone) attrs[at] = signature.attrs[at].default_value;
  }
}

}  // namespace

Graph Importer::run() {
  read_versions();
  graph_.reserve(nodes_.size());
  made_.resize(nodes_.size());
  for (int position : nodes_.order()) add(static_cast<size_t>(position));
  for (const auto& [position, infos] : unknown_) graph_.set_outputs(made_[position].node, infos);
  for (const BackEdge& edge : back_edges_) close(edge);
  if (!back_edges_.empty()) infer_shapes(graph_);  // what holds in every round
  if (proto_.has_library()) graph_.set_library(kept_bytes(proto_.library(), "function library"));
  return std::move(graph_);
}

void Importer::read_versions() {
  const auto& v = proto_.versions();
  GraphVersions versions;
  versions.producer = v.producer();
  versions.min_consumer = v.min_consumer();
  versions.bad_consumers.assign(v.bad_consumers().begin(), v.bad_consumers().end());
  graph_.set_versions(std::move(versions));
}

void Importer::add(size_t position) {
  const FileNode& node = nodes_.at(position);
  NodeSpec spec = started(node);
  if (static_cast<size_t>(graph_.num_nodes()) > added_++) make_room(spec.name);
  nodes_.in_node(position, [&] {
    check_device(spec.device);
    AbstractPointers abstract_values;
    read_inputs(position, spec, abstract_values);
    const bool call = nodes_.is_call(node);
    if (node.op == nullptr && node.adapter == nullptr && !call) return add_unknown(position, spec, "");
    if (!unknown_.empty() && !call && !find_types(node, abstract_values)) {
      return add_unknown(position, spec, "inputs: expected known types, got one of an op that is not here");
    }
    const int first = graph_.id_limit();
    try {
      call ? add_call(position, spec, abstract_values) : add_known(position, spec, abstract_values);
    } catch (const Error& error) {
      if (error.code() != Code::kUnimplemented) throw;
      for (int id = graph_.id_limit(); id-- > first;) {
        if (graph_.find(id) != nullptr) graph_.remove(id);
      }
      made_[position] = Made();
      for (int k = 0; k < 2; ++k) references_to_variables_.erase({position, k});
      spec = started(node);
      abstract_values.clear();
      read_inputs(position, spec, abstract_values);
      add_unknown(position, spec, error.message());
    }
  });
  // Abstract values are dropped with their last consumer: a large graph then has few of them at a time.
  for (const NodeOutput& input : nodes_.inputs(node)) {
    const auto producer = static_cast<size_t>(input.node);
    if (--nodes_.at(producer).readers == 0) made_[producer].abstract_values.clear();
  }
  if (node.readers == 0) made_[position].abstract_values.clear();
}

void Importer::make_room(const std::string& name) {
  if (const Node* holder = graph_.find(name)) graph_.rename(holder->id(), graph_.unique_name(name));
}

NodeSpec Importer::started(const FileNode& node) const {
  NodeSpec spec;
  spec.name = node.def->name();
  spec.op = node.op;
  spec.device = node.def->device();
  spec.where = nodes_.line_of(spec.name);
  return spec;
}

void Importer::read_inputs(size_t position, NodeSpec& spec, AbstractPointers& abstract_values) {
  const FileNode& node = nodes_.at(position);
  spec.inputs.reserve(node.num_inputs);
  for (size_t i = 0; i < node.num_inputs; ++i) {
    const NodeOutput& input = nodes_.inputs(node)[i];
    const Made& producer = made_[static_cast<size_t>(input.node)];
    if (producer.node < 0 && nodes_.leads_back(node, i)) {
      // The loop is closed when both ends exist. Until then nothing is known of the value that comes back.
      back_edges_.push_back({position, static_cast<int>(i), input});
      spec.inputs.push_back(spec.inputs[0]);
      abstract_values.push_back(&to_come_.emplace_back(meta_tensor(abstract_values[0]->dtype(), PartialShape())));
      continue;
    }
    if (static_cast<size_t>(input.index) >= producer.outputs.size()) {
      invalid("input {}: expected an output of '{}' below {}, got {}", i,
              nodes_.at(static_cast<size_t>(input.node)).def->name(), producer.outputs.size(), input.index);
    }
    spec.inputs.push_back(producer.outputs[static_cast<size_t>(input.index)]);
    abstract_values.push_back(&producer.abstract_values[static_cast<size_t>(input.index)]);
  }
  for (const NodeOutput& control : nodes_.controls(node)) {
    spec.control_inputs.push_back(made_[static_cast<size_t>(control.node)].node);
  }
}

void Importer::add_known(size_t position, NodeSpec& spec, AbstractPointers& abstract_values) {
  const FileNode& node = nodes_.at(position);
  const Adapter* adapter = node.adapter;
  SmallVector<Tensor, 2> values;  // values of variables, for nodes that read a reference
  if (adapter != nullptr && adapter->kind == Adapter::Kind::kChoice) {
    return choose_reference(position, spec, abstract_values);
  }
  if (!references_to_variables_.empty()) {
    const bool passed = adapter != nullptr && adapter->kind == Adapter::Kind::kPassed;
    if (passed && node.num_inputs > 0 && reference_of(nodes_.inputs(node)[0]) != nullptr) {
      return pass_reference(position, spec, abstract_values);
    }
    const int kept = adapter == nullptr ? 0 : adapter->references;
    values.reserve(node.num_inputs);
    read_references(node, static_cast<size_t>(kept), spec, abstract_values, values);
  }
  if (adapter != nullptr && adapter->kind == Adapter::Kind::kLastValue) {
    return add_last_value(position, spec, abstract_values);
  }
  if (adapter != nullptr && adapter->makes_variable()) return add_variable(position, spec);
  if (adapter != nullptr && adapter->references > 0) return add_update(position, spec, abstract_values);
  Made& made = made_[position];
  if (adapter != nullptr && adapter->body != nullptr) {
    const Signature& signature = adapter->parsed();
    read_attrs(signature, *node.def, spec);
    complete_attrs(signature, spec.attrs);
    check_inputs(signature, spec, abstract_values);
    const AdapterCall call(signature, spec.attrs, abstract_values);
    return keep(expand_body(graph_, spec, abstract_values, [&] { return adapter->body(call); }), made);
  }
  read_attrs(node.op->signature(), *node.def, spec);
  complete_counts(node.op->signature(), spec.attrs);
  add_plain(position, spec, abstract_values);
}

void Importer::add_plain(size_t position, NodeSpec& spec, const AbstractPointers& abstract_values) {
  Made& made = made_[position];
  // A few bytes may stand for many nodes: functions that each call the previous one twice.
  nodes_called_ += size_of_functions(spec.attrs);
  if (nodes_called_ > max_nodes_) {
    failf(Code::kResourceExhausted, "functions: expected at most {} nodes in all, got more", max_nodes_);
  }
  made.abstract_values = infer_call(*spec.op, abstract_values, spec.attrs);
  for (const Tensor& t : made.abstract_values) spec.outputs.push_back(info_of(t));
  check_output_shapes(*nodes_.at(position).def, spec.outputs);
  const size_t outputs = spec.outputs.size();
  made.node = graph_.add(std::move(spec));
  for (size_t k = 0; k < outputs; ++k) made.outputs.push_back({made.node, static_cast<int>(k)});
}

void Importer::add_call(size_t position, NodeSpec& spec, const AbstractPointers& abstract_values) {
  const NodeDef& def = *nodes_.at(position).def;
  graphdef::NameAttrList named;
  named.set_name(def.op());
  for (const auto* attr : sorted_attrs(def)) {
    check_attr_name(attr->first);
    if (attr->first.front() == '_') {
      if (auto note = note_from_proto(attr->second)) spec.internal_attrs.emplace_back(attr->first, std::move(*note));
    } else {
      (*named.mutable_attr())[attr->first] = attr->second;
    }
  }
  FunctionRef function = functions_->reference(named);
  FileFunctions::Types types = functions_->types_of(function);
  spec.op = &get_op(types.acts ? "StatefulPartitionedCall" : "PartitionedCall");
  spec.attrs.resize(spec.op->signature().attrs.size());
  const auto set = [&](std::string_view name, AttrValue value) {
    spec.attrs[static_cast<size_t>(spec.op->signature().find_attr(name))] = std::move(value);
  };
  set("Tin", AttrValue(std::move(types.inputs)));
  set("Tout", AttrValue(std::move(types.outputs)));
  set("f", AttrValue(std::move(function)));
  add_plain(position, spec, abstract_values);
}

void Importer::add_unknown(size_t position, NodeSpec& spec, std::string why) {
  const FileNode& node = nodes_.at(position);
  const bool call = nodes_.is_call(node);
  if (call) why = fmt::format("op: expected a primitive one, got a call of function '{}'", printable(node.def->op()));
  NodeSpec unknown = unknown_init(std::move(spec.name), node.def->op(), std::move(why), call);
  unknown.inputs = std::move(spec.inputs);
  unknown.control_inputs = std::move(spec.control_inputs);
  unknown.device = std::move(spec.device);
  unknown.where = std::move(spec.where);
  NodeDef kept = *node.def;
  kept.clear_name();
  kept.clear_input();
  kept.clear_device();
  for (const auto* attr : sorted_attrs(*node.def)) {
    check_attr_name(attr->first);
    if (attr->first.front() != '_' || attr->first == "_output_shapes") continue;
    if (auto note = note_from_proto(attr->second)) {
      unknown.internal_attrs.emplace_back(attr->first, std::move(*note));
      kept.mutable_attr()->erase(attr->first);
    }
  }
  std::string bytes = kept_bytes(kept, "node");  // includes the op's name
  unknown.internal_attrs.emplace_back(kKeptAttrs, AttrValue(std::move(bytes)));
  unknown.outputs = unknown_outputs(node);
  Made& made = made_[position];
  for (size_t k = 0; k < unknown.outputs.size(); ++k) {
    made.abstract_values.push_back(meta_tensor(unknown.outputs[k].dtype, unknown.outputs[k].shape));
  }
  const size_t outputs = unknown.outputs.size();
  unknown_[position] = unknown.outputs;
  made.node = graph_.add(std::move(unknown));
  for (size_t k = 0; k < outputs; ++k) made.outputs.push_back({made.node, static_cast<int>(k)});
}

std::vector<OutputInfo> Importer::unknown_outputs(const FileNode& node) {
  const bool is_output = node.def->attr().contains(std::string(kFunctionOutput));
  std::vector<OutputInfo> infos(std::max<size_t>(static_cast<size_t>(node.ports), is_output ? 1 : 0));
  const auto found = node.def->attr().find("_output_shapes");
  if (found != node.def->attr().end()) {
    const auto& shapes = found->second.list().shape();
    infos.resize(std::max(infos.size(), static_cast<size_t>(shapes.size())));
    for (int k = 0; k < shapes.size(); ++k) infos[static_cast<size_t>(k)].shape = shape_from_proto(shapes[k]);
  }
  // A few bytes of a file may ask for many outputs.
  constexpr size_t kMostInAll = size_t{1} << 18;
  unknown_ports_ += infos.size();
  if (unknown_ports_ > kMostInAll) {
    failf(Code::kResourceExhausted, "outputs: expected at most {} of ops that are not here, got {}", kMostInAll,
          unknown_ports_);
  }
  return infos;
}

bool Importer::find_types(const FileNode& node, AbstractPointers& abstract_values) {
  bool open = false;
  for (const Tensor* t : abstract_values) open = open || t->dtype() == DType::kInvalid;
  if (!open) return true;
  const bool has_body = node.adapter != nullptr && node.adapter->body != nullptr;
  const Signature& signature = has_body ? node.adapter->parsed() : node.op->signature();
  const SmallVector<DType, 8> types = written_types(signature, *node.def, abstract_values.size());
  for (size_t i = 0; i < abstract_values.size(); ++i) {
    if (abstract_values[i]->dtype() != DType::kInvalid) continue;
    if (i >= types.size() || types[i] == DType::kInvalid) return false;
    const NodeOutput& input = nodes_.inputs(node)[i];
    const auto producer = static_cast<size_t>(input.node), output = static_cast<size_t>(input.index);
    if (made_[producer].node < 0) {
      abstract_values[i] = &to_come_.emplace_back(meta_tensor(types[i], PartialShape()));
      continue;
    }
    unknown_.at(producer)[output].dtype = types[i];
    made_[producer].abstract_values[output] = meta_tensor(types[i], abstract_values[i]->partial_shape());
    abstract_values[i] = &made_[producer].abstract_values[output];
  }
  return true;
}

SmallVector<DType, 8> Importer::written_types(const Signature& signature, const NodeDef& def, size_t most) {
  const auto written = [&](int position) -> const graphdef::AttrValue* {
    const auto found = def.attr().find(signature.attrs[static_cast<size_t>(position)].name);
    return found == def.attr().end() ? nullptr : &found->second;
  };
  const auto dtype = [](int number) { return is_dtype(number) ? static_cast<DType>(number) : DType::kInvalid; };
  SmallVector<DType, 8> types;
  for (const ArgDef& arg : signature.inputs) {
    if (arg.type_list_attr >= 0) {
      const graphdef::AttrValue* list = written(arg.type_list_attr);
      for (int k = 0; list != nullptr && k < list->list().type_size(); ++k) {
        types.push_back(dtype(list->list().type(k)));
      }
      continue;
    }
    DType type = arg.dtype;
    if (arg.type_attr >= 0) {
      const graphdef::AttrValue* value = written(arg.type_attr);
      const AttrValue& otherwise = signature.attrs[static_cast<size_t>(arg.type_attr)].default_value;
      type = value != nullptr                      ? dtype(value->type())
             : otherwise.kind() == AttrKind::kType ? otherwise.as<DType>()
                                                   : DType::kInvalid;
    }
    const graphdef::AttrValue* number = arg.number_attr >= 0 ? written(arg.number_attr) : nullptr;
    const int64_t count = arg.number_attr < 0 ? 1 : number != nullptr ? number->i() : 0;
    for (int64_t k = 0; k < count && types.size() < most; ++k) types.push_back(type);
  }
  return types;
}

void Importer::close(const BackEdge& edge) {
  nodes_.in_node(edge.reader, [&] {
    const Made& producer = made_[static_cast<size_t>(edge.from.node)];
    graph_.set_input(made_[edge.reader].node, edge.slot, {producer.node, edge.from.index});
  });
}

Graph graph_from_proto(const GraphDef& proto, const ImportOptions& options) {
  std::shared_ptr<FileFunctions> functions;
  if (proto.library().function_size() > 0) {
    functions = std::make_shared<FileFunctions>(proto.library(), proto.versions(), options);
  }
  return graph_from_proto(proto, options, std::move(functions));
}

Graph graph_from_proto(const GraphDef& proto, const ImportOptions& options, std::shared_ptr<FileFunctions> functions) {
  return Importer(proto, options, std::move(functions)).run();
}

}  // namespace panto
